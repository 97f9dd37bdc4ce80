"""What is added to the clients' gradients: one file for each correction."""
