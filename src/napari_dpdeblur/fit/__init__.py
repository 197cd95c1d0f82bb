"""From a capture and a calibration to the multiplane image."""
