"""Published data to download, and synthetic data to render."""
