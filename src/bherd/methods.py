"""The catalogue: every method by the name that people know.

A name is `[selector-]base`: fedavg, fednova or scaffold, alone or with bherd-, grab-, random- or
reversed- before it; and `centralized`. Each is one line of composition, and `by_name` is the same
table for the command line.

>>> bherd_scaffold(alpha=0.3).selector.share
0.3
"""

from collections.abc import Callable

from bherd.config import MethodConfig
from bherd.corrections import control_variates, no_correction
from bherd.errors import InputError
from bherd.method import Correction, Method, Selector, Server, StepLength
from bherd.method_settings import DEFAULT_STEP, complete
from bherd.method_settings import settings_of as settings_of
from bherd.names import METHOD_NAMES, did_you_mean
from bherd.selectors import everything, grab, herding, random_share, reversed_herding
from bherd.servers import average, nova

SELECTORS: dict[str, Callable[[float], Selector]] = {
    "": lambda _alpha: everything(),
    "bherd-": herding,
    "grab-": lambda _alpha: grab(),
    "random-": random_share,
    "reversed-": reversed_herding,
}
SERVERS: dict[str, tuple[Callable[[], Correction], Callable[[StepLength, float], Server]]] = {
    "fedavg": (no_correction, average),
    "fednova": (no_correction, nova),
    "scaffold": (control_variates, average),
}


def by_name(
    name: str, alpha: float | None = None, step: StepLength | None = None, server_lr: float = 1.0
) -> Method:
    """The method of this name.

    Args:
        name: one of the catalogue.
        alpha: share of the gradients that bherd-, random- and reversed- keep (0.5); others have none.
        step: length of the server's step (equation); methods that keep every gradient have none.
        server_lr: factor on the server's step.

    Raises:
        InputError: for an unknown name, and for a setting that has no effect on the method.
    """
    if name not in METHOD_NAMES:
        raise InputError(f"method is {name!r}, which is not known{did_you_mean(name, METHOD_NAMES)}")
    base = "fedavg" if name == "centralized" else name.rpartition("-")[2]
    prefix = "" if name == "centralized" else name.removesuffix(base)
    correction, server = SERVERS[base]
    has = complete(name, alpha, step)
    selector = SELECTORS[prefix](1.0 if has.alpha is None else has.alpha)
    return Method(correction(), selector, server(has.step or DEFAULT_STEP, server_lr), reshuffle=prefix == "")


def named_in(chosen: MethodConfig) -> Method:
    """The method that a configuration's [method] table names."""
    return by_name(chosen.name, chosen.alpha, chosen.step, chosen.server_lr)


def fedavg(server_lr: float = 1.0) -> Method:
    """FedAvg. With `server_lr` = 1/alpha it is the control 'FedAvg at the amplified step'."""
    return by_name("fedavg", server_lr=server_lr)


def fednova(server_lr: float = 1.0) -> Method:
    """FedNova: normalized averaging."""
    return by_name("fednova", server_lr=server_lr)


def scaffold(server_lr: float = 1.0) -> Method:
    """SCAFFOLD: control variates, option II."""
    return by_name("scaffold", server_lr=server_lr)


def centralized(server_lr: float = 1.0) -> Method:
    """Plain SGD. Give it a task with one client that holds all data."""
    return by_name("centralized", server_lr=server_lr)


def bherd_fedavg(alpha: float = 0.5, step: StepLength = "equation", server_lr: float = 1.0) -> Method:
    """BHerd-FedAvg, the paper's method."""
    return by_name("bherd-fedavg", alpha, step, server_lr)


def bherd_fednova(alpha: float = 0.5, step: StepLength = "equation", server_lr: float = 1.0) -> Method:
    """Herding under FedNova's server."""
    return by_name("bherd-fednova", alpha, step, server_lr)


def bherd_scaffold(alpha: float = 0.5, step: StepLength = "equation", server_lr: float = 1.0) -> Method:
    """Herding of SCAFFOLD's corrected gradients."""
    return by_name("bherd-scaffold", alpha, step, server_lr)


def grab_fedavg(step: StepLength = "equation", server_lr: float = 1.0) -> Method:
    """GraB-FedAvg, the paper's online baseline."""
    return by_name("grab-fedavg", step=step, server_lr=server_lr)


def grab_fednova(step: StepLength = "equation", server_lr: float = 1.0) -> Method:
    """GraB under FedNova's server."""
    return by_name("grab-fednova", step=step, server_lr=server_lr)


def grab_scaffold(step: StepLength = "equation", server_lr: float = 1.0) -> Method:
    """GraB on SCAFFOLD's corrected gradients."""
    return by_name("grab-scaffold", step=step, server_lr=server_lr)


def random_fedavg(alpha: float = 0.5, step: StepLength = "equation", server_lr: float = 1.0) -> Method:
    """The control of BHerd-FedAvg: a random share in place of the herd."""
    return by_name("random-fedavg", alpha, step, server_lr)


def random_fednova(alpha: float = 0.5, step: StepLength = "equation", server_lr: float = 1.0) -> Method:
    """The control of BHerd-FedNova."""
    return by_name("random-fednova", alpha, step, server_lr)


def random_scaffold(alpha: float = 0.5, step: StepLength = "equation", server_lr: float = 1.0) -> Method:
    """The control of BHerd-SCAFFOLD."""
    return by_name("random-scaffold", alpha, step, server_lr)


def reversed_fedavg(alpha: float = 0.5, step: StepLength = "equation", server_lr: float = 1.0) -> Method:
    """The other control of BHerd-FedAvg: what herding ranks last."""
    return by_name("reversed-fedavg", alpha, step, server_lr)


def reversed_fednova(alpha: float = 0.5, step: StepLength = "equation", server_lr: float = 1.0) -> Method:
    """The other control of BHerd-FedNova."""
    return by_name("reversed-fednova", alpha, step, server_lr)


def reversed_scaffold(alpha: float = 0.5, step: StepLength = "equation", server_lr: float = 1.0) -> Method:
    """The other control of BHerd-SCAFFOLD."""
    return by_name("reversed-scaffold", alpha, step, server_lr)
