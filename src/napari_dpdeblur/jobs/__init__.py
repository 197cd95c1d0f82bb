"""Long computations in a separate process; the parent needs neither Qt nor torch."""
