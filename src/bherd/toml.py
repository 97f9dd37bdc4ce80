"""Reading TOML files that people write."""

import tomllib
from pathlib import Path
from typing import Any

from bherd.errors import InputError

_LARGEST = 1 << 20


def parse_toml(path: Path, content: bytes | None = None) -> dict[str, Any]:
    """A TOML file, or its bytes if they were read already, as plain tables."""
    try:
        if content is None:
            with path.open("rb") as file:
                content = file.read(_LARGEST + 1)
        if len(content) > _LARGEST:
            raise InputError(f"{path} is larger than 1 MiB: must be a file of settings. Check its name.")
        return tomllib.loads(content.decode())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not valid TOML: {error}") from error
