"""Who holds what: dealing the samples of a data set to the clients of a federation.

=============  ===================================================================================
`case1`        IID: a random deal, sizes as even as possible
`case2`        client j holds the labels ≡ j (mod clients); with more clients than labels, the
               clients ≡ label (mod labels) share it
`case3`        half and half: the first half of the labels IID over the first half of the clients,
               the other labels dealt in turn to the other clients
`dirichlet:β`  each label is spread over the clients by a draw from Dirichlet(β): small β, much skew
`shards:k`     each client holds exactly k labels; the holders of a label share it evenly
`quantity:β`   IID labels; the clients' sizes are a draw from Dirichlet(β)
=============  ===================================================================================

The three cases are those of the BHerd paper (Luo et al., arXiv:2403.16557), the Dirichlet spread is
that of Hsu et al. (arXiv:1909.06335), label shards go back to McMahan et al. (arXiv:1602.05629).

Each scheme computes one array: the owner of every sample. So no sample can be lost or given twice.
Nothing is drawn again until it fits: a client that a draw leaves empty gets one sample of the
largest client.
"""

import operator
from typing import SupportsIndex

import numpy as np
import numpy.typing as npt

from bherd.errors import InputError
from bherd.streams import stream
from bherd.tasks.schemes import parse_scheme

Indices = npt.NDArray[np.int64]

_WITHOUT_LABELS = ("case1", "quantity")
"""They ask how many samples there are, and not what they are."""


def partition(
    labels: npt.ArrayLike, scheme: str, *, clients: int, seed: int = 0
) -> list[npt.NDArray[np.int64]]:
    """Deal the samples with these labels to the clients; one ascending index array a client.

    Args:
        labels: the label of every sample, integers or texts, in one dimension. `case1` and `quantity`
            deal without looking at them, so there the targets of a regression will do as well.
        scheme: see the table of this module, for example `"case2"` or `"dirichlet:0.1"`.
        clients: how many clients there are; each gets at least one sample.
        seed: of the random schemes; the same seed gives the same partition.

    Raises:
        InputError: if the request cannot be fulfilled without losing or doubling a sample.

    >>> [held.tolist() for held in partition([7, 8, 9, 7, 8, 9], "case2", clients=2)]
    [[0, 2, 3, 5], [1, 4]]
    """
    samples, bounds = deal(labels, scheme, clients=clients, seed=seed)
    return [held.copy() for held in np.split(samples, bounds[1:-1])]


def deal(labels: npt.ArrayLike, scheme: str, *, clients: int, seed: int = 0) -> tuple[Indices, Indices]:
    """As `partition`, in two arrays however many clients there are.

    Client i holds samples[bounds[i] : bounds[i + 1]].
    """
    name, parameter = parse_scheme(scheme)
    values, label = _label_positions(labels, scheme, by_label=name not in _WITHOUT_LABELS)
    count = _whole(clients, "the number of clients", least=1)
    if count > label.size:
        raise InputError(
            f"{count} clients cannot share {label.size} samples: expected at least one sample a "
            f"client. Use at most {label.size} clients, or more data."
        )
    rng = stream(_whole(seed, "the seed of a partition", least=0), "partition")
    match name:
        case "case1":
            owner = _share_groups(np.zeros_like(label), 1, count, rng, name)
        case "case2":
            groups = min(count, values.size)
            owner = _share_groups(label % groups, groups, count, rng, name)
        case "case3":
            groups = min(count, values.size)
            owner = _share_groups(_half_and_half(label, values.size, groups, rng), groups, count, rng, name)
        case "dirichlet":
            owner = _spread(label, count, _required(parameter), rng)
        case "shards":
            owner = _shards(label, values, count, int(_required(parameter)), rng)
        case _:
            owner = _spread(np.zeros_like(label), count, _required(parameter), rng)
    bounds = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=count))])
    return np.argsort(owner, kind="stable").astype(np.int64), bounds.astype(np.int64)


