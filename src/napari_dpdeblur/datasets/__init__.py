"""Published data to fetch, and synthetic data to render."""
