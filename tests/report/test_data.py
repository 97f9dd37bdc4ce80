"""What the page is given: true to the run directory, thinned with a note, and robust."""

import base64
import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import bherd
from bherd.errors import DamagedFileError, InputError
from bherd.report import build, thin
from bherd.report.fairness import TrainingLabels, fairness, training_labels
from bherd.report.find import runs_at
from bherd.report.herd import read_ledger
from bherd.report.listing import list_runs
from bherd.report.payload import Payload, make_payload
from bherd.runs import directory as names
from bherd.runs.life import run
from bherd.runs.read import read_run
from tests.report_runs import BASE, comparison, made_up_run
from tests.small_runs import read_lines


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    comparison(folder)
    return folder


def payload_of(*paths: Path) -> Payload:
    return make_payload([read_run(path) for path in runs_at(paths)], None)


def test_curves_are_the_metrics(runs: Path) -> None:
    path = runs / "fedavg" / "seed-1"
    (shown,) = payload_of(path).runs
    lines = read_lines(path)
    assert shown.curve.round == [line["round"] for line in lines]
    assert shown.curve.test_accuracy == pytest.approx([line["test_accuracy"] for line in lines], rel=1e-5)
    assert shown.curve.uplink_bytes[-1] == sum(line["uplink_bytes"] for line in lines)
    assert shown.curve.seconds[-1] == pytest.approx(
        sum(sum(li["seconds"].values()) for li in lines), rel=1e-5
    )
    assert shown.split.local == pytest.approx(sum(line["seconds"]["local"] for line in lines))
    assert shown.keeps_everything
    assert shown.herd is None


def test_heat_maps_are_the_ledger(runs: Path) -> None:
    path = runs / "bherd-fedavg_alpha0.5" / "seed-0"
    (shown,) = payload_of(path).runs
    assert shown.herd is not None
    ledger = pq.read_table(path / names.LEDGER).to_pandas()
    assert shown.herd.rounds == list(range(1, 13))
    for client in shown.herd.clients:
        cells = np.frombuffer(base64.b64decode(client.cells), dtype=np.uint8).reshape(12, client.steps)
        mine = ledger[ledger["client"] == client.client].sort_values(["round", "step"])
        expected = mine["rank"].fillna(-1).to_numpy().reshape(12, client.steps) + 1
        np.testing.assert_array_equal(cells, expected)


def test_clients_that_sat_out_are_marked(tmp_path: Path) -> None:
    run(BASE.replace(cohort=2, rounds=5), tmp_path / "run")
    (shown,) = payload_of(tmp_path / "run").runs
    assert shown.herd is not None
    cells = np.stack(
        [np.frombuffer(base64.b64decode(c.cells), dtype=np.uint8).reshape(5, -1) for c in shown.herd.clients]
    )
    present = (cells != 255).any(2)
    assert present.sum(0).tolist() == [2] * 5


