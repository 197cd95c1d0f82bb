"""Before and after: the capture over a result, or beside it."""
