"""How a method is called in tables, legends and folder names."""

from bherd.config import Config, MethodConfig
from bherd.method_texts import order_refinements, refinements
from bherd.parts.schedule import Schedule
from bherd.parts.spec import Spec


def number(value: float) -> str:
    """The shortest text that gives the number back, so that unequal numbers never look the same.

    >>> number(0.5), number(2.0), number(1e-05), number(0.1234567)
    ('0.5', '2', '1e-05', '0.1234567')
    """
    return value.text if isinstance(value, Schedule) else repr(float(value)).removesuffix(".0")


def _details(method: MethodConfig) -> list[tuple[str, str]]:
    """What sets a method apart from its preset; a share is always told, and so is an order that stays."""
    details = dict(refinements(method.texts))
    if method.alpha is not None:
        details = {"alpha": dict(Spec.read("selector", str(method.selector)).params)["alpha"], **details}
    details |= order_refinements(method.texts)
    return [(key, _short(value)) for key, value in details.items()]


def _short(value: str) -> str:
    """A number without a needless '.0', as it still comes back as itself; other texts as they are."""
    try:
        return number(float(value)) if "." in value or "e" in value else value
    except ValueError:
        return value


def method_label(config: Config) -> str:
    """For legends: the nearest preset and what differs, 'bherd-fedavg alpha=0.5 amplified'."""
    details = [value if key == "step" else f"{key}={value}" for key, value in _details(config.method)]
    return " ".join([config.method.name, *details])


def folder_name(config: Config) -> str:
    """For folders: the same without blanks and signs, 'bherd-fedavg_alpha0.5_amplified'."""
    return method_label(config).replace(" ", "_").replace("=", "").replace(":", ".").replace(",", "_")


def as_argument(method: MethodConfig) -> str:
    """For command lines: a method as `--method` and `bherd compare` take it, and as nothing else."""
    details = dict(_details(method))
    if method.selects and method.order == "reshuffled":  # which it is not by habit
        details["order"] = method.order
    return ",".join([method.name, *(f"{key}={value}" for key, value in details.items())])


def describe(config: Config) -> str:
    """A line that says what is about to run, with what decides it most."""
    return f"{method_label(config)} on {describe_task(config)}, seed {config.run.seed}"


def describe_task(config: Config) -> str:
    """Data, clients, model and training of a resolved configuration, with its defaults spelled out."""
    task, train = config.task, config.train
    some = (
        ""
        if train.cohort == 1 and isinstance(train.cohort, float)
        else f", {_cohort(train.cohort)} per round"
    )
    epochs = "" if train.epochs == 1 else f"E = {number(train.epochs)}, "
    known = {
        "None": "",
        "reshuffled": ", a new sample order every epoch",
        "fixed": ", one fixed sample order",
    }
    order = config.method.part_name("order")
    return (
        f"{task.dataset} ({task.partition}, {_many(task.clients, 'client')}{some}), {task.model}, "
        f"{_many(train.rounds, 'round')}, {epochs}B = {number(train.batch_size)}, lr = {number(train.lr)}"
        f"{known.get(order, f', samples in {order} order')}"
    )


def _cohort(size: int | float) -> str:
    return str(size) if isinstance(size, int) else f"a share of {number(size)}"


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
