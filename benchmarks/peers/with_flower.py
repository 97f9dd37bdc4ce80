"""Flower's simulation on its Ray backend, as many workers as there are cores for, each with its threads.

Everything stays on the loopback interface; telemetry and the dashboard are off.
"""

import os

os.environ["FLWR_TELEMETRY_ENABLED"] = "0"
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # without a cluster Ray listens on loopback alone

from flwr.simulation import run_simulation

from benchmarks.peers.flower_apps import client_app, clock, cores_given, server_app
from benchmarks.peers.handout import load, path_given, report

HERE = {"include_dashboard": False, "log_to_driver": False, "_node_ip_address": "127.0.0.1"}


def main() -> None:
    """Run the workload in the file that is given."""
    clients = len(load(path_given()).clients)
    backend = {"init_args": HERE, "client_resources": {"num_cpus": cores_given(), "num_gpus": 0.0}}
    run_simulation(server_app, client_app, clients, backend_config=backend)
    report(clock)


if __name__ == "__main__":
    main()
