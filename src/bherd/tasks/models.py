"""The models that clients train: the paper's two, two more, and a user's own.

A `Model` is a torch module at its starting point together with its loss. The module's parameters are
raveled at the border (`ravel`, `unravel`); nothing inside the engines knows their names.
"""

import importlib
import inspect
from collections.abc import Callable
from typing import NamedTuple, cast

from torch import Tensor, nn

from bherd.errors import InputError
from bherd.generators import seeded
from bherd.tasks.losses import Hits, Loss, class_hits, cross_entropy, sign_hits, squared_hinge

SVM_DECAY = 0.1


class Model(NamedTuple):
    """A module and what it is trained for."""

    name: str
    module: nn.Module
    flat_input: bool
    """Whether samples are given as vectors instead of images."""
    encode: Callable[[Tensor], Tensor]
    """Class labels -> targets of the loss."""
    loss: Loss
    """(outputs, targets) -> loss of the batch, without the penalty. Called from several threads at once."""
    hits: Hits
    """(outputs, targets) -> how many predictions are right, or another sum over samples; called with all
    outputs of a split, and divided by the number of samples."""
    decay: float = 0.0
    """lambda of the penalty (lambda/2) ||w||^2 on weights; biases are free."""


def _labels(labels: Tensor) -> Tensor:
    return labels


def _parity(labels: Tensor) -> Tensor:
    """+1 for even classes, -1 for odd ones."""
    return 1.0 - 2.0 * (labels % 2)


def _zero_linear(features: int, outputs: int) -> nn.Linear:
    module = nn.Linear(features, outputs)
    nn.init.zeros_(module.weight)
    nn.init.zeros_(module.bias)
    return module


def svm(shape: tuple[int, ...], classes: int) -> Model:
    """Squared-hinge SVM, even against odd classes, lambda = 0.1 on w, from zero."""
    del classes
    module = _zero_linear(_features(shape), 1)
    return Model("svm", module, True, _parity, squared_hinge, sign_hits, SVM_DECAY)


def logistic(shape: tuple[int, ...], classes: int) -> Model:
    """Multinomial logistic regression, from zero."""
    module = _zero_linear(_features(shape), classes)
    return _classifier("logistic", module, flat_input=True)


def mlp(shape: tuple[int, ...], classes: int) -> Model:
    """Two hidden layers of 200 ReLU units, the '2NN' of the FedAvg paper."""
    module = nn.Sequential(
        nn.Linear(_features(shape), 200),
        nn.ReLU(),
        nn.Linear(200, 200),
        nn.ReLU(),
        nn.Linear(200, classes),
    )
    return _classifier("mlp", module, flat_input=True)


def cnn(shape: tuple[int, ...], classes: int) -> Model:
    """The paper's CNN: two 5x5x32 convolutions, each with ReLU and 2x2 max-pooling, FC 256, FC out."""
    if len(shape) != 3 or shape[1] < 4 or shape[2] < 4:
        raise InputError(
            f"the cnn takes images of at least 4x4 pixels, (channels, height, width), but the samples have "
            f"shape {shape}. Save x[:, None] for images of one channel, or use --model mlp or logistic."
        )
    channels, height, width = shape
    module = nn.Sequential(
        nn.Conv2d(channels, 32, 5, padding="same"),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(32, 32, 5, padding="same"),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * (height // 4) * (width // 4), 256),
        nn.ReLU(),
        nn.Linear(256, classes),
    )
    return _classifier("cnn", module, flat_input=False)


MODELS: dict[str, Callable[[tuple[int, ...], int], Model]] = {
    "svm": svm,
    "cnn": cnn,
    "logistic": logistic,
    "mlp": mlp,
}


def build_model(name: str, shape: tuple[int, ...], classes: int, seed: int) -> Model:
    """The model of this name, or of a user's `package.module:factory`, at the start that the seed gives."""
    with seeded(seed, "init"):
        if name in MODELS:
            return MODELS[name](shape, classes)
        return _classifier(name, _user_module(name, shape, classes), flat_input=False)


def user_factory(name: str) -> Callable[..., object]:
    """What `package.module:factory` names."""
    path, _, attribute = name.partition(":")
    if not attribute:
        raise InputError(
            f"model is {name!r}, but one of {', '.join(MODELS)} or a factory of your own, written "
            "package.module:factory, is expected"
        )
    try:
        factory = getattr(importlib.import_module(path), attribute)
    except (ImportError, AttributeError) as error:
        raise InputError(f"model {name!r} cannot be imported: {error}") from error
    if not callable(factory):
        raise InputError(f"model {name!r} is not callable: it must return a torch.nn.Module")
    return cast("Callable[..., object]", factory)


def _user_module(name: str, shape: tuple[int, ...], classes: int) -> nn.Module:
    """Call a user's factory, with (shape, classes) if it takes two arguments."""
    factory = user_factory(name)
    takes = len(inspect.signature(factory).parameters)
    module = factory(shape, classes) if takes >= 2 else factory()
    if not isinstance(module, nn.Module):
        raise InputError(f"model {name!r} returned {type(module).__name__}, not a torch.nn.Module")
    if not any(p.requires_grad for p in module.parameters()):
        raise InputError(f"model {name!r} has no trainable parameters")
    return module


def _classifier(name: str, module: nn.Module, *, flat_input: bool) -> Model:
    return Model(name, module, flat_input, _labels, cross_entropy, class_hits)


def _features(shape: tuple[int, ...]) -> int:
    size = 1
    for length in shape:
        size *= length
    return size
