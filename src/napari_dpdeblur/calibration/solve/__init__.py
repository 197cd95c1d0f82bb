"""From captures of the target to blur kernels."""
