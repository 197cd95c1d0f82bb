"""Surfaces of a scene: from a defocus map and a sharp image to regions that are things."""
