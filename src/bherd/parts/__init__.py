"""What every part of a method shares: its contract, its name, its parameters, its place in the table."""
