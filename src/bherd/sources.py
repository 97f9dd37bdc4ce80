"""The source of a user's own parts and model: its SHA-256 is recorded with a run, and held against the code.

Only the file of the named module is hashed, not what that module imports.
"""

import hashlib
import importlib.util
import json
from collections.abc import Mapping
from pathlib import Path

from bherd.config import Config, deciding
from bherd.errors import InputError
from bherd.parts.spec import Spec
from bherd.parts.table import AXES


def own_names(config: Config) -> list[str]:
    """Every `package.module:factory` that a configuration names, each once."""
    parts = [Spec.read(axis, text).name for axis in AXES if (text := getattr(config.method, axis))]
    names = [*parts, *([config.task.model] if config.task.model else [])]
    return [name for name in dict.fromkeys(names) if ":" in name]


def sources_of(config: Config) -> dict[str, str]:
    """The SHA-256 of the file behind each name, without running any of it.

    Raises:
        InputError: a module is missing, or has no file.
    """
    return {name: _digest(name) for name in own_names(config)}


def _digest(name: str) -> str:
    module = name.partition(":")[0]
    try:
        found = importlib.util.find_spec(module)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"{name}: module {module!r} cannot be imported: {error}") from error
    if found is None:
        raise InputError(
            f"{name}: there is no module {module!r}. Put its folder on PYTHONPATH, or install it."
        )
    if found.origin is None or not Path(found.origin).is_file():
        raise InputError(f"{name}: module {module!r} has no file. Put the factory into a file of its own.")
    return hashlib.sha256(Path(found.origin).read_bytes()).hexdigest()


def identity_of_run(config: Config) -> str:
    """What decides a run as one line of JSON, with the user's own code; equal on server and clients."""
    return json.dumps({**deciding(config), "sources": sources_of(config)}, sort_keys=True)


def check_sources(before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Refuse code that is not the one that a run began with.

    Args:
        before: what the run recorded.
        now: what `sources_of` finds.

    Raises:
        InputError: the first that differs.
    """
    for name, digest in before.items():
        if now.get(name) != digest:
            raise InputError(
                f"{name} has changed since the run began (its source was {digest[:12]} and is "
                f"{now.get(name, 'missing')[:12]}): must be the same code, or the rounds to come are of "
                "another method. Put it back, or go on with --accept-changed-code."
            )
