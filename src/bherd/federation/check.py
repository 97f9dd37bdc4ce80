"""Is this a federation that can run? Asked before anything is written or started."""

from pathlib import Path

from bherd.config import Config
from bherd.flower.settings import check_config
from bherd.methods import method_of
from bherd.session import check_device, prepare
from bherd.tasks.datasets.known import KNOWN
from bherd.tasks.datasets.places import search
from bherd.tasks.models import MODELS, user_factory


def check(config: Config) -> str | None:
    """Prepare the experiment as the server will; where its data is not on this machine, check the names.

    The answer is None, or says what could not be checked.
    """
    check_config(config)
    if _is_here(config):
        prepare(config)
        return None
    check_device(config.run.device)
    method_of(config.method)
    if config.task.model is not None and config.task.model not in MODELS:
        user_factory(config.task.model)
    return f"{config.task.dataset} is not on this machine, so only names were checked: run.sh checks the rest"


def _is_here(config: Config) -> bool:
    """Whether the data can be read here; a name that nobody knows is left to `prepare` to complain about."""
    name = config.task.dataset
    if name in KNOWN:
        found, _ = search(KNOWN[name], config.task.data_dir)
        return found is not None
    return not name.endswith(".npz") or Path(name).expanduser().exists()
