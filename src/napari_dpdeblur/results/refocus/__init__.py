"""Render a multiplane image with another focus and aperture."""
