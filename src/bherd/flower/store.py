"""What the parts on a client remember (SCAFFOLD's c_i), on the node's disk, as of the rounds that may count.

Two versions are kept: the one of the last round that the server has acknowledged, and the one of the
latest answer, which counts only once a later message of the server acknowledges it. So an answer that
was lost, late or rejected leaves the memory where it was, and a restarted node finds it again.
"""

import os
from pathlib import Path

import platformdirs
from torch import Tensor

from bherd.errors import BherdError, DamagedFileError, InputError
from bherd.loop.memory import flat, nested
from bherd.loop.state import Memory
from bherd.runs.tensors import read_tensors, write_tensors

STATE_VARIABLE = "BHERD_STATE"


class StateLostError(BherdError):
    """The version of the client's state that the server counts on is not on this disk."""


class OwnState:
    """The file of one client in one federation."""

    def __init__(self, folder: Path, federation: str, client: int) -> None:
        if not federation or not federation.isalnum():
            raise InputError(
                f"the federation's name is {federation!r}, but letters and digits are expected: "
                "this method keeps state on its clients and needs bherd's own server"
            )
        self.path = folder / federation / f"client-{client}.safetensors"

    def at(self, round: int) -> Memory:
        """The memory after `round`; after round 0, before the first answer that counts, there is none."""
        if round == 0:
            return {}
        versions = self._read()
        if round not in versions:
            raise StateLostError(
                f"the client's state of round {round} is not in {self.path} (it has rounds "
                f"{sorted(versions)}): put the file back, or start a new federation"
            )
        return nested(versions[round])

    def put(self, acknowledged: int, before: Memory, round: int, after: Memory) -> None:
        """Write the version that counts and the one of this round's answer; forget all others."""
        versions = {acknowledged: before} if acknowledged else {}
        versions[round] = after
        self.path.parent.mkdir(parents=True, exist_ok=True)
        tensors = {
            f"{number}/{key}": t for number, memory in versions.items() for key, t in flat(memory).items()
        }
        write_tensors(self.path, tensors, {})

    def _read(self) -> dict[int, dict[str, Tensor]]:
        if not self.path.is_file():
            return {}
        try:
            tensors, _ = read_tensors(self.path)
        except DamagedFileError as error:
            raise StateLostError(str(error)) from error
        versions: dict[int, dict[str, Tensor]] = {}
        for name, tensor in tensors.items():
            number, _, key = name.partition("/")
            versions.setdefault(int(number), {})[key] = tensor
        return versions


def default_folder() -> Path:
    """Where nodes keep their clients' state: $BHERD_STATE, or the user's folder for such files."""
    chosen = os.environ.get(STATE_VARIABLE)
    return Path(chosen) if chosen else platformdirs.user_state_path("bherd") / "federations"
