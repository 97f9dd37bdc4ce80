"""Two sentences about a task: what was run, and who won by how much, with the uncertainty.

The final test accuracies are compared seed by seed (the seeds decide the partition, the orders and
the start, so equal seeds are pairs) with the 95% Student interval of the mean difference. Where it
holds zero, the sentence says that no difference was found.
"""

import math
from collections.abc import Sequence

from bherd.comparison import Interval, interval
from bherd.report.grouping import Series, TaskGroup
from bherd.report.records import RunRecord


def headline(task: TaskGroup, runs: Sequence[RunRecord]) -> tuple[str, str]:
    """The two sentences of one task."""
    return _what(task, runs), _who(task, runs)


def _what(task: TaskGroup, runs: Sequence[RunRecord]) -> str:
    counts = [len(series.runs) for series in task.series]
    rounds = sorted({runs[i].config.train.rounds for series in task.series for i in series.runs})
    length = f"{rounds[0]} rounds" if len(rounds) == 1 else f"{rounds[0]} to {rounds[-1]} rounds"
    if len(task.series) == 1:
        who = task.series[0].label
        often = "" if counts[0] == 1 else f", {counts[0]} seeds"
    else:
        who = f"{len(task.series)} methods"
        few, many = min(counts), max(counts)
        often = f", {few} to {many} seeds each" if few != many else f", {_seeds(few)} each"
    return f"{who} on {task.label}, {length}{often}."


def _seeds(count: int) -> str:
    return "one seed" if count == 1 else f"{count} seeds"


def _who(task: TaskGroup, runs: Sequence[RunRecord]) -> str:
    fallen = [series for series in task.series if any(_diverged(runs[i]) for i in series.runs)]
    able = [series for series in task.series if series not in fallen and _finished(series, runs)]
    rivals = [series for series in able if series.label not in task.centralized] or able
    tail = _diverged_tail(fallen, runs)
    if not rivals:
        unfinished = [series for series in task.series if series not in fallen]
        start = "No run has come to its end yet" if unfinished else "Every run diverged"
        return f"{start}{tail if unfinished else ''}."
    ranked = sorted(rivals, key=lambda series: -_final(series, runs).mean)
    best = ranked[0]
    top = _final(best, runs)
    if len(ranked) == 1:
        return f"{best.label} ends at {_value(top)} test accuracy{tail}."
    return f"{_comparison(best, ranked[1:], runs)}{tail}."


def _comparison(best: Series, others: Sequence[Series], runs: Sequence[RunRecord]) -> str:
    top = _final(best, runs)
    differences = [(series, _paired(best, series, runs)) for series in others]
    second, gap = differences[0]
    if gap.samples < 2:
        lead = _points(_final(best, runs).mean - _final(second, runs).mean)
        return (
            f"{best.label} ends highest, at {100 * top.mean:.2f}% test accuracy, {lead} above "
            f"{second.label}, but one seed says nothing about chance"
        )
    level = [best, *(series for series, difference in differences if not _clear(difference))]
    behind = [(series, difference) for series, difference in differences if _clear(difference)]
    if len(level) == 1:
        return (
            f"{best.label} ends highest, at {100 * top.mean:.2f}% test accuracy, {_gap(gap)} above "
            f"{second.label} (95% interval over {gap.samples} paired seeds)"
        )
    leaders = _list([f"{series.label} ({100 * _final(series, runs).mean:.2f}%)" for series in level])
    gap = next(difference for series, difference in differences if series is level[1])
    start = (
        f"No difference in final test accuracy was found between {leaders}: the first two are {_gap(gap)} "
        f"apart (95% interval over {gap.samples} paired seeds)"
    )
    if not behind:
        return start
    series, difference = behind[0]
    return f"{start}; {series.label} ends {_gap(difference)} below the first"


def _clear(difference: Interval) -> bool:
    return difference.samples > 1 and abs(difference.mean) > difference.half_width


def _final(series: Series, runs: Sequence[RunRecord]) -> Interval:
    return interval([a for i in series.runs if (a := runs[i].final_accuracy) is not None])


def _paired(first: Series, second: Series, runs: Sequence[RunRecord]) -> Interval:
    """Final accuracy of `first` less that of `second`, over the seeds that both have."""
    other = {runs[i].config.run.seed: runs[i].final_accuracy for i in second.runs}
    pairs = []
    for i in first.runs:
        mine, yours = runs[i].final_accuracy, other.get(runs[i].config.run.seed)
        if mine is not None and yours is not None:
            pairs.append(mine - yours)
    return interval(pairs)


def _finished(series: Series, runs: Sequence[RunRecord]) -> bool:
    return all(runs[i].status == "complete" and runs[i].final_accuracy is not None for i in series.runs)


def _diverged(run: RunRecord) -> bool:
    return run.diverged_at is not None


def _diverged_tail(fallen: Sequence[Series], runs: Sequence[RunRecord]) -> str:
    parts = []
    for series in fallen:
        count = sum(_diverged(runs[i]) for i in series.runs)
        parts.append(f"{series.label} diverged in {count} of {len(series.runs)} runs")
    return f"; {_list(parts)}" if parts else ""


def _value(value: Interval) -> str:
    if math.isnan(value.half_width):
        return f"{100 * value.mean:.2f}%"
    return f"{100 * value.mean:.2f}% ± {100 * value.half_width:.2f}"


def _points(difference: float) -> str:
    return f"{100 * difference:.2f} points"


def _gap(difference: Interval) -> str:
    return f"{100 * difference.mean:.2f} ± {100 * difference.half_width:.2f} points"


def _list(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
