"""MLflow: settings, curves and the run's small files, in a store of your choice."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from bherd.callbacks.callback import Callback, MetricsLine, Summary
from bherd.callbacks.extras import need
from bherd.callbacks.values import settings, values
from bherd.config import Config
from bherd.labels import method_label

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

EXPERIMENT = "bherd"
DATABASE = "sqlite:///mlflow.db"


class _Open(NamedTuple):
    client: "MlflowClient"
    run: str


def mlflow(tracking_uri: str = DATABASE, experiment: str = EXPERIMENT) -> Callback:
    """Log to an MLflow store: a SQLite file by default, or the address of a server."""
    need("mlflow", "mlflow")
    opened: list[_Open] = []

    def start(config: Config, directory: Path) -> None:
        from mlflow.entities import Param
        from mlflow.tracking import MlflowClient

        client = MlflowClient(tracking_uri=tracking_uri)
        known = client.get_experiment_by_name(experiment)
        number = known.experiment_id if known else client.create_experiment(experiment)
        name = f"{method_label(config)} seed={config.run.seed}"
        run = client.create_run(number, run_name=name, tags={"bherd.directory": str(directory)})
        opened.append(_Open(client, run.info.run_id))
        params = [Param(setting, str(value)) for setting, value in settings(config)]
        client.log_batch(run.info.run_id, params=params)

    def round(line: MetricsLine) -> None:
        from mlflow.entities import Metric

        client, run = opened[0]
        now = int(time.time() * 1000)
        client.log_batch(run, [Metric(name, value, now, line["round"]) for name, value in values(line)])

    def end(summary: Summary | None) -> None:
        client, run = opened[0]
        client.set_tag(run, "bherd.status", summary["status"] if summary else "stopped")
        complete = summary is not None and summary["status"] == "complete"
        client.set_terminated(run, "FINISHED" if complete else "FAILED" if summary else "KILLED")

    return Callback(round, start, end)
