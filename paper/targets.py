"""How many rounds the methods of figure 2a need to come near to where FedAvg ends."""

import math

from paper.collect import TARGET_BELOW
from paper.figure_2a import case_curves
from paper.grid import CASES
from paper.results import Results
from paper.style import case_of, label_of
from paper.tables import ConfigurationRow

INTRODUCTION = (
    "The target of a problem and a case is the test accuracy that FedAvg has in the last round, the mean of "
    f"its seeds less {100 * TARGET_BELOW:g} percentage points. Medians over the seeds; where not all of them "
    "reach it, how many do is in brackets."
)


def target_table(results: Results) -> str:
    """A row for each problem and case of a scale, a column for each federated method; '' without runs."""
    lines: list[str] = []
    for workload in results.scale.workloads:
        for case in CASES:
            curves = [c for c in case_curves(workload, case) if c.settings.method != "centralized"]
            if not results.has(curves[0]):
                continue
            if not lines:
                names = " | ".join(label_of(curve) for curve in curves)
                lines = [f"| problem | case | target | {names} |", "|---" * (3 + len(curves)) + "|"]
            rows = [results.configurations.get(curve.key) for curve in curves]
            cells = " | ".join("not run" if row is None else rounds_cell(row) for row in rows)
            target = results.configurations[curves[0].key].target
            lines.append(f"| {workload.title} | {case_of(case)} | {100 * target:.1f}% | {cells} |")
    return "\n".join(lines)


def rounds_cell(row: ConfigurationRow) -> str:
    """137, or 137 (8 of 10) where two seeds do not reach the target, or a dash where most do not."""
    median = f"{row.rounds_to_target:g}" if math.isfinite(row.rounds_to_target) else "–"
    return median if row.reached_target == row.n else f"{median} ({row.reached_target} of {row.n})"
