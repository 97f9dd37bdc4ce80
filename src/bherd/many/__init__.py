"""Many runs: planned, spread over processes, resumed one by one, and compared."""
