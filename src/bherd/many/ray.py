"""Work spread over a Ray cluster, for more than one machine. Needs the extra `bherd[ray]`.

Ray decides where an item is done; what is done is the same as on one machine. The machines must see the
folders and the data that an item names under the same paths (a shared file system).
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from bherd.errors import InputError

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def on_ray(
    function: Callable[[Item], Answer], items: Sequence[Item], processes: int, address: str | None = None
) -> Iterator[Answer]:
    """The answers of `function` as they come, each item on one core of a cluster.

    Args:
        function: what is done with an item.
        items: begun in order.
        processes: how many at a time, on a Ray instance that lives and ends here.
        address: a cluster's `HOST:PORT`, or 'auto'; its own size decides how many items are done at a time.

    Raises:
        InputError: Ray is not installed, or no cluster answers.
    """
    from bherd.engines.ray import import_ray

    ray = import_ray(cluster=address is not None)
    if address is None:
        ray.init(
            num_cpus=processes, include_dashboard=False, log_to_driver=False, _node_ip_address="127.0.0.1"
        )
    else:
        try:
            ray.init(address=address, log_to_driver=False)
        except ConnectionError as error:
            raise InputError(
                f"no Ray cluster answers at {address}: {error}; start one with `ray start --head`, or leave "
                "the address out for a local instance"
            ) from error
    try:
        remote = ray.remote(num_cpus=1)(function)
        pending = [remote.remote(item) for item in items]
        while pending:
            done, pending = ray.wait(pending)
            yield from ray.get(done)
    finally:
        ray.shutdown()