@pytest.mark.parametrize(("steps", "width"), [(254, 1), (255, 2), (300, 2)])
def test_cells_are_as_wide_as_the_ranks_need(tmp_path: Path, steps: int, width: int) -> None:
    config = BASE.replace(clients=2, batch_size=1)
    (shown,) = payload_of(made_up_run(tmp_path / "run", config, rounds=3, steps=steps)).runs
    assert shown.herd is not None
    assert shown.herd.width == width
    kind = {1: np.uint8, 2: np.uint16}[width]
    for client in shown.herd.clients:
        cells = np.frombuffer(base64.b64decode(client.cells), dtype=kind).reshape(3, steps)
        assert [sorted(row[row > 0].tolist()) for row in cells] == [list(range(1, steps // 2 + 1))] * 3


def test_federation_counts_every_sample(runs: Path) -> None:
    (shown,) = payload_of(runs / "fedavg" / "seed-0").runs
    assert shown.federation.sizes == [1000] * 5
    assert shown.federation.labels is not None
    assert np.array(shown.federation.labels).sum() == 5000
    assert [int(np.count_nonzero(row)) for row in shown.federation.labels] == [2] * 5


def test_kept_labels_are_those_of_the_kept_batches(tmp_path: Path) -> None:
    path = tmp_path / "run"
    run(BASE.replace(order="fixed"), path)
    (shown,) = payload_of(path).runs
    assert shown.fairness is not None
    labels = bherd.tasks.datasets.load_dataset("mnist-mini").y_train
    ledger = pq.read_table(path / names.LEDGER).to_pandas()
    partition = read_run(path).partition()
    for client in shown.fairness.clients:
        rows = partition[client.client]
        mine = ledger[(ledger["client"] == client.client) & ledger["kept"]]
        kept = np.concatenate([labels[rows[50 * step : 50 * step + 50]] for step in mine["step"]])
        assert client.kept == np.bincount(kept, minlength=10).tolist()


def test_reshuffled_batches_are_drawn_again(tmp_path: Path) -> None:
    """With a share of 1 everything that is visited is kept, whatever the order was."""
    run(BASE.replace(order="reshuffled", alpha=1.0, rounds=3), tmp_path / "run")
    (shown,) = payload_of(tmp_path / "run").runs
    assert shown.fairness is not None
    for client in shown.fairness.clients:
        assert client.kept == client.visited
        assert sum(client.visited) == 3 * 1000


def test_a_learnt_order_is_shown_without_the_labels_of_its_batches(tmp_path: Path) -> None:
    """Which samples a step saw is known to the client alone; everything else of the page is there."""
    run(BASE.replace(order="herded", shipped="running-mean", server="adam", rounds=3), tmp_path / "run")
    (shown,) = payload_of(tmp_path / "run").runs
    assert shown.fairness is None
    assert shown.herd is not None


def test_a_dropped_class_is_named(tmp_path: Path) -> None:
    """Client 0 holds two classes in separate batches; its herd never keeps the second."""
    config = bherd.Config().replace(
        rounds=12, clients=1, batch_size=10, name="random-fedavg", partition="case1"
    )
    path = made_up_run(tmp_path / "run", config, rounds=12, steps=10)
    record = read_run(path)
    ledger = read_ledger(record)
    assert ledger is not None
    ledger.rank = np.where(ledger.step < 5, ledger.step, -1)
    labels = TrainingLabels(np.repeat([0, 1], [50, 50]), classes=3)
    found = fairness(config, ledger, [np.arange(100)], labels, ledger.clients)
    assert found is not None
    (dropped,) = found.dropped
    assert (dropped.client, dropped.label, dropped.rate, dropped.rounds_below) == (0, 1, 0.0, 1.0)
    ledger.rank = np.where(ledger.step % 2 == 0, ledger.step // 2, -1)
    fair = fairness(config, ledger, [np.arange(100)], labels, ledger.clients)
    assert fair is not None
    assert fair.dropped == []
    assert fairness(config, ledger, [np.arange(70)], labels, ledger.clients) is None


def test_a_missing_dataset_is_said_and_is_no_failure(tmp_path: Path) -> None:
    config = BASE.replace(dataset=str(tmp_path / "gone.npz"))
    path = made_up_run(tmp_path / "run", config, rounds=3, steps=4)
    (shown,) = payload_of(path).runs
    assert shown.federation.labels is None
    assert shown.federation.why_not is not None
    assert "gone.npz" in shown.federation.why_not
    assert shown.fairness is None
    assert isinstance(training_labels([config])[0], str)


def test_unfinished_runs_are_read_as_far_as_they_are_whole(tmp_path: Path) -> None:
    def stop(line: dict[str, object]) -> None:
        if line["round"] == 4:
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        run(BASE.replace(checkpoint_every=1), tmp_path / "run", stop)
    with (tmp_path / "run" / names.LEDGER_LOG).open("ab") as log:
        log.write(b"\xff\xff\xff\xff half a batch")
    with (tmp_path / "run" / names.METRICS).open("ab") as log:
        log.write(b'{"round": 5, "tr')
    shown = payload_of(tmp_path / "run")
    assert shown.runs[0].rounds_done == 4
    assert shown.runs[0].herd is not None
    assert shown.runs[0].herd.rounds == [1, 2, 3, 4]
    assert "No method has come to its end yet" in shown.tasks[0].headline[1]


def test_damaged_files_are_named(tmp_path: Path) -> None:
    path = made_up_run(tmp_path / "run", BASE, rounds=3, steps=4)
    (path / names.LEDGER).write_bytes(b"PAR1 not really PAR1")
    with pytest.raises(DamagedFileError, match=r"ledger\.parquet is damaged"):
        payload_of(path)


def test_thinning_is_even_bounded_and_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fixed = BASE.replace(order="fixed")
    path = made_up_run(tmp_path / "run", fixed, rounds=300, steps=10, snapshots=20)
    whole = payload_of(path)
    assert whole.notes == []
    monkeypatch.setattr(thin, "CURVE_POINTS", 50)
    monkeypatch.setattr(thin, "HERD_BYTES", 5 * 10 * 40)
    monkeypatch.setattr(thin, "SNAPSHOT_STEPS", 5 * 10 * 4)
    thinned = payload_of(path)
    (shown,) = thinned.runs
    assert len(shown.curve.round) == 50
    assert (shown.curve.round[0], shown.curve.round[-1]) == (1, 300)
    assert shown.herd is not None
    assert len(shown.herd.rounds) == 40
    assert shown.herd.all_rounds == 300
    assert shown.snapshots is not None
    assert [one.round for one in shown.snapshots.rounds] == [1, 7, 14, 20]
    assert [note.split()[0] for note in thinned.notes] == ["Curves", "Heat", "Of"]


def test_many_clients_are_cut_with_a_note(tmp_path: Path) -> None:
    path = made_up_run(tmp_path / "run", BASE.replace(clients=230), rounds=3, steps=2)
    shown = payload_of(path)
    assert shown.runs[0].herd is not None
    assert len(shown.runs[0].herd.clients) == thin.SHOWN_CLIENTS
    assert len(shown.runs[0].federation.sizes) == thin.FEDERATION_CLIENTS
    assert any("first 20 clients" in note for note in shown.notes)
    assert any("first 200 clients" in note for note in shown.notes)


@pytest.mark.parametrize(("length", "count"), [(0, 5), (1, 5), (5, 5), (6, 5), (500, 7), (3, 2)])
def test_spread_keeps_both_ends(length: int, count: int) -> None:
    chosen = thin.spread(length, count)
    assert len(chosen) == min(length, count)
    assert len(set(chosen.tolist())) == len(chosen)
    if length:
        assert (chosen[0], chosen[-1]) == (0, length - 1)


def test_runs_are_found_below_folders_and_never_twice(runs: Path) -> None:
    assert len(runs_at([runs])) == 6
    assert len(runs_at([runs, runs / "fedavg" / "seed-0"])) == 6
    with pytest.raises(InputError, match="does not exist"):
        runs_at([runs / "nowhere"])
    with pytest.raises(InputError, match="is a file"):
        runs_at([runs / "fedavg" / "seed-0" / names.CONFIG])


def test_a_folder_without_runs_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no run"):
        build([tmp_path], tmp_path / "report.html")


def test_listing_shows_headlines_and_survives_damage(runs: Path, tmp_path: Path) -> None:
    lines = list_runs(runs)
    assert [line.status for line in lines] == ["complete"] * 6
    last = read_lines(Path(lines[0].run))[-1]
    assert lines[0].accuracy == last["test_accuracy"]
    path = made_up_run(tmp_path / "bad", BASE, rounds=2, steps=3)
    with (path / names.CONFIG).open("a") as config:
        config.write("not = [toml")
    made_up_run(tmp_path / "good", BASE, rounds=2, steps=3)
    bad, good = list_runs(tmp_path)
    assert bad.problem is not None
    assert "config.toml is damaged" in bad.problem
    assert good.problem is None


def test_bherd_runs_prints_a_line_a_run(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from bherd.cli import main

    assert main(["runs", str(runs)]) == 0
    text = capsys.readouterr().out.splitlines()
    assert text[0].split()[:3] == ["RUN", "METHOD", "TASK"]
    assert len(text) == 7
    assert main(["runs", str(runs), "--json"]) == 0
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert first["rounds_done"] == 12


def test_bherd_runs_disarms_control_characters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from bherd.cli import main

    made_up_run(tmp_path / "evil\x1b[2J", BASE, rounds=2, steps=3)
    assert main(["runs", str(tmp_path)]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_the_names_of_classes_are_told(tmp_path: Path) -> None:
    x, y = np.zeros((40, 3), np.float32), np.array(["cat", "dog"])[np.arange(40) % 2]
    np.savez(tmp_path / "pets.npz", x_train=x, y_train=y, x_test=x, y_test=y)
    config = BASE.replace(dataset=str(tmp_path / "pets.npz"), model="logistic", partition="case1", rounds=1)
    run(config.replace(batch_size=4), tmp_path / "runs" / "one")
    assert any("2 classes (0 = cat, 1 = dog)" in note for note in payload_of(tmp_path / "runs").notes)
