"""Which local steps count: one file for each way of choosing."""
