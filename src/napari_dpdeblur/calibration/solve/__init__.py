"""Blur kernels from captures of the calibration target."""
