"""What a run leaves on disk, and how it is read."""

import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from safetensors.torch import load_file

from bherd.errors import DamagedFileError
from bherd.runs import directory as names
from bherd.runs import life
from bherd.runs.life import resume, run
from bherd.runs.read import Run, read_config, read_run
from bherd.runs.tables import CLIENTS_SCHEMA, LEDGER_SCHEMA
from bherd.runs.verify import read_summary
from bherd.session import prepare
from tests.places import python_path
from tests.small_runs import FINAL, read_lines, small_config, stopped_run


def test_a_finished_run_has_these_files_and_no_others(tmp_path: Path) -> None:
    config = small_config(tmp_path)
    summary = run(config, tmp_path / "run")
    assert {path.name for path in (tmp_path / "run").iterdir()} == FINAL
    assert summary == read_summary(tmp_path / "run")
    assert (summary["status"], summary["rounds_done"]) == ("complete", 3)
    assert read_config(tmp_path / "run") == prepare(config).config
    assert read_run(tmp_path / "run").environment["torch"] == metadata.version("torch")


def test_the_files_read_with_pandas(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    config = small_config(tmp_path, "bherd-fedavg")
    run(config, directory)
    metrics = pd.read_json(directory / names.METRICS, lines=True)
    assert metrics["round"].tolist() == [1, 2, 3]
    figures = ["train_loss", "test_loss", "test_accuracy", "clients", "kept", "steps", "uplink_bytes"]
    assert list(metrics.columns) == ["round", *figures, "seconds"]
    assert set(metrics["seconds"][0]) == {"local", "select", "aggregate", "evaluate"}
    clients = pd.read_parquet(directory / names.CLIENTS)
    assert list(clients.columns) == CLIENTS_SCHEMA.names
    assert len(clients) == 3 * 4
    ledger = pd.read_parquet(directory / names.LEDGER)
    assert list(ledger.columns) == LEDGER_SCHEMA.names
    assert len(ledger) == clients["steps"].sum() == metrics["steps"].sum()
    kept = ledger[ledger["kept"]]
    assert kept.groupby(["round", "client"]).size().tolist() == clients["kept"].tolist()
    assert ledger["rank"].notna().tolist() == ledger["kept"].tolist()
    for _, ranks in kept.groupby(["round", "client"])["rank"]:
        assert sorted(ranks) == list(range(len(ranks)))
    for _, steps in ledger.groupby(["round", "client"])["step"]:
        assert steps.tolist() == list(range(len(steps)))


def test_the_ledger_holds_the_selection_in_its_order(tmp_path: Path) -> None:
    """Against the indices that the rounds themselves report."""
    from contextlib import closing

    from bherd.loop.rounds import run_rounds
    from bherd.loop.state import start_state

    config = small_config(tmp_path, "bherd-fedavg").replace(cohort=2)
    run(config, tmp_path / "run")
    ledger = read_run(tmp_path / "run").ledger().to_pandas()
    session = prepare(config)
    seen = 0
    with closing(session.engine()) as engine:
        start = start_state(session.task, session.method)
        for _, record in run_rounds(engine, session.task, session.method, session.plan, start):
            for outcome in record.outcomes:
                rows = ledger[(ledger["round"] == record.round) & (ledger["client"] == outcome.report.client)]
                assert rows.dropna().sort_values("rank")["step"].tolist() == outcome.kept.tolist()
                assert len(rows) == outcome.report.steps
                seen += len(rows)
    assert seen == len(ledger)


def test_partition_and_model(tmp_path: Path) -> None:
    directory = tmp_path / "run"
    config = small_config(tmp_path)
    run(config, directory)
    with np.load(directory / names.PARTITION, allow_pickle=False) as stored:
        assert stored.files == ["rows", "sizes"]
        assert sorted(stored["rows"].tolist()) == list(range(120))
    order = prepare(config).task.order
    assert [rows.tolist() for rows in read_run(directory).partition()] == [rows.tolist() for rows in order]
    model = load_file(directory / names.MODEL)
    assert {name: tuple(t.shape) for name, t in model.items()} == {"weight": (1, 10), "bias": (1,)}


def test_an_unfinished_run_can_be_read(tmp_path: Path) -> None:
    directory = stopped_run(tmp_path)
    assert read_run(directory).clients()["round"].to_pylist() == [1] * 4 + [2] * 4
    assert read_run(directory).clients().schema == CLIENTS_SCHEMA
    ledger = read_run(directory).ledger()
    whole = ledger.num_rows
    log = directory / names.LEDGER_LOG
    content = log.read_bytes()
    log.write_bytes(content + content[-300:-100])  # a kill in the middle of the next piece
    with (directory / names.METRICS).open("ab") as file:
        file.write(b'{"round": 3, "tra')
    assert read_run(directory).ledger().num_rows == whole
    assert len(read_lines(directory)) == 2
    resume(directory)
    assert read_run(directory).ledger().slice(0, whole) == ledger
    assert read_run(directory).ledger().num_rows == whole * 3 // 2


def test_damage_is_named_by_the_readers_too(tmp_path: Path) -> None:
    directory = stopped_run(tmp_path)
    for log, read in ((names.CLIENTS_LOG, Run.clients), (names.LEDGER_LOG, Run.ledger)):
        content = (directory / log).read_bytes()
        (directory / log).write_bytes(content[:-1])
        with pytest.raises(DamagedFileError, match=log):
            read(read_run(directory))
        (directory / log).write_bytes(content)
    resume(directory)
    path = directory / names.CLIENTS
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(DamagedFileError, match=names.CLIENTS):
        read_run(directory).clients()


def test_tables_without_rows(tmp_path: Path) -> None:
    """No ledger asked for, and a client that diverges before anything is kept."""
    run(small_config(tmp_path).replace(ledger=False), tmp_path / "without")
    assert read_run(tmp_path / "without").ledger() == LEDGER_SCHEMA.empty_table()
    summary = run(small_config(tmp_path).replace(lr=1e300, epochs=3.0), tmp_path / "diverged")
    assert (summary["status"], summary["diverged_at"]) == ("diverged", 1)
    assert read_run(tmp_path / "diverged").clients() == CLIENTS_SCHEMA.empty_table()
    assert read_lines(tmp_path / "diverged")[0]["diverged"] is True
    assert resume(tmp_path / "diverged") == summary


def test_a_divergence_that_was_killed_before_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = small_config(tmp_path).replace(lr=1e300, epochs=3.0)

    class KilledError(BaseException):
        pass

    def killed(*_: object) -> None:
        raise KilledError

    monkeypatch.setattr(life, "finish", killed)
    with pytest.raises(KilledError):
        run(config, tmp_path / "run")
    monkeypatch.undo()
    summary = resume(tmp_path / "run")
    assert (summary["status"], summary["diverged_at"]) == ("diverged", 1)
    assert len(read_lines(tmp_path / "run")) == 1


def test_find_runs(tmp_path: Path) -> None:
    config = small_config(tmp_path)
    root = tmp_path / "root"
    for name in ("b", "a", "deep/er/c", ".hidden/d"):
        run(config, root / name)
    (root / "mine").mkdir()
    (root / "mine" / names.CONFIG).write_text("[train]\nrounds = 3\n")
    (root / "round" / "about").mkdir(parents=True)
    (root / "round" / "about" / "loop").symlink_to(root)
    run(config, tmp_path / "elsewhere")
    (root / "link").symlink_to(tmp_path / "elsewhere")
    assert names.find_runs(root) == [root / "a", root / "b", root / "deep/er/c", root / "link"]
    assert names.find_runs(root / "a") == [root / "a"]
    assert names.find_runs(tmp_path / "nowhere") == []


def test_nothing_slow_is_imported_before_it_is_needed() -> None:
    code = (
        "import sys, bherd.runs.life, bherd.simulation\n"
        "print([n for n in ('pyarrow', 'pandas') if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_recording_does_not_import_pandas(tmp_path: Path) -> None:
    """It takes a third of a second, and pyarrow's converters would."""
    small_config(tmp_path)
    code = (
        "import sys\nfrom pathlib import Path\n"
        "from tests.small_runs import small_config\nfrom bherd.runs.life import run\n"
        "folder = Path(sys.argv[1])\nrun(small_config(folder), folder / 'run')\n"
        "print('pandas' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": python_path()},
    )
    assert done.stdout == "False\n"


def test_schemas_are_as_documented() -> None:
    assert [(f.name, f.type) for f in LEDGER_SCHEMA] == [
        ("round", pa.int32()),
        ("client", pa.int32()),
        ("step", pa.int32()),
        ("kept", pa.bool_()),
        ("rank", pa.int32()),
    ]
