"""Adding a part takes one file and one row: done in a copy of the package, and then used as a user would."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import bherd

SELECTOR = '''"""Every n-th step."""

from dataclasses import dataclass

from bherd.parts.checks import check_count
from bherd.parts.records import Kept
from bherd.selectors.base import Selector


@dataclass(frozen=True)
class EveryNth(Selector):
    """Keeps every n-th step, from the first."""

    n: int = 2

    def __post_init__(self):
        check_count("n", self.n)

    def select(self, trace, stream):
        import numpy as np

        return Kept(np.arange(0, len(trace), self.n))
'''
SERVER = '''"""A server that remembers."""

from dataclasses import dataclass

from bherd.servers.base import ServerOptimizer


@dataclass(frozen=True)
class Mixed(ServerOptimizer):
    """Steps along the mean of this round's direction and of all before, which it remembers."""

    lr: float = 1.0

    def init(self, params):
        import torch

        return {"mean": torch.zeros_like(params), "rounds": torch.zeros((), dtype=torch.int64)}

    def update(self, state, params, step):
        rounds = state["rounds"] + 1
        mean = state["mean"] + (step.direction - state["mean"]) / rounds
        moved = self.lr * step.local_lr * (step.direction + mean) / 2
        return params - moved, {"mean": mean, "rounds": rounds}
'''
DRIVER = """
import json, sys
from pathlib import Path
from bherd.cli import main
from bherd.config import Config
from bherd.runs.life import run

flags = "--selector every-nth,n=3 --server mixed,lr=0.5 --rounds 4 --lr 1e-3 --checkpoint-every 1 --workers 1"
words = flags.split()
assert main(["list", "parts"]) == 0
assert main(["list", "--json"]) == 0
words = ["--method", "fedavg", *words]
assert main(["run", *words, "--quiet", "--out", "whole"]) == 0
assert main(["run", *words, "--selector", "every-nth,m=3", "--out", "wrong"]) == 2
assert main(["run", *words, "--selector", "every-nht", "--out", "wrong"]) == 2
assert main(["run", *words, "--selector", "every-nth,n=0", "--out", "wrong"]) == 2

def stop(line):
    if line["round"] == 2:
        raise KeyboardInterrupt

config = Config().replace(
    method="fedavg,selector=every-nth,selector.n=3,server=mixed,server_lr=0.5",
    model="svm", rounds=4, lr=1e-3, checkpoint_every=1, workers=1,
)
try:
    run(config, Path("stopped"), stop)
except KeyboardInterrupt:
    pass
assert main(["resume", "stopped", "--quiet"]) == 0
assert main(["report", "whole", "-o", "report.html"]) == 0
words = "--server mixed --rounds 2 --seeds 1 --jobs 1 --json --out compared".split()
assert main(["compare", "fedavg", "fedavg,selector=every-nth", *words]) == 0
"""


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A copy of the package with two more files and two more rows, and what came of using them."""
    folder = tmp_path_factory.mktemp("copy")
    package = folder / "src" / "bherd"
    source = Path(bherd.__file__).parent
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__"))
    (package / "selectors" / "every_nth.py").write_text(SELECTOR)
    (package / "servers" / "mixed.py").write_text(SERVER)
    table = package / "parts" / "table.py"
    text = table.read_text()
    for before, row in (
        ('"matching": "bherd.selectors.matching', '"every-nth": "bherd.selectors.every_nth:EveryNth",'),
        ('"extrapolation": "bherd.servers.extr', '"mixed": "bherd.servers.mixed:Mixed",'),
    ):
        assert text.count(before) == 1
        text = text.replace(before, f"{row}\n            {before}")
    table.write_text(text)
    where = folder / "work"
    where.mkdir()
    environment = {**os.environ, "PYTHONPATH": str(folder / "src")}
    done = subprocess.run(
        [sys.executable, "-c", DRIVER],
        cwd=where,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return where, done


Used = tuple[Path, subprocess.CompletedProcess[str]]


def lines(directory: Path) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in line.items() if key != "seconds"} for line in found]


def test_it_is_listed(used: Used) -> None:
    _, done = used
    assert done.returncode == 0, done.stderr
    assert "\n  every-nth,n=2\n      Keeps every n-th step, from the first.\n" in done.stdout
    assert "\n  mixed,lr=1.0\n      Steps along the mean" in done.stdout


def test_it_is_parsed_with_the_usual_answers(used: Used) -> None:
    _, done = used
    wrong = [line for line in done.stderr.splitlines() if line.startswith("bherd: ")]
    assert [text.partition("': ")[2] for text in wrong] == [
        "every-nth has no parameter 'm'; known are n.",
        "'every-nht' is not known; did you mean 'every-nth'? Your own part is package.module:factory.",
        "n = 0: must be a whole number of 1 or more. Try 1.",
    ]


def test_it_runs_and_is_spelled_out(used: Used) -> None:
    where, _ = used
    written = (where / "whole" / "config.toml").read_text()
    assert 'selector = "every-nth,n=3"\n' in written
    assert 'server = "mixed,lr=0.5"\n' in written
    assert [(line["steps"], line["kept"]) for line in lines(where / "whole")] == [(50, 20)] * 4


def test_it_is_resumed_with_its_memory_to_the_last_bit(used: Used) -> None:
    where, _ = used
    whole, stopped = where / "whole", where / "stopped"
    assert (whole / "model.safetensors").read_bytes() == (stopped / "model.safetensors").read_bytes()
    assert lines(whole) == lines(stopped)


def test_it_is_compared_and_reported_by_its_name(used: Used) -> None:
    where, done = used
    assert "selector=every-nth selector.n=3 server=mixed server_lr=0.5" in (where / "report.html").read_text()
    (compared,) = (line for line in done.stdout.splitlines() if line.startswith('{"target"'))
    assert [row["method"] for row in json.loads(compared)["methods"]] == [
        "fedavg server=mixed",
        "fedavg selector=every-nth server=mixed",
    ]
