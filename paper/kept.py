"""What the tables in a folder say of curves whose runs are elsewhere: rows that are kept as they are."""

from collections.abc import Container
from pathlib import Path
from typing import NamedTuple

import numpy as np

from paper import tables
from paper.tables import Column, ConcentrationRow, ConfigurationRow, RunRow


class Kept(NamedTuple):
    """Rows by the key of their curve."""

    runs: dict[str, list[RunRow]]
    targets: dict[str, float]
    concentrations: dict[str, list[ConcentrationRow]]
    columns: dict[str, dict[str, list[dict[str, Column]]]]
    """By the name of the table, then by key."""


def read_kept(out: Path, fresh: Container[str]) -> Kept:
    """The rows in a folder of all curves but the fresh ones; none where there is no folder."""
    runs = tables.rows_by_key(out / tables.RUNS, RunRow)
    concentrations = tables.rows_by_key(out / tables.CONCENTRATION, ConcentrationRow)
    targets = {row.key: row.target for row in tables.read_rows(out / tables.CONFIGURATIONS, ConfigurationRow)}
    return Kept(
        {key: rows for key, rows in runs.items() if key not in fresh},
        targets,
        {key: rows for key, rows in concentrations.items() if key not in fresh},
        {name: _by_key(out / name, fresh) for name in (tables.CURVES, tables.DISTANCES, tables.SELECTION)},
    )


def _by_key(path: Path, fresh: Container[str]) -> dict[str, list[dict[str, Column]]]:
    columns = tables.read_columns(path)
    if not columns:
        return {}
    keys, first, counts = np.unique(columns["key"].astype(str), return_index=True, return_counts=True)
    return {
        str(key): [{name: column[start : start + count] for name, column in columns.items()}]
        for key, start, count in zip(keys, first, counts, strict=True)
        if key not in fresh
    }
