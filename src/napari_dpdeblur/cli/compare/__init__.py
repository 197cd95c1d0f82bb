"""Commands that compare results, methods and ground truth."""
