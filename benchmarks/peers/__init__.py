"""Other simulators on our workloads, each in an environment of its own (`make bench-peers`)."""
