"""Clients as Ray actors give what `simulate` gives, on the loopback interface."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.places import python_path

pytestmark = pytest.mark.slow

SCRIPT = """
import json, sys
from pathlib import Path
import psutil
from bherd.config import Config
from bherd.runs.life import run

folder, addresses = Path(sys.argv[1]), set()

def look(line):
    me = psutil.Process()
    for process in [me, *me.children(recursive=True)]:
        for c in process.net_connections("inet"):
            if c.status == psutil.CONN_LISTEN:
                addresses.add(c.laddr.ip)

if __name__ == "__main__":
    for method, model, lr in (
        ("bherd-scaffold", "svm", 0.01),
        ("fednova", "tests.user_models:numpy_noise", 0.01),
        ("fedavg", "svm", 1e30),
    ):
        for engine in ("simulate", "ray"):
            config = Config().replace(
                name=method, model=model, rounds=3, clients=3, lr=lr, engine=engine, workers=2
            )
            run(config, folder / f"{method}-{engine}", look if engine == "ray" else None)
    (folder / "addresses.json").write_text(json.dumps(sorted(addresses)))
"""


def test_ray_equals_simulate(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    environment["PYTHONPATH"] = python_path()
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for method in ("bherd-scaffold", "fednova", "fedavg"):
        fast, spread = (
            load_file(tmp_path / f"{method}-{engine}" / "model.safetensors") for engine in ("simulate", "ray")
        )
        assert all(torch.equal(fast[name], spread[name]) for name in fast)
        summaries = [
            json.loads((tmp_path / f"{method}-{engine}" / "summary.json").read_text())
            for engine in ("simulate", "ray")
        ]
        assert summaries[0]["status"] == summaries[1]["status"]
        assert summaries[0]["diverged_at"] == summaries[1]["diverged_at"]
    assert summaries[1]["status"] == "diverged"
    addresses = json.loads((tmp_path / "addresses.json").read_text())
    assert addresses
    assert set(addresses) <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}
