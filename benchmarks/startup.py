"""How long it takes to get going: `bherd --help`, and `bherd run` to the end of its first round."""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.race import Contestant, race, repeated
from benchmarks.tables import Table, Target, timing_table

TORCH = "import torch"
BHERD = "import sys; from bherd.cli import main; sys.exit(main())"
NOTE = "Whole processes, minima and medians over {turns} turns, interleaved."


def run(turns: int = 7) -> list[Table]:
    """Time processes."""
    help_, first = "bherd --help", "bherd run, mnist-mini, one round"
    contestants = [
        Contestant(TORCH, repeated(lambda: _process("-c", "import torch"), 1, warm=0)),
        Contestant("import numpy", repeated(lambda: _process("-c", "import numpy"), 1, warm=0)),
        Contestant(help_, repeated(lambda: _process("-c", BHERD, "--help"), 1, warm=0)),
        Contestant(first, repeated(_first_round("mnist-mini"), 1, warm=0)),
        Contestant("bherd run, mnist, one round", repeated(_first_round("mnist"), 1, warm=0)),
    ]
    targets = [Target(help_, TORCH, 0.4), Target(first, TORCH, 1.3)]
    timings = race(contestants, turns)
    return [timing_table("Start-up", NOTE.format(turns=turns), timings, TORCH, targets)]


def _first_round(dataset: str) -> Callable[[], None]:
    def work() -> None:
        with tempfile.TemporaryDirectory() as folder:
            out = str(Path(folder) / "run")
            _process("-c", BHERD, "run", "--dataset", dataset, "--rounds", "1", "--out", out)

    return work


def _process(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
