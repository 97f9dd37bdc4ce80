"""Partitions: the paper's cases by hand, and what must hold for any request whatever."""

import operator

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bherd.errors import InputError
from bherd.tasks.partitions import partition
from bherd.tasks.schemes import parse_scheme
from tests.tasks.partition_checks import DIGITS, assert_fair, held_labels, same, sizes

LOW = {0, 1, 2, 3, 4}


@pytest.mark.parametrize(
    ("scheme", "clients", "held", "held_sizes"),
    [
        ("case2", 5, [{0, 5}, {1, 6}, {2, 7}, {3, 8}, {4, 9}], [24] * 5),
        ("case2", 4, [{0, 4, 8}, {1, 5, 9}, {2, 6}, {3, 7}], [36, 36, 24, 24]),
        ("case2", 10, [{label} for label in range(10)], [12] * 10),
        # Twelve samples a label: labels 0-4 have three holders with 4 each, 5-9 two with 6 each.
        (
            "case2",
            25,
            [{client % 10} for client in range(25)],
            [4] * 5 + [6] * 5 + [4] * 5 + [6] * 5 + [4] * 5,
        ),
        ("case3", 2, [LOW, {5, 6, 7, 8, 9}], [60, 60]),
        # The paper's five clients: h = 3, and label l of 5-9 goes to client 3 + l mod 2.
        ("case3", 5, [LOW, LOW, LOW, {6, 8}, {5, 7, 9}], [20, 20, 20, 24, 36]),
        ("case3", 10, [LOW] * 5 + [{5}, {6}, {7}, {8}, {9}], [12] * 10),
        ("case3", 20, ([LOW] * 5 + [{5}, {6}, {7}, {8}, {9}]) * 2, [6] * 20),
    ],
)
def test_the_cases_by_hand(scheme: str, clients: int, held: list[set[int]], held_sizes: list[int]) -> None:
    parts = partition(DIGITS, scheme, clients=clients)
    assert_fair(parts, 120, clients)
    assert sizes(parts) == held_sizes
    for got, expected in zip(held_labels(parts), held, strict=True):
        # A small IID part of labels 0-4 may lack one of them.
        assert got <= expected if expected == LOW else got == expected


def test_case1_is_even_and_iid() -> None:
    assert sizes(partition(DIGITS, "case1", clients=7)) == [18] + [17] * 6
    labels = np.repeat(np.arange(10), 1000)
    for part in partition(labels, "case1", clients=5):
        counts = np.bincount(labels[part], minlength=10)
        assert counts.min() > 140  # 200 expected, standard deviation about 12
        assert counts.max() < 260


def test_case3_groups_are_even_before_their_clients_are() -> None:
    # m = 4, h = 2. The 12 samples of labels 0 and 1 go 6 and 6 to the groups 0 and 1; group 0 is
    # clients 0 and 4, so 3 each. Labels 2 and 3 go to the groups 2 and 3.
    assert sizes(partition(np.repeat([0, 1, 2, 3], 6), "case3", clients=5)) == [3, 6, 6, 6, 3]


def test_case3_with_an_odd_number_of_labels() -> None:
    # The first half of 3 labels is 2 of them; m = 3, h = 2, one client for the last label.
    parts = partition([0, 1, 2] * 4, "case3", clients=3)
    assert sizes(parts) == [4, 4, 4]
    assert parts[2].tolist() == [2, 5, 8, 11]


def test_labels_are_counted_by_their_sorted_values() -> None:
    parts = partition([40, -3, 7, 40, -3, 7], "case2", clients=3)
    assert [part.tolist() for part in parts] == [[1, 4], [2, 5], [0, 3]]


@pytest.mark.parametrize("scheme", ["case1", "case2", "case3", "dirichlet", "quantity", "shards:10"])
def test_one_client_holds_all(scheme: str) -> None:
    assert partition(DIGITS, scheme, clients=1)[0].tolist() == list(range(120))


@pytest.mark.parametrize("scheme", ["case1", "case2", "case3", "shards:1"])
def test_one_label_is_shared(scheme: str) -> None:
    assert sizes(partition([4] * 10, scheme, clients=3)) == [4, 3, 3]


class TestShards:
    def test_by_hand(self) -> None:
        parts = partition(DIGITS, "shards:2", clients=10)
        assert_fair(parts, 120, 10)
        # 20 places over 10 labels: two holders each, with 6 of the 12 samples.
        for part in parts:
            values, counts = np.unique(DIGITS[part], return_counts=True)
            assert values.size == 2
            assert counts.tolist() == [6, 6]

    def test_all_labels_for_all(self) -> None:
        parts = partition(DIGITS, "shards:10", clients=4)
        assert sizes(parts) == [30] * 4
        assert held_labels(parts) == [set(range(10))] * 4

    @given(
        labels=st.integers(1, 12),
        clients=st.integers(1, 30),
        k=st.integers(1, 12),
        seed=st.integers(0, 2**32),
    )
    def test_exactly_k_labels_shared_evenly(self, labels: int, clients: int, k: int, seed: int) -> None:
        assume(k <= labels <= clients * k)
        data = np.repeat(np.arange(labels), 31)
        parts = partition(data, f"shards:{k}", clients=clients, seed=seed)
        assert_fair(parts, data.size, clients)
        counts = np.array([np.bincount(data[part], minlength=labels) for part in parts])
        assert ((counts > 0).sum(axis=1) == k).all()
        holders = (counts > 0).sum(axis=0)
        assert np.ptp(holders) <= 1
        for label in range(labels):
            assert np.ptp(counts[counts[:, label] > 0, label]) <= 1


