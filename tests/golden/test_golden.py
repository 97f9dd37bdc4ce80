"""Results stay what they were: every method, both steps, both engines, several seeds, through a resume."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.golden.golden_cases import VALUES, Case, cases, machine, result_of, write_data

ELSEWHERE = 1e-9
"""On another processor, or with other versions of torch or numpy, sums may round differently."""


@cache
def golden() -> dict[str, Any]:
    read: dict[str, Any] = json.loads(VALUES.read_text(encoding="utf-8"))
    return read


def matches(found: object, wanted: object, *, exact: bool) -> bool:
    """Whether two trees of numbers and texts are the same, to the last bit or nearly."""
    if isinstance(wanted, dict) and isinstance(found, dict):
        return found.keys() == wanted.keys() and all(
            matches(found[key], wanted[key], exact=exact) for key in wanted
        )
    if isinstance(wanted, list) and isinstance(found, list):
        return len(found) == len(wanted) and all(
            matches(one, other, exact=exact) for one, other in zip(found, wanted, strict=True)
        )
    if isinstance(wanted, float) and not exact:
        return found == pytest.approx(wanted, rel=ELSEWHERE, abs=1e-12)
    return found == wanted


def test_the_file_holds_every_case() -> None:
    assert set(golden()["cases"]) == {case.key for case in cases()}


def test_a_last_bit_is_seen() -> None:
    assert not matches([1.0], [1.0 + 2**-52], exact=True)
    assert matches([1.0], [1.0 + 2**-52], exact=False)
    assert not matches({"kept": ["1/0: 1 2"]}, {"kept": ["1/0: 2 1"]}, exact=False)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.key) for case in cases()])
def test_results_are_what_they_were(case: Case, tmp_path: Path) -> None:
    """Odd seeds are stopped after their second round and resumed."""
    stop_after = 2 if case.seed % 2 else None
    found = result_of(case, write_data(tmp_path), tmp_path / "run", stop_after=stop_after)
    assert matches(found, golden()["cases"][case.key], exact=golden()["machine"] == machine())
