"""The parts of a method, one by one."""