class TestSkew:
    def test_small_beta_gives_each_label_to_one_client(self) -> None:
        parts = partition(DIGITS, "dirichlet:1e-6", clients=3, seed=5)
        assert_fair(parts, 120, 3)
        assert sum(len(held) for held in held_labels(parts)) == 10

    @pytest.mark.parametrize("beta", ["1e12", "1.7e308"])
    def test_large_beta_is_even(self, beta: str) -> None:
        parts = partition(DIGITS, f"dirichlet:{beta}", clients=4)
        assert sizes(parts) == [30] * 4
        assert sizes(partition(DIGITS, f"quantity:{beta}", clients=5)) == [24] * 5

    def test_more_skew_with_less_beta(self) -> None:
        spread = [
            np.mean([np.std(sizes(partition(DIGITS, scheme, clients=5, seed=s))) for s in range(30)])
            for scheme in ("quantity:0.1", "quantity:1", "quantity:100")
        ]
        assert spread[0] > spread[1] > spread[2]

    @pytest.mark.parametrize("scheme", ["dirichlet", "quantity"])
    @pytest.mark.parametrize("beta", ["5e-324", "1e-6", "0.5", "1e6", "1.7e308"])
    @pytest.mark.parametrize("clients", [2, 119, 120])
    def test_extremes_leave_nobody_empty(self, scheme: str, beta: str, clients: int) -> None:
        parts = partition(DIGITS, f"{scheme}:{beta}", clients=clients)
        assert_fair(parts, 120, clients)

    def test_the_empty_take_from_the_largest(self) -> None:
        # All 8 samples fall to one client; the three others get one each, which leaves it 5.
        assert sorted(sizes(partition([0] * 8, "quantity:1e-6", clients=4))) == [1, 1, 1, 5]

    def test_thousands_of_clients_are_quick(self) -> None:
        labels = np.arange(20_000) % 10
        assert_fair(partition(labels, "dirichlet:1e-6", clients=20_000), 20_000, 20_000)


@st.composite
def requests(draw: st.DrawFn) -> tuple[list[int], str, int]:
    labels = draw(st.lists(st.integers(-3, 12), min_size=1, max_size=80))
    beta = draw(st.floats(1e-9, 1e9))
    k = draw(st.integers(1, 5))
    scheme = draw(
        st.sampled_from(
            ["case1", "case2", "case3", f"dirichlet:{beta!r}", f"quantity({beta!r})", f"shards:{k}"]
        )
    )
    return labels, scheme, draw(st.integers(1, len(labels)))


@given(request=requests(), seed=st.integers(0, 2**63))
def test_any_request_is_fair_or_refused(request: tuple[list[int], str, int], seed: int) -> None:
    labels, scheme, clients = request
    try:
        parts = partition(labels, scheme, clients=clients, seed=seed)
    except InputError:
        # Only the schemes that keep to labels can fail, and case 2 only where a label is too rare.
        assert parse_scheme(scheme).name in {"case2", "case3", "shards"}
        counts = np.unique(labels, return_counts=True)[1].tolist()
        holders = [len(range(label, clients, len(counts))) for label in range(len(counts))]
        assert scheme != "case2" or any(map(operator.lt, counts, holders))
        return
    assert_fair(parts, len(labels), clients)
    assert same(parts, partition(np.array(labels), scheme, clients=clients, seed=seed))
    if scheme == "case1":
        assert np.ptp(sizes(parts)) <= 1


@given(labels=st.integers(1, 12), clients=st.integers(1, 40), each=st.integers(40, 50), data=st.data())
def test_the_cases_as_decided(labels: int, clients: int, each: int, data: st.DataObject) -> None:
    """Decision 6 in another form: where each sample is allowed to be."""
    values = np.array(data.draw(st.permutations(np.repeat(np.arange(labels), each).tolist())))
    m = min(clients, labels)
    h = (m + 1) // 2
    second = range((labels + 1) // 2, labels)
    two = partition(values, "case2", clients=clients)
    three = partition(values, "case3", clients=clients)
    assert_fair(two, values.size, clients)
    assert_fair(three, values.size, clients)
    for client in range(clients):
        if clients <= labels:
            assert set(values[two[client]]) == set(range(client, labels, clients))
        else:
            assert set(values[two[client]]) == {client % labels}
        group = client % m
        if m == 1:
            continue
        if group < h:
            assert set(values[three[client]]).isdisjoint(second)
        else:
            expected = {label for label in second if h + label % (m - h) == group}
            assert set(values[three[client]]) == expected
    for group in range(m):
        assert np.ptp(sizes(two[group::m])) <= 1
        assert np.ptp(sizes(three[group::m])) <= 1
    assert np.ptp([sum(sizes(three[group::m])) for group in range(h)]) <= 1


class TestSeeds:
    @pytest.mark.parametrize("scheme", ["case1", "case3", "dirichlet", "shards", "quantity"])
    def test_seeds_differ(self, scheme: str) -> None:
        zero = partition(DIGITS, scheme, clients=5)
        assert same(zero, partition(DIGITS, scheme, clients=5, seed=0))
        assert not same(zero, partition(DIGITS, scheme, clients=5, seed=1))

    def test_case2_has_nothing_to_draw(self) -> None:
        assert same(
            partition(DIGITS, "case2", clients=5, seed=0),
            partition(DIGITS, "case2", clients=5, seed=1),
        )
