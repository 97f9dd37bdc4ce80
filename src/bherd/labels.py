"""How a method is called in tables, legends and folder names."""

from bherd.config import Config, MethodConfig
from bherd.method_settings import DEFAULT_STEP


def number(value: float) -> str:
    """The shortest text that gives the number back, so that unequal numbers never look the same.

    >>> number(0.5), number(2.0), number(1e-05), number(0.1234567)
    ('0.5', '2', '1e-05', '0.1234567')
    """
    return repr(float(value)).removesuffix(".0")


def _details(method: MethodConfig) -> list[str]:
    details = []
    if method.alpha is not None:
        details.append(f"alpha={number(method.alpha)}")
    if method.step not in (None, DEFAULT_STEP):
        details.append(method.step)
    if method.server_lr != 1.0:
        details.append(f"server_lr={number(method.server_lr)}")
    return details


def method_label(config: Config) -> str:
    """For legends: the method's name and what is not the default, 'bherd-fedavg alpha=0.5 amplified'."""
    return " ".join([config.method.name, *_details(config.method)])


def folder_name(config: Config) -> str:
    """For folders: the same without blanks and signs, 'bherd-fedavg_alpha0.5_amplified'."""
    return "_".join([config.method.name, *_details(config.method)]).replace("=", "")


def as_argument(method: MethodConfig) -> str:
    """For command lines: a method as `bherd compare` takes it, 'bherd-fedavg:alpha=0.5,step=amplified'."""
    details = [f"step={detail}" if "=" not in detail else detail for detail in _details(method)]
    return f"{method.name}:{','.join(details)}" if details else method.name


def describe(config: Config) -> str:
    """A line that says what is about to run, with what decides it most."""
    return f"{method_label(config)} on {describe_task(config)}, seed {config.run.seed}"


def describe_task(config: Config) -> str:
    """Data, clients, model and training of a resolved configuration, with its defaults spelled out."""
    task, train = config.task, config.train
    who = train.participation
    some = "" if who == 1 and isinstance(who, float) else f", {_participation(who)} per round"
    epochs = "" if train.epochs == 1 else f"E = {number(train.epochs)}, "
    orders = {True: ", a new sample order every epoch", False: ", one fixed sample order", None: ""}
    return (
        f"{task.dataset} ({task.partition}, {_many(task.clients, 'client')}{some}), {task.model}, "
        f"{_many(train.rounds, 'round')}, {epochs}B = {train.batch_size}, lr = {number(train.lr)}"
        f"{orders[train.reshuffle]}"
    )


def _participation(who: int | float) -> str:
    return str(who) if isinstance(who, int) else f"a share of {number(who)}"


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
