"""Partitions: how a scheme is written, and requests that cannot be met."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bherd.errors import InputError
from bherd.tasks.partitions import partition
from bherd.tasks.schemes import SCHEMES, Scheme, parse_scheme
from tests.tasks.partition_checks import DIGITS, same, sizes

BAD_BETAS = ["", "0", "-1", "nan", "inf", "-inf", "1e400", "1e-400", "abc", "0.5,1"]


class TestSchemes:
    @pytest.mark.parametrize(
        ("text", "scheme", "canonical"),
        [
            ("case1", Scheme("case1"), "case1"),
            (" Case2 ", Scheme("case2"), "case2"),
            ("dirichlet", Scheme("dirichlet", 0.5), "dirichlet:0.5"),
            ("dirichlet:0.1", Scheme("dirichlet", 0.1), "dirichlet:0.1"),
            ("dirichlet( 1e-6 )", Scheme("dirichlet", 1e-6), "dirichlet:1e-06"),
            ("quantity: 3", Scheme("quantity", 3.0), "quantity:3"),
            ("shards", Scheme("shards", 2), "shards:2"),
            ("shards(4)", Scheme("shards", 4), "shards:4"),
        ],
    )
    def test_forms(self, text: str, scheme: Scheme, canonical: str) -> None:
        assert parse_scheme(text) == scheme
        assert parse_scheme(text).text == canonical

    @given(name=st.sampled_from(["dirichlet", "quantity"]), beta=st.floats(5e-324, 1.7e308))
    def test_canonical_text_is_read_back_exactly(self, name: str, beta: float) -> None:
        scheme = Scheme(name, beta)
        assert parse_scheme(scheme.text) == scheme

    @given(
        text=st.text(max_size=20)
        | st.sampled_from(SCHEMES).flatmap(lambda name: st.text(max_size=8).map(lambda rest: name + rest))
    )
    def test_any_text_is_read_or_refused(self, text: str) -> None:
        try:
            scheme = parse_scheme(text)
        except InputError:
            return
        assert parse_scheme(scheme.text) == scheme

    @pytest.mark.parametrize(
        ("texts", "message"),
        [
            (["dirichelt:0.5", "Dirchlet"], "Did you mean 'dirichlet'"),
            (["case4", "zzz"], "expected one of case1, case2"),
            (["", "dirichlet(0.5", "a b"], "cannot be read"),
            (["case2:3", "case1()"], "no parameter"),
            (["dirichlet:" + beta for beta in BAD_BETAS], "finite number above 0"),
            (["quantity(" + beta + ")" for beta in BAD_BETAS], "finite number above 0"),
            (["shards:0", "shards:-2", "shards:1.5", "shards:nan", "shards()"], "1 or more"),
        ],
    )
    def test_bad_schemes(self, texts: list[str], message: str) -> None:
        for text in texts:
            with pytest.raises(InputError, match=message):
                partition(DIGITS, text, clients=5)


class TestImpossibleRequests:
    @pytest.mark.parametrize("clients", [0, -1, 2.5, True, "5", None, float("nan")])
    def test_bad_numbers_of_clients(self, clients: int) -> None:
        with pytest.raises(InputError, match=r"number of clients is .*1 or more"):
            partition(DIGITS, "case1", clients=clients)

    @pytest.mark.parametrize("seed", [-1, 0.5, None])
    def test_bad_seeds(self, seed: int) -> None:
        with pytest.raises(InputError, match="seed"):
            partition(DIGITS, "case1", clients=2, seed=seed)

    @pytest.mark.parametrize("scheme", SCHEMES)
    def test_more_clients_than_samples(self, scheme: str) -> None:
        with pytest.raises(InputError, match="121 clients cannot share 120 samples"):
            partition(DIGITS, scheme, clients=121)

    @pytest.mark.parametrize(
        ("labels", "message"),
        [
            ([], "no labels"),
            ([[0, 1], [1, 0]], "one dimension"),
            ([[0, 1], [1]], "not an array"),
            (3, "one dimension"),
            ([0.5, 1.5], "looks like regression: case2 deals by label"),
            ([None, 1], "expected integers or texts"),
        ],
    )
    def test_bad_labels(self, labels: list[int], message: str) -> None:
        with pytest.raises(InputError, match=message):
            partition(labels, "case2", clients=1)

    @pytest.mark.parametrize("scheme", ["case1", "quantity:0.5"])
    def test_targets_of_a_regression_are_dealt_where_no_label_counts(self, scheme: str) -> None:
        targets = np.linspace(-3, 3, len(DIGITS))
        parts, expected = (partition(given, scheme, clients=4) for given in (targets, DIGITS))
        assert same(parts, expected)

    def test_texts_are_dealt_as_their_numbers_are(self) -> None:
        texts = np.array(["ant", "bee", "cat"])[np.arange(30) % 3]
        parts, expected = (partition(given, "case2", clients=2) for given in (texts, np.arange(30) % 3))
        assert same(parts, expected)

    def test_a_label_too_rare_to_share(self) -> None:
        labels = [0] * 20 + [1]
        with pytest.raises(InputError, match=r"2 of them .* must share 1 sample"):
            partition(labels, "case2", clients=4)
        with pytest.raises(InputError, match="must share 1 sample"):
            partition(labels, "case3", clients=4)
        with pytest.raises(InputError, match="must share label 1, which has 1 sample"):
            partition(labels, "shards:1", clients=4)

    def test_shards_that_do_not_fit(self) -> None:
        with pytest.raises(InputError, match=r"shards:11.*10 labels"):
            partition(DIGITS, "shards:11", clients=5)
        with pytest.raises(InputError, match="at least 5 clients or shards:3"):
            partition(DIGITS, "shards:2", clients=4)
        with pytest.raises(InputError, match="shards"):
            partition(DIGITS, "shards:1" + "0" * 400, clients=5)


def test_other_arrays_are_understood() -> None:
    torch = pytest.importorskip("torch")
    expected = partition(DIGITS, "case3", clients=5)
    assert same(expected, partition(torch.from_numpy(DIGITS), "case3", clients=5))
    assert same(expected, partition(DIGITS.astype(np.uint8), "case3", clients=5))
    assert same(expected, partition(DIGITS.tolist(), "case3", clients=5))
    assert sizes(partition([True, False], "case2", clients=2)) == [1, 1]
