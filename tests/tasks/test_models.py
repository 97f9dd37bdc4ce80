"""The models, a user's own, and what is not a trainable parameter: buffers, Dropout, frozen weights."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from bherd import methods
from bherd.engines.reference import penalty_of
from bherd.errors import InputError
from bherd.tasks.flat import load_buffers, pieces, ravel, ravel_buffers, trainable, unravel
from bherd.tasks.losses import squared_hinge
from bherd.tasks.models import MODELS, build_model, cnn, logistic, mlp, svm
from tests.tiny import CLASSES, IMAGE, federate, memory_of, tiny_dataset, tiny_task

every_engine = pytest.mark.parametrize("engine", ["reference", "simulate"])


# --- the models themselves -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("svm", 784 + 1),
        ("logistic", 784 * 10 + 10),
        ("mlp", 784 * 200 + 200 + 200 * 200 + 200 + 200 * 10 + 10),
        ("cnn", 430_698),
    ],
)
def test_number_of_parameters_on_digits(name: str, size: int) -> None:
    assert ravel(build_model(name, (1, 28, 28), 10, seed=0).module).numel() == size


@pytest.mark.parametrize("make", [svm, logistic])
def test_linear_models_start_at_zero(make: object) -> None:
    assert callable(make)
    assert not ravel(make((1, 4, 4), 10).module).any()


def test_only_the_svm_has_a_penalty_and_only_on_weights() -> None:
    assert svm((4,), 2).decay == 0.1
    assert logistic((4,), 2).decay == mlp((4,), 2).decay == cnn((1, 4, 4), 2).decay == 0.0
    task = tiny_task("svm")
    bias_only = torch.zeros(65, dtype=torch.float64)
    bias_only[-1] = 3.0
    one = torch.zeros_like(bias_only)
    one[0] = 2.0
    assert float(penalty_of(task, bias_only)) == 0.0
    assert float(penalty_of(task, one)) == pytest.approx(0.05 * 4)


def test_squared_hinge_by_hand() -> None:
    """f = 0.5, -2, 3 with y = 1, 1, -1: slacks 0.5, 3, 4: (0.25 + 9 + 16) / 6."""
    outputs, targets = torch.tensor([[0.5], [-2.0], [3.0]]), torch.tensor([1.0, 1.0, -1.0])
    assert float(squared_hinge(outputs, targets)) == pytest.approx(25.25 / 6)


def test_hits_by_hand() -> None:
    outputs, targets = torch.tensor([[0.5], [-2.0], [3.0], [0.0]]), torch.tensor([1.0, 1.0, -1.0, -1.0])
    assert int(svm((2,), 2).hits(outputs, targets)) == 2  # an output of 0 counts as odd
    scores = torch.tensor([[0.0, 1.0], [2.0, 1.0]])
    assert int(logistic((2,), 2).hits(scores, torch.tensor([1, 1]))) == 1


def test_logistic_at_zero_has_the_loss_of_a_guess() -> None:
    model = logistic((2,), 4)
    loss = model.loss(model.module(torch.ones(3, 2)), torch.tensor([0, 1, 3]))
    assert float(loss.detach()) == pytest.approx(math.log(4))


@pytest.mark.parametrize("shape", [(10,), (1, 3, 28), (1, 28, 3)])
def test_a_cnn_needs_images(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="images of at least 4x4"):
        cnn(shape, 10)


def test_building_a_model_leaves_torchs_generator_alone() -> None:
    before = torch.get_rng_state()
    build_model("mlp", (1, 4, 4), 10, seed=3)
    assert torch.equal(torch.get_rng_state(), before)


# --- a user's own ----------------------------------------------------------------------------


@pytest.mark.parametrize("factory", ["plain", "sized", "Scale", "batch_norm", "dropout", "frozen"])
@every_engine
def test_a_users_module_is_trained(factory: str, engine: str) -> None:
    run = federate(
        tiny_task(f"tests.user_models:{factory}"),
        methods.named("bherd-fedavg", alpha=0.5),
        engine=engine,
        rounds=20,
        lr=0.1,
    )
    assert run.losses[-1].train_loss < 0.95 * run.losses[0].train_loss


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("resnet", "one of svm, cnn, logistic, mlp or a factory"),
        ("tests.user_models", "package.module:factory"),
        ("tests.user_models:", "package.module:factory"),
        ("no_such_package.models:net", "cannot be imported.*no_such_package"),
        ("tests.user_models:missing", "cannot be imported.*missing"),
        ("tests.user_models:NOT_A_FACTORY", "not callable"),
        ("tests.user_models:not_a_module", "returned int, not a torch.nn.Module"),
        ("tests.user_models:all_frozen", "no trainable parameters"),
    ],
)
def test_a_bad_path_says_what_is_wrong(path: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        build_model(path, IMAGE, CLASSES, seed=0)


def test_a_users_module_starts_where_the_seed_says() -> None:
    vectors = [
        ravel(build_model("tests.user_models:sized", IMAGE, CLASSES, seed).module) for seed in (4, 4, 5)
    ]
    assert torch.equal(vectors[0], vectors[1])
    assert not torch.equal(vectors[0], vectors[2])


def test_a_parameter_without_gradient_stays() -> None:
    for engine in ("reference", "simulate"):
        run = federate(tiny_task("tests.user_models:Scale"), methods.named("fedavg"), engine=engine)
        assert run.params[-3:].tolist() == [1.0, 1.0, 1.0]


# --- frozen parameters -----------------------------------------------------------------------


@every_engine
def test_frozen_parameters_stay_and_are_not_sent(engine: str) -> None:
    task = tiny_task("tests.user_models:frozen")
    body = {n: p.detach().clone() for n, p in task.model.module.named_parameters() if not p.requires_grad}
    run = federate(task, methods.named("fedavg"), engine=engine)
    assert len(body) == 2
    assert run.params.numel() == 7 * CLASSES + CLASSES
    assert run.records[0].outcomes[0].report.update.shape == run.params.shape
    assert set(unravel(task.model.module, run.params)) == {"3.weight", "3.bias"}
    for name, parameter in task.model.module.named_parameters():
        if name in body:
            assert torch.equal(parameter, body[name])


# --- buffers ---------------------------------------------------------------------------------


@every_engine
def test_buffers_are_averaged_by_share_and_counts_are_rounded(engine: str) -> None:
    """BatchNorm counts batches: 2, 4 and 3 for clients of 25, 40 and 33 of 98 samples: 309/98 = 3.15."""
    task = tiny_task("tests.user_models:batch_norm")
    run = federate(task, methods.named("fedavg"), engine=engine, rounds=1)
    reports = [outcome.report for outcome in run.records[0].outcomes]
    sent = [report.buffers for report in reports if report.buffers is not None]
    assert [buffers[-1].item() for buffers in sent] == [2.0, 4.0, 3.0]
    expected = sum(p * b for p, b in zip((25 / 98, 40 / 98, 33 / 98), sent, strict=True))
    assert run.state.buffers is not None
    torch.testing.assert_close(run.state.buffers, expected)
    assert run.state.buffers[-1].item() == pytest.approx(309 / 98)
    load_buffers(task.model.module, run.state.buffers)
    norm = task.model.module.get_submodule("1")
    assert isinstance(norm, nn.BatchNorm2d)
    assert norm.num_batches_tracked is not None
    assert int(norm.num_batches_tracked) == 3
    assert norm.running_mean is not None
    torch.testing.assert_close(norm.running_mean, run.state.buffers[:3])


@every_engine
def test_the_next_round_starts_from_the_averaged_buffers(engine: str) -> None:
    run = federate(
        tiny_task("tests.user_models:batch_norm"), methods.named("fedavg"), engine=engine, rounds=2
    )
    sent = [o.report.buffers for o in run.records[1].outcomes]
    assert [b[-1].item() for b in sent if b is not None] == [3.0 + 2, 3.0 + 4, 3.0 + 3]


@every_engine
def test_evaluation_uses_the_averaged_buffers(engine: str) -> None:
    """Statistics of batches would make the loss of a sample depend on its neighbours."""
    task = tiny_task("tests.user_models:batch_norm")
    run = federate(task, methods.named("fedavg"), engine=engine, rounds=1)
    module = build_model("tests.user_models:batch_norm", IMAGE, CLASSES, 0).module.double()
    nn.utils.vector_to_parameters(run.params, list(module.parameters()))
    load_buffers(module, run.state.buffers)
    module.eval()
    with torch.no_grad():
        losses = [
            float(task.model.loss(module(task.x_test[i : i + 1]), task.y_test[i : i + 1])) for i in range(30)
        ]
    assert run.losses[0].test_loss == pytest.approx(np.mean(losses), rel=1e-9)


def test_models_without_buffers_have_none() -> None:
    assert ravel_buffers(nn.Linear(2, 2)) is None
    load_buffers(nn.Linear(2, 2), None)


def test_buffers_that_are_not_part_of_the_state_are_left_out() -> None:
    module = nn.Module()
    module.register_buffer("kept", torch.tensor([1.5, 2.5]))
    module.register_buffer("scratch", torch.tensor([9.0]), persistent=False)
    module.register_buffer("count", torch.tensor(7))
    flat = ravel_buffers(module)
    assert flat is not None
    assert flat.tolist() == [1.5, 2.5, 7.0]
    load_buffers(module, torch.tensor([0.5, 0.25, 2.6], dtype=torch.float64))
    assert [module.get_buffer(n).tolist() for n in ("kept", "scratch", "count")] == [[0.5, 0.25], [9.0], 3]


# --- flat arrays -----------------------------------------------------------------------------


def test_ravel_and_unravel() -> None:
    module = nn.Linear(2, 3)
    flat = ravel(module)
    assert flat.shape == (9,)
    named = unravel(module, flat)
    assert {name: tuple(v.shape) for name, v in named.items()} == {"weight": (3, 2), "bias": (3,)}
    assert torch.equal(named["weight"], module.weight)
    assert [p.numel() for p in pieces(module, flat)] == [6, 3]
    named["bias"][:] = 4.0
    assert flat[-3:].tolist() == [4.0, 4.0, 4.0]  # views
    assert [name for name, _ in trainable(module)] == ["weight", "bias"]
    assert not torch.equal(module.bias, named["bias"])  # ravel is a copy


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_everything_has_the_dtype_that_was_asked_for(model: str, dtype: torch.dtype) -> None:
    task = tiny_task(model, dtype=dtype, dataset=tiny_dataset())
    run = federate(task, methods.named("bherd-scaffold", alpha=0.5), rounds=1)
    report = run.records[0].outcomes[0].report
    assert task.x_train.dtype == run.params.dtype == report.update.dtype == dtype
    memory = memory_of(run.state)
    assert [memory[name].dtype for name in ("server/correction/c", "clients/correction/c")] == [dtype] * 2
