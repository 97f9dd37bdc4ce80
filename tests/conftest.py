"""What holds for every test: repeatable examples, one thread a process, no windows."""

import os
from pathlib import Path

# Before anything imports matplotlib: tests draw into files, never on a screen.
os.environ["MPLBACKEND"] = "Agg"

import pytest
import torch
from hypothesis import HealthCheck, settings

# `ci` is the default: the same examples each time and no deadline, since a shared machine may
# be slow. HYPOTHESIS_PROFILE=explore looks for new examples, many of them.
settings.register_profile("ci", derandomize=True, deadline=None, database=None)
settings.register_profile(
    "explore", max_examples=2000, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    """Let pytest-xdist's workers share the processors instead of fighting for them."""
    torch.set_num_threads(1)


@pytest.fixture
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, with no dataset folder set."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BHERD_DATA", raising=False)
