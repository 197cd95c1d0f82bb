"""A synthetic dual-pixel camera: scene, lens, captures, calibration captures."""
