"""The round loop: what a federation carries, what a round does, and what an engine owes it."""
