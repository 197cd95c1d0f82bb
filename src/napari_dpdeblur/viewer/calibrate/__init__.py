"""The Calibrate panel."""
