"""Hand-written training loops to compare with: no library around them."""
