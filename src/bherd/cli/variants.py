"""The methods of a comparison: which settings they share, which controls they get, and on what they run."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bherd.config import Config
from bherd.errors import InputError
from bherd.labels import describe_task, method_label
from bherd.method_texts import same_length

if TYPE_CHECKING:
    from bherd.many.jobs import Job


def not_common(given: Mapping[str, Any], variants: Sequence[Config]) -> list[str]:
    """What is to be said of common settings that only some of the methods have.

    Raises:
        InputError: where none of them has it.
    """
    from bherd.many.compare import has_setting

    notes = []
    for key, value in given.items():
        without = [v.method.name for v in variants if not has_setting(v.method, key)]
        if not without:
            continue
        names = ", ".join(dict.fromkeys(without))
        if len(without) == len(variants):
            raise InputError(f"{key} = {value}: none of {names} has it. Leave it out.")
        note = f"{key} = {value} does not apply to {names}"
        plain = list(dict.fromkeys(v.method.name for v in variants if not v.method.selects))
        if value == "amplified" and plain:
            shares = {v.method.alpha for v in variants if v.method.alpha is not None}
            same = [same_length(name, share) for name in plain for share in sorted(shares)]
            note += f"; the control at the same length is {', '.join(same)}" if same else ""
        notes.append(note + ".")
    return notes


def with_controls(variants: Sequence[Config], seeds: Sequence[int]) -> tuple[list[Config], list[str]]:
    """The methods with their controls, and what is to be said of those that have none."""
    from bherd.controls import controls

    found = controls(variants, seeds)
    labels = ", ".join(method_label(config) for config in found.unknown)
    note = f"{labels}: no control without selection was added, since no server_lr gives it that step."
    return [*variants, *found.added], [note] if found.unknown else []


def print_header(jobs: "Sequence[Job]") -> None:
    """What is about to be compared, on what, in which order of samples."""
    from bherd.cli.table import print_prose

    methods = list(dict.fromkeys(method_label(job.config) for job in jobs))
    seeds = len({job.config.run.seed for job in jobs})
    many = f"{len(methods)} methods" if len(methods) > 1 else methods[0]
    print_prose(f"{many}, {seeds} seed{'s' * (seeds != 1)} each: {describe_task(jobs[0].config)}")
