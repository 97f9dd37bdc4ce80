"""Every BHerd curve against its baseline and its controls, as a table."""

from collections.abc import Iterable

from paper import style
from paper.grid import (
    CASES,
    Curve,
    make_curve,
    plain_at_same_step,
    with_selector,
)
from paper.results import Results
from paper.scales import Workload
from paper.tables import ComparisonRow


def rivals(workload: Workload, curve: Curve) -> list[Curve]:
    """The reshuffled baseline of the paper, and the controls that share the step and the order."""
    case = next(case for case in CASES if case == curve.settings.partition)
    return [
        make_curve(workload, case, curve.settings.server, lr=curve.settings.lr),
        plain_at_same_step(workload, curve),
        with_selector(workload, curve, "random"),
        with_selector(workload, curve, "reversed"),
    ]


def comparison_rows(results: Results, curves: Iterable[Curve]) -> list[ComparisonRow]:
    """One row for each BHerd curve and each rival that was run with some of the same seeds."""
    rows = []
    for curve in curves:
        if curve.settings.selector != "bherd":
            continue
        others = rivals(results.scale.workload(curve.workload), curve)
        rows += [_row(results, curve, rival) for rival in others if results.has(curve, rival)]
    return [row for row in rows if row.n]


def _row(results: Results, a: Curve, b: Curve) -> ComparisonRow:
    found = results.compare(a, b)
    reached = [results.configurations[curve.key].rounds_to_target for curve in (a, b)]
    return ComparisonRow(
        a.workload,
        a.settings.partition,
        _name(a),
        _name(b),
        a.key,
        b.key,
        found.seeds,
        *found.interval[:3],
        found.p,
        found.effect,
        found.test,
        *reached,
    )


def _name(curve: Curve) -> str:
    own = curve.settings
    share = "" if own.alpha is None else f" α={own.alpha:g}"
    size = f" N={own.clients} E={own.epochs:g} B={own.batch_size} η={own.lr:g}"
    return style.label_of(curve).replace(",", "") + share + size
