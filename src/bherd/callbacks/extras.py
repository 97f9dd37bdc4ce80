"""Trackers are optional: say what to install instead of failing with an import."""

import importlib.util

from bherd.errors import InputError


def need(module: str, extra: str) -> None:
    """Refuse a tracker whose package is not installed."""
    if importlib.util.find_spec(module) is None:
        raise InputError(
            f"the tracker {extra!r} needs the package {module!r}, which is not installed; "
            f"install it with: pip install 'bherd[{extra}]'"
        )
