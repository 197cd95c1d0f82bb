"""Photograph a multiplane image again, with another focus and aperture."""
