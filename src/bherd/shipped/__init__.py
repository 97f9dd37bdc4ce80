"""Which model is evaluated and saved: one file for each answer."""
