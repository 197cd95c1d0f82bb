"""From a defocus map to the all-in-focus image and the layers."""
