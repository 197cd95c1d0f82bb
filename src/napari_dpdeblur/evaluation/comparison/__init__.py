"""Methods against scenes: run, score, tabulate."""
