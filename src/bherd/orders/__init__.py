"""What a client visits, in which order: one file for each."""
