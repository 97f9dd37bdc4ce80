"""Decisions 1 to 6 on what the paper leaves open (steps, counts, orders, models), by hand."""

import math

import numpy as np
import pytest
import torch

import bherd
from bherd import methods
from bherd.algorithms.share import kept_count
from bherd.config import Config
from bherd.engines import ReferenceEngine
from bherd.errors import InputError
from bherd.loop.state import Local, start_state
from bherd.loop.visits import batches, plan_steps
from bherd.method import Method
from bherd.orders.fixed import FixedOrder
from bherd.orders.reshuffled import Reshuffled
from bherd.parts.presets import BASES, PRESETS
from bherd.session import prepare
from bherd.streams import stream
from bherd.tasks.datasets import Dataset
from bherd.tasks.models import build_model, cnn, svm
from bherd.tasks.task import assemble, build_task
from tests.tiny import ORDERS, tiny_dataset, tiny_task


class TestDecision1LocalSteps:
    """tau = max(1, floor(E |D| / B)); the partial batch is dropped; E < 1 first batches, E > 1 again."""

    @pytest.mark.parametrize(
        ("size", "batch", "epochs", "steps", "rows"),
        [
            (250, 100, 1.0, 2, 100),
            (99, 100, 1.0, 1, 99),
            (1, 100, 0.01, 1, 1),
            (50, 100, 3.0, 1, 50),  # 3 x 50 / 100 = 1.5
            (50, 100, 4.0, 2, 50),
            (250, 100, 0.5, 1, 100),
            (250, 100, 2.0, 5, 100),  # 5, not twice 2
            (100, 1, 0.29, 29, 1),  # in floats 0.29 x 100 is 28.999999999999996
            (1000, 100, 0.7, 7, 100),
            (12000, 100, 1.0, 120, 100),
        ],
    )
    def test_decision_1_how_many(self, size: int, batch: int, epochs: float, steps: int, rows: int) -> None:
        plan = plan_steps(size, batch, epochs)
        assert (plan.steps, plan.batch) == (steps, rows)

    @pytest.mark.parametrize(
        ("epochs", "expected"),
        [
            (0.5, [[0, 1, 2]]),
            (1.0, [[0, 1, 2], [3, 4, 5]]),
            (1.5, [[0, 1, 2], [3, 4, 5], [0, 1, 2]]),  # 1.5 x 7 / 3 = 3.5
            (2.0, [[0, 1, 2], [3, 4, 5], [0, 1, 2], [3, 4, 5]]),
        ],
    )
    def test_decision_1_which_samples(self, epochs: float, expected: list[list[int]]) -> None:
        x = torch.arange(7)
        seen = [inputs.tolist() for inputs, _ in batches(plan_steps(7, 3, epochs), x, x, None)]
        assert seen == expected

    def test_decision_1_a_small_client_uses_all_it_has(self) -> None:
        x = torch.arange(2)
        assert [b.tolist() for b, _ in batches(plan_steps(2, 3, 1.0), x, x, None)] == [[0, 1]]


class TestDecision2KeptCount:
    """k = max(1, floor(alpha tau + 1/2)), alpha in (0, 1]; ties go to the lowest index."""

    @pytest.mark.parametrize(
        ("alpha", "steps", "kept"),
        [
            (0.5, 4, 2),
            (0.5, 5, 3),  # 2.5 + 0.5
            (0.5, 1, 1),
            (0.1, 4, 1),  # floor(0.9) = 0, so 1
            (0.1, 5, 1),
            (0.3, 5, 2),  # 1.5 + 0.5
            (0.29, 50, 15),  # 14.5 + 0.5, which floats miss
            (0.7, 120, 84),
            (1.0, 7, 7),
            (1e-9, 1000, 1),
        ],
    )
    def test_decision_2_counts(self, alpha: float, steps: int, kept: int) -> None:
        assert kept_count(alpha, steps) == kept
        assert len(bherd.herd(np.zeros((steps, 1)), alpha)) == kept

    @pytest.mark.parametrize("alpha", [0.0, -0.1, 1.01, math.nan, math.inf])
    def test_decision_2_anything_else_is_an_error(self, alpha: float) -> None:
        with pytest.raises(InputError, match="alpha"):
            bherd.herd([[1.0]], alpha)
        with pytest.raises(InputError, match="alpha"):
            methods.named("bherd-fedavg", alpha=alpha)

    def test_decision_2_ties(self) -> None:
        assert bherd.herd([[1.0], [-1.0]], 0.5).tolist() == [0]
        assert bherd.herd([[-1.0], [1.0]], 0.5).tolist() == [0]
        assert bherd.herd([[0.0, 1.0], [1.0, 0.0], [0.0, -1.0], [-1.0, 0.0]], 1.0).tolist() == [0, 2, 1, 3]


