"""Runs fanned out over a Ray cluster, for more than one machine.

Ray decides where a run happens; what a run is, and how it is resumed, is the same as on one machine. The
machines must see the work folder and the data under the same paths (a shared file system).
"""

import os

from bherd.errors import InputError
from paper.runner import Job, OnEnd, perform


def run_jobs_on_ray(jobs: list[Job], address: str | None, processes: int, on_end: OnEnd) -> None:
    """Perform the jobs on a cluster; without an address, on a Ray instance that lives and ends here."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if address is None:  # read when Ray is imported: without a cluster it listens on loopback alone
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    try:
        import ray
    except ImportError as error:
        raise InputError("--engine ray needs Ray: pip install 'bherd[ray]'") from error
    if address is None:
        ray.init(
            num_cpus=processes, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1"
        )
    else:
        try:
            ray.init(address=address, log_to_driver=False)
        except ConnectionError as error:
            raise InputError(
                f"no Ray cluster answers at --ray-address {address}: {error}; start one with "
                "`ray start --head`, or leave the address out for a local instance"
            ) from error
    try:
        remote = ray.remote(num_cpus=1)(perform)
        pending = [remote.remote(job) for job in jobs]
        while pending:
            done, pending = ray.wait(pending)
            for ended in ray.get(done):
                on_end(ended)
    finally:
        ray.shutdown()
