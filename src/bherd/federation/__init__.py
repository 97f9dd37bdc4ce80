"""A federation of real processes: its keys, its commands, and keeping it up on one machine."""
