"""Pictures of a calibration."""
