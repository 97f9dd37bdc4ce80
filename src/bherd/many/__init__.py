"""Many runs: planned, spread over processes or a Ray cluster, resumed one by one, and compared."""
