"""The golden values: what every method of the catalogue gave when they were written down.

`python -m tests.golden.golden_cases` writes `values.json` anew from the code at hand. Do that only where a
result changes on purpose, and say so in the commit. The file also names the machine: on the same processor
and the same versions of torch and numpy results are equal to the last bit, elsewhere sums may round
differently.
"""

import json
import platform
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from safetensors.torch import load_file

from bherd.config import Config
from bherd.runs import directory as names
from bherd.runs.life import resume, run
from bherd.runs.read import read_run
from tests.small_runs import read_lines

VALUES = Path(__file__).with_name("values.json")
ENGINES = ("reference", "simulate")
SEEDS = (0, 1)
ROUNDS = 4
PREFIXES = ("", "bherd-", "grab-", "random-", "reversed-")
BASES = ("fedavg", "fednova", "scaffold")
METHOD_NAMES = ("centralized", *(prefix + base for base in BASES for prefix in PREFIXES))
SELECTING = tuple(name for name in METHOD_NAMES if "-" in name)


class Case(NamedTuple):
    """One run: everything in which two golden runs can differ."""

    method: str
    step: str
    engine: str
    seed: int
    model: str
    digits: bool = False
    """The embedded digits, large enough for the compiled kernels and for batches in halves."""

    @property
    def key(self) -> str:
        data = "digits" if self.digits else "small"
        return "/".join((self.method, self.step, self.engine, f"seed{self.seed}", self.model, data))


def cases() -> Iterator[Case]:
    """Every method × its steps × both engines × two seeds, and an autograd model for some of them."""
    for engine in ENGINES:
        for method in METHOD_NAMES:
            for step in ("equation", "amplified") if method in SELECTING else ("equation",):
                for seed in SEEDS:
                    yield Case(method, step, engine, seed, "logistic")
        for method in ("fedavg", "bherd-scaffold", "grab-fednova"):
            yield Case(method, "equation", engine, 2, "mlp")
            yield Case(method, "equation", engine, 2, "svm")
    for method in ("fedavg", "bherd-fedavg", "bherd-scaffold"):
        for model in ("svm", "logistic", "mlp"):
            yield Case(method, "equation", "simulate", 0, model, digits=True)


def write_data(folder: Path) -> Path:
    """A dataset of 160 samples in four classes."""
    path = folder / "data.npz"
    draw = np.random.default_rng(5)
    labels = np.arange(160) % 4
    x = (draw.random((160, 10)) + labels[:, None] * 0.2).astype(np.float32)
    np.savez(path, x_train=x[:120], y_train=labels[:120], x_test=x[120:], y_test=labels[120:])
    return path


def config_of(case: Case, data: Path) -> Config:
    """The configuration of a case. Odd seeds leave a client out of each round and repeat half an epoch."""
    odd = case.seed % 2 == 1
    settings: dict[str, Any] = {} if case.step == "equation" else {"step": case.step}
    if case.method != "centralized":
        settings["cohort"] = 0.75 if odd else 1.0
    return Config().replace(
        method=case.method,
        dataset="mnist-mini" if case.digits else str(data),
        model=case.model,
        partition="case2" if case.digits else "dirichlet:1.0",
        clients=4,
        rounds=2 if case.digits else ROUNDS,
        epochs=1.5 if odd else 1.0,
        batch_size=100 if case.digits else 5,
        lr=0.05,
        seed=case.seed,
        engine=case.engine,
        dtype="float64",
        workers=1,
        checkpoint_every=1,
        **settings,
    )


def result_of(case: Case, data: Path, directory: Path, *, stop_after: int | None = None) -> dict[str, Any]:
    """Run a case, through an interruption and a resume if asked for, and read its directory."""

    def on_round(line: dict[str, Any]) -> None:
        if line["round"] == stop_after:
            raise KeyboardInterrupt

    try:
        run(config_of(case, data), directory, on_round)
    except KeyboardInterrupt:
        resume(directory)
    model = load_file(directory / names.MODEL)
    params = torch.cat([model[name].reshape(-1) for name in sorted(model)])
    metrics = [
        {name: line[name] for name in ("round", "train_loss", "test_loss", "test_accuracy")}
        for line in read_lines(directory)
    ]
    clients = read_run(directory).clients()
    return {
        "metrics": metrics,
        "kept": kept_by_round(directory),
        "losses": clients["loss"].to_pylist(),
        "distances": clients["distance"].to_pylist(),
        "sum": float(params.sum()),
        "norm": float(torch.linalg.vector_norm(params)),
        "first": params[:24].tolist(),
    }


def kept_by_round(directory: Path) -> list[str]:
    """'round/client: steps in the order of their selection', from the ledger."""
    chosen: dict[tuple[int, int], dict[int, int]] = {}
    for row in read_run(directory).ledger().to_pylist():
        ranks = chosen.setdefault((row["round"], row["client"]), {})
        if row["rank"] is not None:
            ranks[row["rank"]] = row["step"]
    return [
        f"{number}/{client}: " + " ".join(str(ranks[rank]) for rank in sorted(ranks))
        for (number, client), ranks in sorted(chosen.items())
    ]


def machine() -> dict[str, str]:
    """What decides how sums round."""
    return {
        "processor": _processor(),
        "capability": torch.backends.cpu.get_cpu_capability(),
        "torch": torch.__version__,
        "numpy": np.__version__,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    wanted = ("vendor_id", "cpu family", "model", "stepping")
    found = dict(line.split(":", 1) for line in reversed(lines) if ":" in line)
    return " ".join(value.strip() for key, value in found.items() if key.strip() in wanted)


def main() -> None:
    """Write the values of the code at hand, with one thread as in the tests."""
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = write_data(folder)
        values = {case.key: result_of(case, data, folder / str(i)) for i, case in enumerate(cases())}
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in values.items()]
    text = ",\n".join(lines)
    VALUES.write_text(f'{{"machine": {json.dumps(machine())},\n"cases": {{\n{text}\n}}}}\n', encoding="utf-8")


if __name__ == "__main__":
    main()
