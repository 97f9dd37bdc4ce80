"""docs/reproduction.md, written from the tables and from nothing else."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bherd.statistics import Difference, holm
from paper import eta, targets
from paper.catalogue import EXPERIMENTS
from paper.claim_page import FIGURES, claim_sections, claim_table, link_to, write_claims
from paper.claims import speed_claims
from paper.claims_sweeps import sweep_claims
from paper.claims_within import inner_claims
from paper.figure_step import ALPHAS, group
from paper.grid import CASES, STEPS
from paper.rates import rate_table
from paper.results import SCALE_FILE, Results, read_results
from paper.scales import SCALE_NAMES
from paper.style import case_of
from paper.targets import target_table
from paper.verdict import RULES, Claim, Judged, judge
from paper.wording import p_value, percent, signed

AGAIN = """\
```console
$ bherd data fetch mnist cifar10
$ python -m paper all --scale smoke     # minutes: does it work?
$ python -m paper all --scale quick
$ python -m paper all --scale paper --problems svm-mnist
```

Every command can be stopped at any moment and started again; finished runs are not repeated. A curve that you
have not run keeps the rows that the tables in `--out` have of it. With `--redraw` nothing is run: figures and
this page are made anew from the tables.

```console
$ python -m paper all --scale paper --redraw
```"""


def read_all(root: Path) -> list[Results]:
    """The results of every scale in a folder, the largest scale first."""
    folders = [root / name for name in reversed(SCALE_NAMES)]
    return [read_results(folder) for folder in folders if (folder / SCALE_FILE).is_file()]


def judge_claims(everything: Sequence[Results]) -> list[Judged]:
    """Every claim, from the largest scale at which it can be tested, judged as one family."""
    groups = (speed_claims, sweep_claims, inner_claims)
    by_scale = [[row for claims in groups for row in claims(results)] for results in everything]
    return judge([min(rows, key=_preference) for rows in zip(*by_scale, strict=True)])


def _preference(claim: Claim) -> tuple[bool, bool]:
    return not claim.is_testable, claim.n == 0


def write_page(page: Path, root: Path) -> list[Judged]:
    """Write the page and the table of all claims, and return the verdicts."""
    everything = read_all(root)
    judged = judge_claims(everything)
    write_claims(root, judged)
    family = sum(p == p for one in judged for p in one.corrected)
    parts = [
        "# What holds, and under which reading of the step",
        "`python -m paper` writes this page from the tables beside the figures; nobody edits it by hand.",
        *(selection_summary(results) for results in everything[:1]),
        "*Equation*: w ← w − η (E/α) Σ pᵢ gᵢ as the paper prints it; *amplified*: the same step lengthened "
        "by 1/α, which is what its figures show.",
        "## How the claims are judged",
        RULES.format(family=family).strip(),
        "## The claims of the paper",
        f"{counts(judged)} The columns of the two steps have the smallest and the largest effect that the "
        "verdict rests on; the number leads to all of them with their intervals, and "
        f"[claims.csv]({link_to(root / 'claims.csv', page)}) has them as a table.",
        claim_table(judged),
        "## What the choice of gradients buys",
        *(selection_table(results) for results in everything[:1]),
        *target_section(everything),
        *rate_section(everything),
        "## Claim by claim",
        claim_sections(judged, root, page),
        "## The scales",
        scale_table(everything),
        "## The figures",
        figure_list(everything, root, page),
        "## Do it again",
        AGAIN,
    ]
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text("\n\n".join(part for part in parts if part) + "\n", encoding="utf-8")
    return judged


def counts(judged: Sequence[Judged]) -> str:
    """How many claims have which verdict."""
    counted = Counter(one.verdict for one in judged)
    verdicts = ", ".join(f"*{verdict}* {count}" for verdict, count in counted.most_common())
    return f"Verdicts on {len(judged)} claims: {verdicts}."


def selection_summary(results: Results) -> str:
    """The extremes of what herding gains or loses against its controls at the same step."""
    parts = []
    for name, index in (("FedAvg with all gradients", 0), ("a random share", 1), ("reversed herding", 2)):
        found = []
        for alpha in ALPHAS:
            for case in CASES:
                for step in STEPS:
                    curves = group(results.scale, case, alpha, step)
                    found.append(results.compare(curves[3], curves[index]).interval.mean)
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


def selection_table(results: Results) -> str:
    """BHerd against its three controls for each case, share and step."""
    lines = [
        f"The SVM at the scale `{results.scale.name}` ({results.scale.svm.title}): BHerd's area under the "
        "loss curve against three controls with the same step length, the same fixed order and seeds. The "
        "last columns are the paired test against the random share: p, corrected by Holm's method over this "
        "table, and Cohen's d.",
        "",
        "| case | α | step | against FedAvg | against reversed herding | against random | p | d |",
        "|---|---|---|---|---|---|---|---|",
    ]
    found: list[tuple[str, list[Difference]]] = []
    for case in CASES:
        for alpha in ALPHAS:
            for step in STEPS:
                plain, random, reverse, bherd = group(results.scale, case, alpha, step)
                against = [results.compare(bherd, other) for other in (plain, reverse, random)]
                if against[-1].seeds:
                    found.append((f"| {case_of(case)} | {alpha:g} | {step} ", against))
    corrected = holm([against[-1].p for _, against in found])
    lines += [
        head
        + "".join(f"| {percent(one)} " for one in against)
        + f"| {p_value(p)} | {signed(against[-1].effect)} |"
        for (head, against), p in zip(found, corrected, strict=True)
    ]
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
    """Every figure below what it is about."""
    titles = {experiment.name: experiment.title for experiment in EXPERIMENTS}
    parts = []
    for results in everything:
        folder = root / results.scale.name / FIGURES
        for path in sorted(folder.glob("*.png")):
            title = titles[path.stem.partition("-")[0]]
            name = f"{path.stem} ({results.scale.name} scale)"
            parts.append(f"{title}: {name}\n\n![{title}: {name}]({link_to(path, page)})")
    return "\n\n".join(parts)
