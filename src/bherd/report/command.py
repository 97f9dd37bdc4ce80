"""The command line that makes a run again."""

import shlex

from bherd.config import Config, all_settings, differences
from bherd.labels import as_argument
from bherd.names import is_own_task


def command(config: Config) -> str | None:
    """`bherd run` with a flag for everything that decides and is not the default, ready for a shell.

    None for a task from Python, which no command can make again.
    """
    if is_own_task(config.task.dataset):
        return None
    told = {"run.seed", *(other.path for other in differences(Config(), config))}
    if config.task.data_dir is not None:
        told.add("task.data_dir")  # decides nothing, but the data must be found
    words = ["bherd", "run", "--method", as_argument(config.method)]
    for one in all_settings():
        if one.table == "method":
            continue
        value = getattr(getattr(config, one.table), one.name)
        if value is None:
            continue
        if one.path in told and isinstance(value, bool):
            words.append(f"--{one.option}" if value else f"--no-{one.option}")
        elif one.path in told:
            words += [f"--{one.option}", str(value)]
    return shlex.join(words)
