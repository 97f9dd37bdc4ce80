"""Import torchvision beside a torch that it was not built for.

fluke and FedLab import torchvision for datasets that are not used here. A torchvision built for graphics
cards cannot load its compiled operators beside a torch for processors; declaring those that its Python
part looks for is enough then, and none of them is ever called.
"""

import torch

OPERATORS = ("nms", "qnms")
_declared: list[torch.library.Library] = []


def import_torchvision() -> None:
    """Import it, with its operators declared if it could not load them."""
    try:
        import torchvision  # noqa: F401
    except RuntimeError:
        library = torch.library.Library("torchvision", "DEF")
        for operator in OPERATORS:
            library.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        _declared.append(library)  # a declaration lasts as long as its library
