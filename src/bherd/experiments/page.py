"""docs/reproduction.md, written from the tables and from nothing else."""

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bherd.experiments import eta, targets
from bherd.experiments.claims import speed_claims
from bherd.experiments.claims_sweeps import sweep_claims
from bherd.experiments.claims_within import inner_claims
from bherd.experiments.figure_step import ALPHAS, group
from bherd.experiments.grid import CASES, STEPS
from bherd.experiments.rates import rate_table
from bherd.experiments.results import SCALE_FILE, Results, read_results
from bherd.experiments.scales import SCALE_NAMES
from bherd.experiments.style import case_of
from bherd.experiments.targets import target_table
from bherd.experiments.verdict import RULES, Judged, percent

FIGURES = "figures"


def read_all(root: Path) -> list[Results]:
    """The results of every scale in a folder, the largest scale first."""
    folders = [root / name for name in reversed(SCALE_NAMES)]
    return [read_results(folder) for folder in folders if (folder / SCALE_FILE).is_file()]


def judge_claims(everything: Sequence[Results]) -> list[Judged]:
    """A row for each claim, from the largest scale at which it could be tested."""
    groups = (speed_claims, sweep_claims, inner_claims)
    by_scale = [[row for claims in groups for row in claims(results)] for results in everything]
    return [min(rows, key=_preference) for rows in zip(*by_scale, strict=True)]


def _preference(row: Judged) -> tuple[bool, bool]:
    return row.verdict == "not testable at this scale", row.n == 0


def write_page(page: Path, root: Path) -> list[Judged]:
    """Write the page and return the verdicts."""
    everything = read_all(root)
    rows = judge_claims(everything)
    parts = [
        "# What holds, and under which reading of the step",
        "`bherd reproduce` writes this page from the tables beside the figures; nobody edits it by hand.",
        headline(everything, rows),
        "## The claims of the paper",
        "Differences are relative differences of the area under the training-loss curve with their 95% "
        "interval, unless another measure is named. *Equation*: w ← w − η (E/α) Σ pᵢ gᵢ as printed; "
        "*amplified*: the same step lengthened by 1/α. *At the same step* puts BHerd (amplified) beside the "
        "same server with all gradients and beside a random share, both with that longer step.",
        verdict_table(rows),
        "## What the choice of gradients buys",
        *(selection_table(results) for results in everything[:1]),
        *target_section(everything),
        *rate_section(everything),
        "## The rules",
        RULES.strip(),
        "## The scales",
        scale_table(everything),
        "## The figures",
        figure_list(everything, root, page),
        "## Do it again",
        "```\nbherd data fetch mnist cifar10\n"
        "bherd reproduce all --scale smoke     # minutes: does it work?\n"
        "bherd reproduce all --scale quick\nbherd reproduce all --scale paper --problems svm-mnist\n```\n"
        "Every command can be stopped at any moment and started again; finished runs are not repeated.",
    ]
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
    return rows


def headline(everything: Sequence[Results], rows: Sequence[Judged]) -> str:
    """The page in a few sentences."""
    counted = Counter(row.verdict for row in rows)
    verdicts = ", ".join(f"*{verdict}* {count}" for verdict, count in counted.most_common())
    text = f"Verdicts on {len(rows)} claims: {verdicts}."
    if everything:
        text += " " + selection_summary(everything[0])
    return text.strip()


def selection_summary(results: Results) -> str:
    """The extremes of what herding gains or loses against its controls at the same step."""
    parts = []
    for name, index in (("FedAvg with all gradients", 0), ("a random share", 1), ("reversed herding", 2)):
        found = []
        for alpha in ALPHAS:
            for case in CASES:
                for step in STEPS:
                    curves = group(results.scale, case, alpha, step)
                    found.append(results.compare(curves[3], curves[index]).difference.mean)
        values = [100 * value for value in found if value == value]
        if values:
            # A zero is added so that no "-0.00" is printed.
            low, high = (round(value, 2) + 0.0 for value in (min(values), max(values)))
            parts.append(f"{low:+.2f}% to {high:+.2f}% of {name}".replace("-", "−"))
    if not parts:
        return ""
    return (
        "At the same step length, order and seeds, the area under BHerd's loss curve on the SVM "
        f"({results.scale.name} scale; α = 0.3, 0.5, 0.7; three cases; both steps) differs by "
        + ", by ".join(parts)
        + "."
    )


