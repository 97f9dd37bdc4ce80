"""Reading TOML files that people write."""

import tomllib
from pathlib import Path
from typing import Any

from bherd.errors import InputError


def parse_toml(path: Path) -> dict[str, Any]:
    """A TOML file as plain tables; a file that cannot be read or parsed is one clear error."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not valid TOML: {error}") from error
