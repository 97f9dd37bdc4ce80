"""What a tracker is told of a round: plain numbers with a name."""

from typing import Any, NamedTuple

from bherd.config import Config, to_dict

SHOWN = ("train_loss", "test_loss", "test_accuracy", "kept", "steps", "uplink_bytes")
PARTS = ("local", "select", "aggregate", "evaluate")


class Value(NamedTuple):
    name: str
    value: float


def values(line: dict[str, Any]) -> list[Value]:
    """The numbers of a metrics line; what was not measured in the round is left out."""
    shown = [Value(name, float(line[name])) for name in SHOWN if line[name] is not None]
    return shown + [Value(f"seconds/{part}", float(line["seconds"][part])) for part in PARTS]


class NamedSetting(NamedTuple):
    name: str
    value: object


def settings(config: Config) -> list[NamedSetting]:
    """Every setting as table.name and its value."""
    tree = to_dict(config)
    return [
        NamedSetting(f"{table}.{name}", value) for table, rows in tree.items() for name, value in rows.items()
    ]
