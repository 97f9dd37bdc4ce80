"""How a client steps."""
