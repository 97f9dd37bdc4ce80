"""Every experiment by its name, in the order in which `all` runs them: what matters most first."""

from bherd.errors import InputError
from bherd.names import did_you_mean
from paper import (
    eta,
    figure_2a,
    figure_2b,
    figure_3a,
    figure_3b,
    figure_3c,
    figure_3d,
    figure_4a,
    figure_4b,
    figure_4c,
    figure_4d,
    figure_4e,
    figure_step,
    rates,
)
from paper.experiment import Experiment
from paper.grid import Curve, unique
from paper.scales import Scale, WorkloadName

EXPERIMENTS: tuple[Experiment, ...] = (
    figure_step.EXPERIMENT,
    figure_2a.EXPERIMENT,
    figure_2b.EXPERIMENT,
    figure_3a.EXPERIMENT,
    figure_4a.EXPERIMENT,
    figure_4b.EXPERIMENT,
    figure_4c.EXPERIMENT,
    figure_4d.EXPERIMENT,
    figure_4e.EXPERIMENT,
    figure_3b.EXPERIMENT,
    figure_3d.EXPERIMENT,
    figure_3c.EXPERIMENT,
    eta.EXPERIMENT,
    rates.EXPERIMENT,
)


def choose(names: list[str]) -> list[Experiment]:
    """The experiments of these names in running order; all of them for none or for 'all'."""
    known = {experiment.name: experiment for experiment in EXPERIMENTS}
    for name in names:
        if name not in (*known, "all"):
            raise InputError(f"there is no figure {name!r}{did_you_mean(name, [*known, 'all'])}")
    return [e for e in EXPERIMENTS if not names or "all" in names or e.name in names]


def curves_of(experiments: list[Experiment], scale: Scale, workloads: list[WorkloadName]) -> list[Curve]:
    """Every curve that these figures need, each once: the SVM's first, then the CNN's."""
    wanted = [curve for experiment in experiments for curve in experiment.curves(scale)]
    return [c for name in workloads for c in unique(wanted) if c.workload == name]
