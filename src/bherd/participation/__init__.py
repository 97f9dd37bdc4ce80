"""Who is asked: one file for each way of choosing the clients of a round."""
