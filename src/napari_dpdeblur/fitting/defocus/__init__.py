"""From two views to a defocus map."""
