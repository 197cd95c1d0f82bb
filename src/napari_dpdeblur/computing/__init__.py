"""How tensors are computed: on several cores, within the memory, and not twice."""
