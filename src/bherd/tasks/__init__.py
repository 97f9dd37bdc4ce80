"""What is learnt, from which data: models, datasets, partitions, and the task that joins them."""