class TestDecision3Order:
    """sigma_i is drawn once per run and client; the plain baselines reshuffle every epoch."""

    def test_decision_3_one_order_a_run_and_client(self) -> None:
        data = tiny_dataset(200)
        one, two = (build_task(data, "svm", "case1", 4, seed=5) for _ in range(2))
        other = build_task(data, "svm", "case1", 4, seed=6)
        for client in range(4):
            assert np.array_equal(one.order[client], two.order[client])
            assert not np.array_equal(one.order[client], np.sort(one.order[client]))
            assert not np.array_equal(one.order[client], other.order[client])
            rows = data.x_train[one.order[client]].reshape(50, -1)
            assert np.array_equal(one.samples(client)[0].numpy(), rows)

    def test_decision_3_kept_from_round_to_round(self) -> None:
        """The same model in rounds 1 and 2: equal gradients, unless the order is drawn anew."""
        task = tiny_task("svm")
        for order in ORDERS:
            method = Method(order=order)
            first = start_state(task, method)
            engine = ReferenceEngine(task, method, Local(10, 1.0, 0.05, 0))
            sums = [engine.run_clients(first._replace(round=n), [0])[0].report.update for n in (0, 1)]
            same = torch.allclose(sums[0], sums[1], rtol=1e-6, atol=0)
            assert same is (order == FixedOrder())

    def test_decision_3_reshuffling_draws_an_order_of_all_samples_each_epoch(self) -> None:
        x, plan = torch.arange(6), plan_steps(6, 2, 2.0)
        visits, _ = Reshuffled().visit({}, plan, 6, stream(0, "shuffle", 1, 0))
        seen = torch.cat([b for b, _ in batches(plan, x, x, visits)])
        one, two = seen[:6].tolist(), seen[6:].tolist()
        assert sorted(one) == sorted(two) == list(range(6))
        assert one != two

    @pytest.mark.parametrize("name", PRESETS)
    def test_decision_3_who_reshuffles(self, name: str) -> None:
        plain = name in {*BASES, "centralized"}
        expected, other = ("reshuffled", "fixed") if plain else ("fixed", "reshuffled")
        config = Config().replace(name=name, dataset="synthetic", model="svm")
        assert str(methods.named(name).order) == expected
        assert str(prepare(config).method.order) == expected
        assert prepare(config).config.method.order == expected
        assert str(prepare(config.replace(order=other)).method.order) == other


class TestDecision4Svm:
    """f = w x + b; mean 1/2 max(0, 1 - y f)^2 + 0.05 ||w||^2; even is +1, odd is -1; zero start."""

    DATA = Dataset(
        "two",
        np.array([[1.0], [0.5]], np.float32),
        np.array([4, 7]),  # an even digit and an odd one
        np.array([[1.0], [0.5]], np.float32),
        np.array([4, 7]),
        10,
    )

    def test_decision_4_by_hand(self) -> None:
        """At w = 0, b = 0 every slack is 1: loss 1/2, gradient -(1 - 0.5)/2 and -(1 - 1)/2."""
        task = assemble(self.DATA, "svm", [np.arange(2)], seed=0, dtype=torch.float64, device="cpu")
        assert task.y_train.tolist() == [1.0, -1.0]
        engine = ReferenceEngine(task, methods.named("fedavg"), Local(2, 1.0, 0.1, 0))
        state = start_state(task, methods.named("fedavg"))
        assert state.params.tolist() == [0.0, 0.0]
        outcome = engine.run_clients(state, [0])[0]
        assert outcome.loss == 0.5
        assert outcome.report.update.tolist() == [-0.25, 0.0]
        # At w = 2, b = 1: f = 3 and 2, slacks 0 and 3: 9/4 + 0.05 x 4, no penalty on b.
        at = torch.tensor([2.0, 1.0], dtype=torch.float64)
        outcome = engine.run_clients(state._replace(params=at), [0])[0]
        assert outcome.loss == pytest.approx(2.45)
        assert outcome.report.update.tolist() == pytest.approx([0.95, 1.5])  # 3 x 0.5 / 2 + 0.2; 3 / 2
        evaluation = engine.evaluate(at, None, train=True)
        assert evaluation == pytest.approx((2.45, 2.45, 0.5))

    def test_decision_4_classes_by_parity(self) -> None:
        assert svm((1, 2, 2), 10).encode(torch.arange(5)).tolist() == [1, -1, 1, -1, 1]


