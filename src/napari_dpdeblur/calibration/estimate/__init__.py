"""Estimate the lens from ordinary captures of a camera, without a target."""
