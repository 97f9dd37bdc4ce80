"""What a round costs, against hand-written loops, in one interleaved run: `python -m benchmarks`."""
