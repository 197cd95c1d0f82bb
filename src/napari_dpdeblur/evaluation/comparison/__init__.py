"""Compare methods on scenes: run, score, tabulate."""
