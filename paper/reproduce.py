"""From figures and a scale to runs, tables, plots and the verdict."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from bherd.errors import InputError
from bherd.many.jobs import Job, try_job
from bherd.many.processes import in_processes
from bherd.many.ray import on_ray
from bherd.report import build
from bherd.runs.files import locked
from bherd.runs.read import read_summary
from paper import estimate, tables
from paper.catalogue import EXPERIMENTS, choose, curves_of
from paper.claim_page import FIGURES
from paper.collect import collect, is_finished, run_directory
from paper.contrast import comparison_rows
from paper.data import has_cifar, locate, prepare_data
from paper.estimate import Cost, spell
from paper.grid import Curve
from paper.page import write_page
from paper.progress import Progress
from paper.results import SCALE_FILE, read_results, read_scale, write_scale
from paper.scales import WORKLOADS, Scale, WorkloadName, make_scale
from paper.style import RC
from paper.tables import ComparisonRow, TheoremRow
from paper.theorem import check_theorem

ENGINES = ("processes", "ray")
THEOREM_NAME = "theorem"
REPORTED_RUNS = 50
"""The most runs that the report at the end shows; `bherd report` makes others."""
Tell = Callable[[str], None]


@dataclass(frozen=True)
class Options:
    """What the command was asked for."""

    figures: tuple[str, ...] = ("all",)
    scale: str = "smoke"
    seeds: int | None = None
    jobs: int = 0
    problems: tuple[WorkloadName, ...] = WORKLOADS
    work: Path = Path("runs/reproduce")
    out: Path = Path("results")
    page: Path | None = None
    engine: str = "processes"
    ray_address: str | None = None
    dry_run: bool = False
    redraw: bool = False
    """Run nothing: tables, figures and page from the tables that are there."""


def reproduce(options: Options, tell: Tell) -> list[str]:
    """Run what is missing, then make tables, figures and the page. Returns what went wrong, run by run."""
    if options.engine not in ENGINES:
        raise InputError(f"engine is {options.engine!r}, but one of {', '.join(ENGINES)} is expected")
    if options.seeds is not None and options.seeds < 1:
        raise InputError(f"--seeds is {options.seeds}, but at least 1 is needed")
    scale = _scale(options)
    figures = [name for name in options.figures if name != THEOREM_NAME]
    experiments = choose(figures) if figures else []
    work, out = options.work / scale.name, options.out / scale.name
    names = [experiment.name for experiment in experiments]
    if options.redraw:
        _write(scale, names, None, out, options, tell)
        return []
    ordered = _ordered(options, scale, work, names)
    if options.dry_run:
        _grid(ordered, options, scale, work, tell)
        return []
    work.mkdir(parents=True, exist_ok=True)
    with locked(work):
        prepare_data(scale, [curve for curve, _ in ordered.values()], work)
        jobs = _grid(ordered, options, scale, work, tell)
        failures = _run(jobs, options, tell)
        if THEOREM_NAME in options.figures or "all" in options.figures:
            _theorem(scale, work, out, options, tell)
        _write(scale, names, work, out, options, tell)
        finished = [path for path in ordered if is_finished(path)][:REPORTED_RUNS]
        if finished:
            report = build(finished, work / "report.html", f"Reproduction ({scale.name}), first runs")
            tell(f"report of {len(finished)} runs: {report}")
    return failures


def _scale(options: Options) -> Scale:
    """The scale, with CIFAR-10 where it is there or where it is not asked for and the tables have it."""
    folder = options.out / options.scale
    if options.redraw:
        return read_scale(folder)
    cifar = options.scale == "paper" or has_cifar()
    if "cnn-cifar10" not in options.problems and (folder / SCALE_FILE).is_file():
        cifar = cifar or "synthetic" not in read_scale(folder).cnn_cifar.dataset
    return make_scale(options.scale, cifar)


def _write(
    scale: Scale, names: list[str], work: Path | None, out: Path, options: Options, tell: Tell
) -> None:
    """Tables from the runs in `work` and from what is there, then the figures and the page."""
    tell("tables")
    every = curves_of(list(EXPERIMENTS), scale, list(WORKLOADS))
    collect(scale, every, options.seeds, work, out)
    write_scale(out, scale)
    rows = comparison_rows(read_results(out), every)
    tables.write_rows(out / tables.COMPARISONS, ComparisonRow, rows)
    _draw(names, out, _processes(options), tell)
    page = options.page or (
        out / "reproduction.md" if scale.name == "smoke" else Path("docs/reproduction.md")
    )
    write_page(page, options.out)
    tell(f"tables and figures: {out}; verdict: {page}")


def _ordered(options: Options, scale: Scale, work: Path, names: list[str]) -> dict[Path, tuple[Curve, int]]:
    """Curve and seed of every run that was asked for by its directory, in the order in which they matter."""
    ordered: dict[Path, tuple[Curve, int]] = {}
    for problem in options.problems:
        for experiment in choose(names) if names else []:
            curves = curves_of([experiment], scale, [problem])
            count = options.seeds or scale.workload(problem).seeds
            for seed in range(count):
                for curve in curves:
                    directory = run_directory(work, curve, seed)
                    ordered.setdefault(directory, (curve, seed))
    return ordered


def _grid(
    ordered: dict[Path, tuple[Curve, int]], options: Options, scale: Scale, work: Path, tell: Tell
) -> dict[Job, float]:
    """The runs that are missing, and the seconds that each will take; says what they will cost."""
    expected = {path: estimate.cost(scale, curve) for path, (curve, _) in ordered.items()}
    finished = {path for path in ordered if is_finished(path)}
    factors = {
        problem: _correction([p for p in finished if ordered[p][0].workload == problem], expected)
        for problem in WORKLOADS
    }
    jobs: dict[Job, float] = {}
    for path, (curve, seed) in ordered.items():
        if path not in finished:
            config = curve.seeded(seed, locate(scale, curve, work))
            jobs[Job(config, path.resolve())] = factors[curve.workload] * expected[path].seconds
    processes = _processes(options)
    missing = [expected[path] for path in ordered if path not in finished]
    tell(
        f"{scale.name}: {len(ordered)} runs, {len(finished)} of them done, {len(jobs)} to do; about "
        f"{spell(sum(jobs.values()) / processes)} on {processes} processes, peak memory about "
        f"{estimate.peak_bytes(missing, processes) / 1e9:.1f} GB"
    )
    return jobs


def _correction(finished: list[Path], expected: dict[Path, Cost]) -> float:
    """Measured over expected time of the runs that are done."""
    measured = [float((read_summary(path) or {"seconds": 0.0})["seconds"]) for path in finished]
    return estimate.correction([expected[path].seconds for path in finished], measured)


def _processes(options: Options) -> int:
    return options.jobs or os.cpu_count() or 1


def _run(seconds: dict[Job, float], options: Options, tell: Tell) -> list[str]:
    """Do the jobs; `seconds` is the time that each is expected to take. Returns what went wrong."""
    failures: list[str] = []
    jobs, processes = list(seconds), _processes(options)
    if options.engine == "ray":
        done = on_ray(try_job, jobs, processes, options.ray_address)
    else:
        done = in_processes(try_job, jobs, processes)
    with Progress(list(seconds.values())) as progress:
        for ended in done:
            if ended.error is not None:
                failures.append(f"{ended.job.directory.name}: {ended.error}")
            progress.add(seconds[ended.job])
    for failure in failures:
        tell(f"failed: {failure}")
    return failures


def _theorem(scale: Scale, work: Path, out: Path, options: Options, tell: Tell) -> None:
    """Theorem 1's table; made once and kept in the work folder."""
    if "svm-mnist" not in options.problems:
        return
    kept = work / tables.THEOREM
    if not kept.is_file():
        tables.write_rows(kept, TheoremRow, check_theorem(scale, tell))
    out.mkdir(parents=True, exist_ok=True)
    tables.write_rows(out / tables.THEOREM, TheoremRow, tables.read_rows(kept, TheoremRow))


def _draw(names: list[str], out: Path, processes: int, tell: Tell) -> None:
    """Every figure that has something to show, as PNG."""
    (out / FIGURES).mkdir(parents=True, exist_ok=True)
    drawn = in_processes(partial(draw_experiment, out=out), names, processes)
    tell(f"figures: {' '.join(name for group in drawn for name in group)}")


def draw_experiment(name: str, out: Path) -> list[str]:
    """Draw one experiment from the tables in a folder; returns the names of its drawings."""
    import matplotlib as mpl

    (experiment,) = choose([name])
    with mpl.rc_context(RC):
        drawings = experiment.draw(read_results(out))
        for drawing in drawings:
            drawing.figure.savefig(out / FIGURES / f"{drawing.name}.png")
    return [drawing.name for drawing in drawings]
