"""The run directory: what a run leaves on disk, and how it is taken up again."""
