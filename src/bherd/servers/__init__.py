"""How the server moves: one file for each optimizer."""
