"""Tables in a terminal of 80 columns: no number is cut, nothing is wider than the screen."""

import re

import pytest

from bherd.cli import table
from bherd.cli.compare import columns, print_comparison
from bherd.cli.table import Column, fitting, print_prose, print_table
from bherd.many.compare import Curve, Row

ROWS = [
    Row(
        label,
        [
            Curve(seed, [16, 31, 60], [0.1] * 3, [0.5 + 0.01 * seed, best, best], [1.23, 2.5, 5.0], None)
            for seed, best in enumerate((0.817, 0.82, 0.6))
        ],
    )
    for label in (
        "fedavg server_lr=2",
        "bherd-scaffold alpha=0.25 amplified",
        "random-fedavg alpha=0.5 amplified",
    )
]


@pytest.fixture
def terminal(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    width: int = request.param
    monkeypatch.setattr(table, "terminal_width", lambda: width)
    return width


@pytest.mark.parametrize("terminal", [40, 60, 80, 120], indirect=True)
def test_a_comparison_fits_the_terminal_with_whole_numbers(
    terminal: int, capsys: pytest.CaptureFixture[str]
) -> None:
    print_comparison(ROWS, 0.8)
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= terminal
    assert "…" not in printed
    assert printed.count("74.57% ± 31.34") == len(ROWS)
    if terminal >= 80:
        assert printed.count("not in 1 of 3; 31 (31–∞)") == len(ROWS)
    shown = {column.heading for column in fitting(columns(ROWS, 0.8), terminal, between=3)}
    for column in columns(ROWS, 0.8):
        assert (column.heading in shown) or column.heading in " ".join(printed.split("Left out")[1].split())


@pytest.mark.parametrize("terminal", [80, 120], indirect=True)
def test_a_list_of_runs_fits_the_terminal(terminal: int, capsys: pytest.CaptureFixture[str]) -> None:
    from bherd.cli.runs import _columns
    from bherd.report.listing import ListedRun

    path = "runs/compare/bherd-fedavg_alpha0.5_amplified/seed-0"
    whole = ListedRun(
        path, "bherd-fedavg alpha=0.5 amplified", "mnist svm case2 N=5", 0, 60, 60, 0.846, 2.0, "complete"
    )
    print_table(_columns([whole, ListedRun(path, problem="config.toml is damaged " * 5)]), framed=False)
    printed = capsys.readouterr().out
    assert max(map(len, printed.splitlines())) <= terminal
    assert "84.60%" in printed
    assert "60/60" in printed
    squeezed = re.sub(r"\s+", "", printed)
    assert "unreadable" in squeezed


@pytest.mark.parametrize("terminal", [50], indirect=True)
def test_prose_wraps_to_the_terminal(terminal: int, capsys: pytest.CaptureFixture[str]) -> None:
    print_prose("word " * 60)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= terminal
    assert " ".join(lines).split() == ["word"] * 60


def test_columns_give_way_by_priority() -> None:
    name, first, second = (
        Column("n", ["x" * 40], words=True),
        Column("a", ["1" * 10], 1),
        Column("b", ["2" * 10], 2),
    )
    assert fitting([name, second, first], None, between=3) == [name, second, first]
    assert fitting([name, second, first], 45, between=3) == [name, second, first]
    assert fitting([name, second, first], 44, between=3) == [name, first]
    assert fitting([name, second, first], 10, between=3) == [name]
