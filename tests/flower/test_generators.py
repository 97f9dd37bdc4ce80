"""Models that draw from generators of their own draw the same in a federation."""

from pathlib import Path

import pytest
import torch

from tests.flower.grid import MemoryGrid, federate, nodes, reference
from tests.foundations.test_generators import disturb
from tests.tiny import tiny_config


@pytest.mark.parametrize("name", ["numpy_noise", "python_noise", "sometimes_numpy_noise"])
def test_a_federation_by_messages_draws_the_same(name: str, tmp_path: Path) -> None:
    config = tiny_config(tmp_path, name="bherd-scaffold", model=f"tests.user_models:{name}", rounds=3)
    disturb(1)
    state = federate(config, MemoryGrid(nodes(config, tmp_path)))
    disturb(2)
    torch.testing.assert_close(state.params, reference(config).params, rtol=0, atol=1e-12)
