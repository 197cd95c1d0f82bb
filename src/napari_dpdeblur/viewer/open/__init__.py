"""Opening: captures in folders, the capture list, the queue of fits and the picker of samples."""