def _half_and_half(label: Indices, labels: int, groups: int, rng: np.random.Generator) -> Indices:
    """Case 3: the group of every sample, in 0..groups-1."""
    if groups == 1:
        return np.zeros_like(label)
    first_groups = -(-groups // 2)
    group = first_groups + label % (groups - first_groups)
    first = np.flatnonzero(label < -(-labels // 2))
    _share(group, first, np.arange(first_groups), rng)
    return group


def _share_groups(group: Indices, groups: int, clients: int, rng: np.random.Generator, name: str) -> Indices:
    """Turn groups into clients: those ≡ group (mod groups) share its samples evenly."""
    if groups == clients:
        return group
    owner = np.empty_like(group)
    for index in range(groups):
        samples = np.flatnonzero(group == index)
        holders = np.arange(index, clients, groups)
        if holders.size > samples.size:
            raise InputError(
                f"partition {name} with {clients} clients: {holders.size} of them (client {index} "
                f"and every {groups}th after it) must share {samples.size} sample(s): expected at "
                "least one sample each. Use fewer clients, more data, or another partition."
            )
        _share(owner, samples, holders, rng)
    return owner


def _shards(
    label: Indices, values: npt.NDArray[np.generic], clients: int, k: int, rng: np.random.Generator
) -> Indices:
    """Each client in turn takes the k labels with the fewest holders, ties drawn at random."""
    if k > values.size:
        raise InputError(
            f"partition shards:{k}: the data has {values.size} labels, so a client cannot hold {k} "
            f"of them. Use shards:{values.size} or less."
        )
    if clients * k < values.size:
        raise InputError(
            f"partition shards:{k}: {clients} clients with {k} labels each leave some of the "
            f"{values.size} labels to nobody. Use at least {-(-values.size // k)} clients or "
            f"shards:{-(-values.size // clients)}."
        )
    holds = np.zeros((clients, values.size), dtype=bool)
    holders_of = np.zeros(values.size, dtype=np.int64)
    for client in range(clients):
        taken = np.lexsort((rng.random(values.size), holders_of))[:k]
        holds[client, taken] = True
        holders_of[taken] += 1
    owner = np.empty_like(label)
    for index, value in enumerate(values):
        samples = np.flatnonzero(label == index)
        holders = np.flatnonzero(holds[:, index])
        if holders.size > samples.size:
            raise InputError(
                f"partition shards:{k} with {clients} clients: {holders.size} of them must share "
                f"label {value}, which has {samples.size} sample(s): expected at least one sample "
                f"each. Use fewer clients, fewer labels a client, or more data."
            )
        _share(owner, samples, holders, rng)
    return owner


def _spread(label: Indices, clients: int, beta: float, rng: np.random.Generator) -> Indices:
    """Spread each label by its own Dirichlet draw, then give every empty client one sample."""
    # Beyond these bounds the draw is one-hot or uniform to the last digit, and numpy's would fail.
    concentration = np.full(clients, min(max(beta, 1e-12), 1e12))
    owner = np.empty_like(label)
    for index in range(int(label.max()) + 1):
        samples = rng.permutation(np.flatnonzero(label == index))
        ends = np.rint(np.cumsum(rng.dirichlet(concentration)) * samples.size).astype(np.int64)
        ends = np.minimum(ends, samples.size)
        ends[-1] = samples.size
        owner[samples] = np.repeat(np.arange(clients), np.diff(ends, prepend=0))
    _fill_empty(owner, clients)
    return owner


def _fill_empty(owner: Indices, clients: int) -> None:
    """Move the last sample of the largest client (the first of equals) to each empty client."""
    sizes = np.bincount(owner, minlength=clients)
    by_owner = np.argsort(owner, kind="stable")
    ends = np.cumsum(sizes)
    for client in np.flatnonzero(sizes == 0):
        largest = np.argmax(sizes)
        ends[largest] -= 1
        sizes[largest] -= 1
        owner[by_owner[ends[largest]]] = client
        sizes[client] = 1


def _share(owner: Indices, samples: Indices, holders: Indices, rng: np.random.Generator) -> None:
    """Deal the samples to the holders at random; sizes differ by at most one."""
    each, rest = divmod(samples.size, holders.size)
    sizes = each + (np.arange(holders.size) < rest)
    owner[rng.permutation(samples)] = np.repeat(holders, sizes)


def _label_positions(
    labels: npt.ArrayLike, scheme: str, *, by_label: bool
) -> tuple[npt.NDArray[np.generic], Indices]:
    """The sorted distinct labels, and for each sample the position of its label among them."""
    try:
        array = np.asarray(labels)
    except (TypeError, ValueError) as error:
        raise InputError(f"the labels are not an array ({error}): expected one integer a sample.") from error
    if array.ndim != 1:
        raise InputError(
            f"the labels have the shape {array.shape}: expected one dimension, one label a sample. "
            "Pass class indices, not one-hot rows."
        )
    if array.size == 0:
        raise InputError("there are no labels: expected at least one sample. Check the data set.")
    if array.dtype.kind == "f" and not by_label:
        return np.zeros(1), np.zeros(array.size, dtype=np.int64)
    if array.dtype.kind == "f":
        raise InputError(
            f"the labels are of type {array.dtype}, which looks like regression: {scheme} deals by label and "
            "expects integers or texts. Use case1 or quantity:BETA, or pass classes that you make of them."
        )
    if array.dtype.kind not in "iubUS":
        raise InputError(f"the labels are of type {array.dtype}: expected integers or texts, one per sample.")
    values, positions = np.unique(array, return_inverse=True)
    return values, positions.astype(np.int64)


def _whole(value: SupportsIndex, what: str, *, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least or isinstance(value, bool):
        raise InputError(f"{what} is {value!r}: expected a whole number, {least} or more.")
    return number


def _required(parameter: float | None) -> float:
    assert parameter is not None, "parse_scheme fills in the default"
    return parameter
