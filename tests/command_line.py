"""Calling the command line from tests."""

from bherd.cli import main

FAST = ("--rounds", "2", "--lr", "1e-3", "--workers", "1")


def run(*arguments: object) -> int:
    """`main` with its arguments as text; argparse leaves by SystemExit, which carries the code."""
    try:
        return main([str(argument) for argument in arguments])
    except SystemExit as leaving:
        return int(leaving.code or 0)
