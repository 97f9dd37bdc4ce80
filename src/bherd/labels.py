"""How a method is called in tables, legends and folder names."""

from bherd.config import Config, MethodConfig


def number(value: float) -> str:
    """The shortest text that gives the number back, so that unequal numbers never look the same.

    >>> number(0.5), number(2.0), number(1e-05), number(0.1234567)
    ('0.5', '2', '1e-05', '0.1234567')
    """
    return repr(float(value)).removesuffix(".0")


def _details(method: MethodConfig) -> list[str]:
    details = []
    if method.name.startswith(("bherd-", "random-", "reversed-")):
        details.append(f"alpha={number(method.alpha)}")
    if method.step != "equation":
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


def describe(config: Config) -> str:
    """A line that says what is about to run."""
    task = config.task
    return (
        f"{method_label(config)} on {task.dataset} ({task.partition}, {task.clients} clients), "
        f"{task.model}, {config.train.rounds} rounds, seed {config.run.seed}"
    )
