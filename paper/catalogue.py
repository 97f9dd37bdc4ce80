"""Every experiment by its name, in the order in which `all` runs them: what matters most first."""

from bherd.errors import InputError
from paper import eta, figure_2a, figure_2b, figure_3, figure_4d, figure_4e, figure_step, rates
from paper.experiment import Experiment
from paper.grid import Curve, unique
from paper.heat import heat_experiment
from paper.scales import Scale, WorkloadName
from paper.sweep import sweep_experiment

EXPERIMENTS: tuple[Experiment, ...] = (
    figure_step.EXPERIMENT,
    figure_2a.EXPERIMENT,
    figure_2b.EXPERIMENT,
    sweep_experiment(figure_3.ALPHA),
    heat_experiment("4a", "case1"),
    heat_experiment("4b", "case2"),
    heat_experiment("4c", "case3"),
    figure_4d.EXPERIMENT,
    figure_4e.EXPERIMENT,
    sweep_experiment(figure_3.EPOCHS),
    sweep_experiment(figure_3.CLIENTS),
    sweep_experiment(figure_3.BATCH_SIZE),
    eta.EXPERIMENT,
    rates.EXPERIMENT,
)


def choose(names: list[str]) -> list[Experiment]:
    """The experiments of these names in running order; all of them for none or for 'all'."""
    known = {experiment.name: experiment for experiment in EXPERIMENTS}
    for name in names:
        if name not in (*known, "all"):
            raise InputError(f"there is no figure {name!r}; known are {', '.join(known)}, all")
    return [e for e in EXPERIMENTS if not names or "all" in names or e.name in names]


def curves_of(experiments: list[Experiment], scale: Scale, workloads: list[WorkloadName]) -> list[Curve]:
    """Every curve that these figures need, each once: the SVM's first, then the CNN's."""
    wanted = [curve for experiment in experiments for curve in experiment.curves(scale)]
    return [c for name in workloads for c in unique(wanted) if c.workload == name]
