"""The published objective and its optimisation."""
