"""What of an update is sent: one file for each way."""
