"""The Fit panel."""
