"""The errors that a user can cause, each of which the command line turns into one clear line."""


class BherdError(Exception):
    """Base of every error that bherd raises on purpose."""


class InputError(BherdError, ValueError):
    """Something given to bherd cannot be used; the message says what was expected and what to do."""


class DamagedFileError(InputError):
    """A file of a run directory or a dataset is truncated or altered; the message names it."""
