"""Ground truth from a focus stack."""
