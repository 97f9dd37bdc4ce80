"""Tables and prose that fit the terminal: columns give way by priority, words wrap, no number is cut."""

import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

UNMEASURED = 120
"""The width for prose and framed tables where the output is no terminal."""
WIDEST_PROSE = 100
NARROWEST = 16


@dataclass(frozen=True)
class Column:
    """One column of a table."""

    heading: str
    cells: Sequence[str]
    priority: int = 0
    """Where the terminal is too narrow, the columns with the highest number go first; 0 always stays."""
    words: bool = False
    """Words may wrap; numbers may not."""
    narrowest: int = NARROWEST
    """Words are wrapped to no less than this before another column is left out."""

    @property
    def widest(self) -> int:
        from rich.cells import cell_len

        return max(map(cell_len, (self.heading, *self.cells)))

    @property
    def least(self) -> int:
        return min(self.widest, self.narrowest) if self.words else self.widest


def terminal_width() -> int | None:
    """The columns of the terminal; None where the output goes elsewhere."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def fitting(columns: Sequence[Column], width: int | None, *, between: int) -> list[Column]:
    """The columns that fit into a width, in their order; all of them where there is no width.

    Args:
        columns: all columns, a column of words first.
        width: of the terminal, or None.
        between: what each column takes for its margins and frame.
    """
    kept = list(columns)
    while width is not None and sum(column.least + between for column in kept) > width:
        last = max(kept, key=lambda column: column.priority)
        if last.priority == 0:
            break
        kept.remove(last)
    return kept


def print_table(columns: Sequence[Column], *, title: str | None = None, framed: bool = True) -> None:
    """A table on standard output, with a line that names the columns that did not fit.

    Args:
        columns: of equal length; see `Column.priority` for which give way.
        title: above the table.
        framed: with lines around the cells; without, for lists that other programs read.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    width = terminal_width()
    kept = fitting(columns, width, between=3 if framed else 2)
    table = Table(
        title=title,
        title_justify="left",
        box=box.HEAVY_HEAD if framed else None,
        pad_edge=framed,
        padding=(0, 1) if framed else (0, 2, 0, 0),
    )
    for column in kept:
        if column.words:
            table.add_column(
                column.heading, overflow="fold", min_width=min(column.least, width or column.least)
            )
        else:
            table.add_column(column.heading, justify="right", no_wrap=True)
    for row in zip(*(column.cells for column in kept), strict=True):
        table.add_row(*(Text(cell) for cell in row))
    elsewhere = UNMEASURED if framed else sum(column.widest + 2 for column in kept)
    console = Console(width=width or elsewhere, highlight=False)
    with console.capture() as printed:
        console.print(table)
    sys.stdout.writelines(line.rstrip() + "\n" for line in printed.get().splitlines())
    left_out = [column.heading for column in columns if column not in kept]
    if left_out:
        print_prose(f"Left out, for a wider terminal: {', '.join(left_out)}.")


def print_prose(text: str) -> None:
    """A paragraph, wrapped to the terminal; names such as bherd-fedavg stay whole."""
    width = min(terminal_width() or UNMEASURED, WIDEST_PROSE)
    sys.stdout.write(textwrap.fill(text, width, break_on_hyphens=False) + "\n")
