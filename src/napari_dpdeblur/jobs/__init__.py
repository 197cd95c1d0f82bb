"""Long computations in a process of their own, without Qt and without torch on the side of
whoever waits for them."""
