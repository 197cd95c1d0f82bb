"""Colour from a photo: registration, colour ratios, coloured results."""
