"""Commands that compare results and methods with ground truth."""