class TestDecision5Cnn:
    """'same' padding, 1568 x 256 on 28x28x1, 2048 x 256 on 32x32x3, PyTorch's initialisation."""

    @pytest.mark.parametrize(
        ("shape", "inputs", "total"),
        [
            # 1 x 25 x 32 + 32, 32 x 25 x 32 + 32, 1568 x 256 + 256, 256 x 10 + 10
            ((1, 28, 28), 1568, 832 + 25_632 + 401_664 + 2_570),
            # 3 x 25 x 32 + 32, the same, 2048 x 256 + 256, the same
            ((3, 32, 32), 2048, 2_432 + 25_632 + 524_544 + 2_570),
        ],
    )
    def test_decision_5_sizes(self, shape: tuple[int, ...], inputs: int, total: int) -> None:
        module = cnn(shape, 10).module
        sizes = [tuple(p.shape) for p in module.parameters() if p.ndim > 1]
        assert sizes == [(32, shape[0], 5, 5), (32, 32, 5, 5), (256, inputs), (10, 256)]
        assert sum(p.numel() for p in module.parameters()) == total
        assert module(torch.zeros(2, *shape)).shape == (2, 10)

    def test_decision_5_start_from_the_seed(self) -> None:
        starts = [build_model("cnn", (1, 8, 8), 10, seed).module for seed in (1, 1, 2)]
        vectors = [torch.nn.utils.parameters_to_vector(m.parameters()) for m in starts]
        assert torch.equal(vectors[0], vectors[1])
        assert not torch.equal(vectors[0], vectors[2])
        bound = 1 / math.sqrt(25)  # of a convolution with 1 x 5 x 5 inputs
        first = next(starts[0].parameters())
        assert 0.9 * bound < float(first.detach().abs().max()) <= bound

    def test_decision_5_pixels_are_scaled_to_one(self) -> None:
        x = np.array([[[[0, 51], [102, 255]]]], np.uint8)
        data = Dataset("bytes", x, np.array([0]), x, np.array([0]), 2)
        task = assemble(data, "svm", [np.arange(1)], seed=0, dtype=torch.float64, device="cpu")
        assert task.x_train.tolist() == [[0.0, 0.2, 0.4, 1.0]]


class TestDecision6Cases:
    """Who holds which labels, with five clients; the partitions' own tests say the rest."""

    DATA = Dataset(
        "digits",
        np.zeros((100, 1), np.float32),
        np.arange(100) % 10,
        np.zeros((10, 1), np.float32),
        np.arange(10),
        10,
    )

    @pytest.mark.parametrize(
        ("scheme", "held"),
        [
            ("case2", [{0, 5}, {1, 6}, {2, 7}, {3, 8}, {4, 9}]),
            ("case3", [{0, 1, 2, 3, 4}] * 3 + [{6, 8}, {5, 7, 9}]),
        ],
    )
    def test_decision_6_five_clients(self, scheme: str, held: list[set[int]]) -> None:
        task = build_task(self.DATA, "logistic", scheme, 5, seed=3)
        assert [set(task.samples(i)[1].tolist()) for i in range(5)] == held
        assert sorted(np.concatenate(task.order).tolist()) == list(range(100))
