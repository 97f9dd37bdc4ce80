"""Methods by name, for use from Python.

>>> str(named("bherd-scaffold", alpha=0.3).selector)
'herding,alpha=0.3'
"""

from dataclasses import replace
from typing import cast

from bherd.aggregations.base import Aggregation
from bherd.config import MethodConfig
from bherd.config_tables import method_config
from bherd.corrections.base import Correction
from bherd.errors import InputError
from bherd.method import Method
from bherd.optimizers.base import LocalOptimizer
from bherd.orders.base import Order
from bherd.participation.base import Participation
from bherd.parts.spec import build, complete
from bherd.parts.table import AXES
from bherd.selectors.base import Selector
from bherd.servers.base import ServerOptimizer
from bherd.shipped.base import Shipped
from bherd.transforms.base import Transform


def named(name: str, **refinements: str | float | None) -> Method:
    """The method of a name, as flags and TOML name it.

    Args:
        name: a preset with or without refinements: 'fedavg', 'fedavg,server=adam,server.lr=0.1'.
        refinements: parts by axis (`server="adam,lr=0.1"`), `step`, and the shorthands `alpha`, `mu`
            and `server_lr`.

    Raises:
        InputError: for an unknown name, and for a setting that has no effect on the method.

    >>> named("fedavg", server="adam").server.lr
    0.1
    """
    return method_of(method_config({"name": name, **refinements}))


def method_of(chosen: MethodConfig) -> Method:
    """The method that a configuration's [method] table describes."""
    made = {axis: build(axis, text) for axis in AXES if (text := getattr(chosen, axis)) is not None}
    return Method(
        cast(Selector, made["selector"]),
        cast(Correction, made["correction"]),
        cast(Aggregation, made["aggregation"]),
        cast(ServerOptimizer, made["server"]),
        cast("Order | None", made.get("order")),
        cast(Participation, made["participation"]),
        cast(LocalOptimizer, made["optimizer"]),
        cast(Transform, made["transform"]),
        cast(Shipped, made["shipped"]),
        chosen.step,
    )


def proportional(chosen: MethodConfig) -> bool:
    """Whether the server's rate and the length of a direction are one and the same to its server."""
    return cast(ServerOptimizer, build("server", str(chosen.server))).proportional


def spelled_out(chosen: MethodConfig) -> MethodConfig:
    """The same with all parameters of a user's parts, and the order and the step that follow from them."""
    if not any(":" in str(getattr(chosen, axis)).partition(",")[0] for axis in AXES):
        return chosen
    made = method_of(chosen)
    parts = {axis: complete(axis, getattr(chosen, axis) or str(made.order)) for axis in AXES}
    return replace(chosen, **parts, step=made.step)


def config_of(method: Method) -> MethodConfig:
    """The [method] table that describes a method; its name is the nearest preset's."""
    return MethodConfig(
        "fedavg", **{axis: str(part) for axis, part in method.parts.items()}, step=method.step
    )


def check_loadable(chosen: MethodConfig) -> None:
    """Refuse a method that no other process could make again from its texts: it could not be resumed.

    Raises:
        InputError: naming the part, of a notebook, a script or inside a function.
    """
    for axis in AXES:
        text = getattr(chosen, axis)
        try:
            again = not text.startswith("__main__:") and complete(axis, text) == text
        except InputError:
            again = False
        if not again:
            raise InputError(
                f"{axis} = {text}: a resume could not make it again. Put its class at the top level of a "
                "module that can be imported; without a run directory it can be used as it is."
            )
