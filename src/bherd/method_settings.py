"""Which settings have an effect on which method. Imports nothing heavy.

A setting that has none is neither taken nor shown: beside `fedavg` the word 'amplified' would name a
control that is not there.
"""

from typing import Literal, NamedTuple

from bherd.errors import InputError

StepLength = Literal["equation", "amplified", "matched"]
DEFAULT_ALPHA = 0.5
DEFAULT_STEP: StepLength = "equation"


class MethodSettings(NamedTuple):
    """The settings of a method beside its name and `server_lr`, which all have; None: it has no such one."""

    alpha: float | None
    step: StepLength | None


def settings_of(name: str) -> tuple[str, ...]:
    """The settings that a method has.

    >>> settings_of("fedavg"), settings_of("grab-scaffold"), settings_of("bherd-fedavg")
    (('server_lr',), ('step', 'server_lr'), ('alpha', 'step', 'server_lr'))
    """
    selector = name.rpartition("-")[0]
    if selector == "":
        return ("server_lr",)
    return ("step", "server_lr") if selector == "grab" else ("alpha", "step", "server_lr")


def settings_without(name: str) -> dict[str, None]:
    """The settings that a method does not have, each as None."""
    return dict.fromkeys(setting for setting in MethodSettings._fields if setting not in settings_of(name))


def complete(name: str, alpha: float | None, step: StepLength | None) -> MethodSettings:
    """The settings of a method with defaults for what is left out.

    Raises:
        InputError: where a setting is given that has no effect on the method.
    """
    has = settings_of(name)
    if step is not None and "step" not in has:
        raise InputError(
            f"step = {step}: {name} ignores it, since it keeps every gradient. {_instead(step, name, alpha)}"
        )
    if alpha is not None and "alpha" not in has:
        why = "measures a share of its own" if name.startswith("grab-") else "keeps every gradient"
        raise InputError(
            f"alpha = {alpha:g}: {name} ignores it, since it {why}. Leave it out{_selecting(name)}."
        )
    return MethodSettings(
        (DEFAULT_ALPHA if alpha is None else alpha) if "alpha" in has else None,
        (DEFAULT_STEP if step is None else step) if "step" in has else None,
    )


def same_length(name: str, alpha: float) -> str:
    """What gives a plain method the step of an amplified one, as a method of a comparison."""
    return f"{name}:server_lr={1 / alpha:.6g}"


def _instead(step: StepLength, name: str, alpha: float | None) -> str:
    if step != "amplified":
        return "Leave it out."
    share = DEFAULT_ALPHA if alpha is None else alpha
    return (
        f"For the same length use server_lr = E/alpha: with E = 1 and alpha = {share:g} that is "
        f"--server-lr {1 / share:.6g}, in a comparison {same_length(name, share)}."
    )


def _selecting(name: str) -> str:
    base = name.rpartition("-")[2]
    return "" if base == "centralized" else f", or choose bherd-{base} or random-{base}"