def verdict_table(rows: Sequence[Judged]) -> str:
    """The table of claims."""
    lines = [
        "| claim | equation | amplified | at the same step | n | verdict | scale |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {row.claim} | {row.equation.text} | {row.amplified.text} | {row.control or '–'} | {row.n} "
        f"| **{row.verdict}** | {row.scale} |"
        for row in rows
    ]
    return "\n".join(lines)


def selection_table(results: Results) -> str:
    """BHerd against its three controls for each case, share and step."""
    lines = [
        f"The SVM at the scale `{results.scale.name}` ({results.scale.svm.title}): BHerd's area under the "
        "loss curve against three controls with the same step length, the same fixed order and seeds; "
        "p and Cohen's d of the paired differences to the random share.",
        "",
        "| case | α | step | against FedAvg | against random | p, d | against reversed herding |",
        "|---|---|---|---|---|---|---|",
    ]
    for case in CASES:
        for alpha in ALPHAS:
            for step in STEPS:
                plain, random, reverse, bherd = group(results.scale, case, alpha, step)
                chance = results.compare(bherd, random)
                if chance.n == 0:
                    continue
                lines.append(
                    f"| {case_of(case)} | {alpha:g} | {step} | {percent(results.compare(bherd, plain))} "
                    f"| {percent(chance)} | {chance.p:.2g}, {chance.effect:.2f} "
                    f"| {percent(results.compare(bherd, reverse))} |"
                )
    return "\n".join(lines)


def target_section(everything: Sequence[Results]) -> list[str]:
    """Rounds to a target accuracy, a table for each scale that has figure 2a."""
    found = [(results.scale.name, table) for results in everything if (table := target_table(results))]
    parts = [f"At the scale `{name}`:\n\n{table}" for name, table in found]
    return ["## Rounds to a target accuracy", targets.INTRODUCTION, *parts] if parts else []


def rate_section(everything: Sequence[Results]) -> list[str]:
    """What smaller rates change on the CNN, where that was run."""
    found = [table for results in everything if (table := rate_table(results))]
    if not found:
        return []
    return [
        "## The CNN at smaller learning rates",
        "The verdicts on the CNN are at the largest rate at which FedAvg is stable, one for all methods. "
        "Here are the areas under the loss curves at that rate and at the two below it.",
        *found,
    ]


def scale_table(everything: Sequence[Results]) -> str:
    """What was run at each scale, as the tables have it."""
    lines = [
        "| scale | problem | rounds | evaluated every | batch | η | curves | runs | diverged |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    notes: list[str] = []
    for results in everything:
        for workload in results.scale.workloads:
            rows = [row for row in results.configurations.values() if row.workload == workload.name]
            if not rows:
                continue
            lines.append(
                f"| {results.scale.name} | {workload.title} | {workload.rounds} | {workload.eval_every} "
                f"| {workload.batch_size} | {workload.lr:g} | {len(rows)} | {sum(row.n for row in rows)} "
                f"| {sum(row.diverged for row in rows)} |"
            )
            notes += eta.notes(results, workload)
    return "\n".join(lines) + ("\n\n" + "\n".join(notes) if notes else "")


def figure_list(everything: Sequence[Results], root: Path, page: Path) -> str:
    """Links to the figures, relative to the page."""
    lines = []
    for results in everything:
        folder = root / results.scale.name / FIGURES
        for path in sorted(folder.glob("*.png")):
            link = Path(os.path.relpath(path.resolve(), page.resolve().parent)).as_posix()
            lines.append(f"- {results.scale.name}: [{path.stem}]({link})")
    return "\n".join(lines)
