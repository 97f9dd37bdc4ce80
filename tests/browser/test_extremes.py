"""The report in a real browser: hostile names, very many runs, and runs with little to show."""

import shlex
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from bherd.report import build
from bherd.runs.directory import SNAPSHOTS
from bherd.runs.life import run
from tests.browser.pages import Open
from tests.report_runs import BASE, made_up_run

pytestmark = [pytest.mark.browser, pytest.mark.slow]
EVIL = (
    "<script>document.title='pwned'</script><img src=x onerror=\"document.title='pwned'\"> '\"&lt; 羊群 عَرَبي"
)


def test_hostile_names_are_text(open_page: Open, tmp_path: Path) -> None:
    config = BASE.replace(dataset=f"{EVIL}.npz", model=f"{EVIL}:x", data_dir=f"/{EVIL}")
    folder = tmp_path / "runs" / EVIL.replace("/", "_")
    made_up_run(folder / "a", config, rounds=5, steps=4, snapshots=2)
    made_up_run(tmp_path / "runs" / "b", config.replace(name="fedavg"), rounds=5, steps=4)
    opened = open_page(build([tmp_path / "runs"], tmp_path / "report.html", title=EVIL), width=360)
    page = opened.page
    for summary in page.locator("#provenance summary").all():
        summary.click()
    assert page.locator("h1").inner_text().split() == EVIL.split()
    assert EVIL.split()[0] in page.locator("#what").inner_text()
    assert f"{EVIL}.npz" in shlex.split(page.locator("#provenance pre").first.text_content() or "")
    assert f"{folder.name}/a" in (page.locator("#provenance").text_content() or "")
    assert "pwned" not in page.title().replace(EVIL, "")
    assert page.locator("main script, main img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def test_a_task_of_ones_own_is_shown_in_its_own_metric(open_page: Open, tmp_path: Path) -> None:
    own = BASE.replace(dataset="own task 0123456789abcdef", model="height", partition="as given", clients=3)
    made_up_run(tmp_path / "runs" / "a", own, rounds=5, steps=4)
    made_up_run(tmp_path / "runs" / "b", BASE.replace(model="svm"), rounds=5, steps=4)
    page = open_page(build([tmp_path / "runs"], tmp_path / "report.html")).page
    table, curves = page.locator("#table"), page.locator("#curves")
    assert "Final metric" in table.inner_text()
    assert "%" not in table.locator("tbody td").first.inner_text()
    assert "no target" in table.inner_text()
    assert not page.locator("#target").is_visible()
    assert "The task's own metric" in curves.inner_text()
    assert "%" not in page.locator("#accuracy-chart").inner_html()
    assert "No command makes it again" in page.locator("#provenance").inner_text()
    assert "bherd run" not in page.locator("#provenance").inner_text()
    page.locator("#task").select_option(index=1)
    assert "Final accuracy" in table.inner_text()
    assert "%" in table.locator("tbody td").first.inner_text()
    assert page.locator("#target").is_visible()
    assert "Accuracy on test data" in curves.inner_text()


def test_inline_scripts_that_were_put_into_the_file_do_not_run(open_page: Open, tmp_path: Path) -> None:
    made_up_run(tmp_path / "run", BASE, rounds=3, steps=4)
    output = build([tmp_path / "run"], tmp_path / "report.html")
    text = output.read_text(encoding="utf-8")
    output.write_text(
        text.replace("<main", "<script>document.title='pwned'</script><main", 1), encoding="utf-8"
    )
    opened = open_page(output)
    assert opened.page.title() != "pwned"
    assert any("Content Security Policy" in complaint for complaint in opened.complaints)
    opened.complaints.clear()


def test_fifty_runs_of_500_rounds(
    open_page: Open, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("fedavg", "bherd-fedavg", "random-fedavg", "grab-fedavg", "bherd-scaffold")
    for name in names:
        for seed in range(10):
            config = BASE.replace(name=name, seed=seed, rounds=500)
            made_up_run(tmp_path / name / f"{seed}", config, rounds=500, steps=120, snapshots=10)
    output = build([tmp_path], tmp_path / "report.html")
    size = output.stat().st_size
    assert size < 25e6
    begin = time.perf_counter()
    opened = open_page(output)
    seconds = time.perf_counter() - begin
    with capsys.disabled():
        sys.stdout.write(f"\n50 runs of 500 rounds: {size / 1e6:.1f} MB, open after {seconds:.2f} s\n")
    assert opened.page.locator("#accuracy-chart path.line").count() == 5
    notes = opened.page.locator("#notes").inner_text()
    assert "Heat maps show" in notes
    assert "of 500" in notes


def test_a_diverged_and_an_unmeasured_run(open_page: Open, tmp_path: Path) -> None:
    made_up_run(tmp_path / "a", BASE, rounds=3, steps=1, diverged_at=3)
    made_up_run(tmp_path / "b", BASE.replace(name="fedavg"), rounds=1, steps=1, diverged_at=1)
    opened = open_page(build([tmp_path], tmp_path / "report.html"), width=360)
    assert opened.page.locator("#who").inner_text() == "Every run diverged."
    cells = opened.page.locator("td[data-label=Diverged]")
    assert [cells.nth(i).inner_text().splitlines()[0] for i in range(2)] == ["1 of 1", "1 of 1"]
    assert "No snapshots were taken" in opened.page.locator("#inside").inner_text()
    assert "not measured" in opened.page.locator("#numbers-body").inner_text()


def test_many_clients_are_paged(open_page: Open, tmp_path: Path) -> None:
    made_up_run(tmp_path / "run", BASE.replace(clients=60), rounds=4, steps=3)
    opened = open_page(build([tmp_path / "run"], tmp_path / "report.html"))
    assert opened.page.locator("#herd canvas").count() == 10
    opened.page.get_by_role("button", name="Later clients").click()
    assert opened.page.locator("#herd canvas").first.get_attribute("aria-label", timeout=5000) is not None
    assert "Client 10" in opened.page.locator("#herd figcaption").first.inner_text()


def test_clients_that_sit_out_are_said_to(open_page: Open, tmp_path: Path) -> None:
    """With 2 of 5 clients a round, choosing a client and moving the round never mixes clients up."""
    run(BASE.replace(cohort=2, rounds=6, snapshot_every=1), tmp_path / "run")
    rows = pq.read_table(tmp_path / "run" / SNAPSHOTS).to_pylist()
    opened = open_page(build([tmp_path / "run"], tmp_path / "report.html"))
    page = opened.page
    assert page.locator("#herd .ramp").first.get_by_text("sat out").count() == 1
    for client in (0, 3):
        page.locator("#inside-client").select_option(label=f"client {client}")
        for position in range(6):
            page.locator("#round-slider").evaluate(
                "(node, value) => { node.value = value; node.dispatchEvent(new Event('input')); }",
                str(position),
            )
            shown = page.locator("#inside-kept").inner_text().partition(":")[2]
            mine = [row for row in rows if row["round"] == position + 1 and row["client"] == client]
            if mine:
                assert [int(step) for step in shown.split(",")] == mine[0]["kept"]
            else:
                assert shown == ""
                words = f"Client {client} sat out in round {position + 1}."
                assert page.locator("#inside-readout").inner_text() == words
