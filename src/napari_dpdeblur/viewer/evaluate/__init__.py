"""The Evaluate panel: scores against ground truth."""
