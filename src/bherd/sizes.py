"""Amounts of memory as people write them."""

import re

from bherd.errors import InputError

_UNITS = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
}


def parse_size(text: str) -> int:
    """Bytes.

    >>> parse_size("2GB"), parse_size("1.5 GiB"), parse_size("300m")
    (2000000000, 1610612736, 300000000)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*", text.lower())
    size = int(float(match[1]) * _UNITS[match[2] or ""]) if match else 0
    if size < 1:
        raise InputError(f"memory is {text!r}, but an amount such as 2GB, 512MB or 1.5GiB is expected")
    return size


def show_size(size: float) -> str:
    """Two or three digits and a unit.

    >>> show_size(2_084_092_800), show_size(512)
    ('2.1 GB', '512 bytes')
    """
    for unit, factor in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if size >= factor:
            amount = size / factor
            return f"{amount:.1f} {unit}" if amount < 10 else f"{amount:.0f} {unit}"
    return f"{size:.0f} bytes"
