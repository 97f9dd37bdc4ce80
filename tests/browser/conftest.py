"""A real browser without a network, and the reports that it opens."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch

import bherd.loop.client
from bherd.loop.snapshots import Snapshot, take
from bherd.report import build
from bherd.runs.life import run
from tests.browser.pages import Open, Opened, Reported
from tests.report_runs import BASE, comparison

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.fail("these tests need Chromium: `make browser` installs it on Debian and Ubuntu")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def open_page(browser: "Browser") -> Iterator[Open]:
    """Opens a report from its file, offline, and checks at the end that it never complained."""
    opened: list[Opened] = []

    def open_it(path: Path, width: int = 1280, scheme: str = "light", touch: bool = False) -> Opened:
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            has_touch=touch,
            is_mobile=touch,
            color_scheme="dark" if scheme == "dark" else "light",
            offline=True,
            accept_downloads=True,
        )
        one = Opened(context.new_page())
        one.page.on("console", lambda message: one.complaints.append(message.text))
        one.page.on("pageerror", lambda error: one.complaints.append(str(error)))
        one.page.on("dialog", lambda dialog: one.complaints.append(f"dialog: {dialog.message}"))
        one.page.on("request", lambda request: one.requests.append(request.url))
        one.page.goto(path.as_uri())
        one.page.wait_for_selector("html[data-ready=yes]", state="attached", timeout=60_000)
        opened.append(one)
        return one

    yield open_it
    for one in opened:
        assert one.complaints == []
        assert [url for url in one.requests if not url.startswith(("file:", "blob:"))] == []
        one.page.context.close()


@pytest.fixture(scope="session")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Reported:
    folder = tmp_path_factory.mktemp("reported")
    comparison(folder / "runs")
    traces: list[torch.Tensor] = []

    def remembering(trace: torch.Tensor) -> Snapshot:
        traces.append(trace.clone())
        return take(trace)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bherd.loop.client, "take", remembering)
        run(BASE.replace(name="bherd-scaffold", alpha=0.4), folder / "runs" / "a-scaffold" / "seed-0")
    run(BASE.replace(partition="case1", seed=5), folder / "runs" / "other-task" / "seed-5")
    return Reported(build([folder / "runs"], folder / "report.html"), folder / "runs", traces)
