"""What the network costs: seconds and bytes a round on Flower, against the local engine.

    python -m benchmarks.flower [--rounds 5] [--clients 5]

Starts a SuperLink and SuperNodes on the loopback interface for the SVM and the CNN, one after the
other, and takes them down again. The first round, which loads the data, is left out of the medians.
"""

import argparse
import statistics
import tempfile
import time
from contextlib import closing
from pathlib import Path

from flwr.app import Message
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects
from flwr.supercore.task_identity import TaskIdentity

from bherd.config import Config, identity
from bherd.federation.plan import FederationPlan
from bherd.federation.processes import free_ports
from bherd.federation.up import up
from bherd.flower import codec
from bherd.flower.codec import Instruction
from bherd.flower.settings import Rules, client_half
from bherd.loop.state import start_state
from bherd.runs.life import run
from bherd.session import prepare


def seconds_a_round(lines: list[dict[str, dict[str, float]]]) -> float:
    return statistics.median(sum(line["seconds"].values()) for line in lines[1:])


def local(config: Config, folder: Path) -> float:
    lines: list[dict[str, dict[str, float]]] = []
    run(config, folder, lines.append)
    return seconds_a_round(lines)


def networked(config: Config, folder: Path) -> float:
    lines: list[dict[str, dict[str, float]]] = []
    plan = FederationPlan(folder, config, Rules(), free_ports(1)[0])
    up(plan, lambda _: None, lines.append, started=lambda _: None)
    return seconds_a_round(lines)


def wire_bytes(message: Message) -> int:
    """Bytes of everything that Flower sends for a message."""
    return sum(len(part.deflate()) for part in get_all_nested_objects(message).values())


def bytes_a_round(config: Config) -> tuple[int, int]:
    """(down, up): what the server sends to all clients, and what they send back."""
    TaskIdentity.run_id, TaskIdentity.node_id, TaskIdentity.task_id = 1, 1, 1
    session = prepare(config)
    layout = codec.layout_of(session.task.model.module)
    state = start_state(session.task, session.method)
    with closing(session.engine()) as engine:
        outcomes = engine.run_clients(state, range(session.task.clients))
    instruction = Instruction(
        1,
        state.params,
        state.buffers,
        state.server.get("correction", {}),
        0,
        "0123456789abcdef",
        session.local.lr,
        identity(session.config),
        client_half(session.method.at(1)),
    )
    asked = Message(codec.encode_instruction(layout, instruction), 1, "train")
    replies = [Message(codec.encode_answer(outcome, 1), reply_to=asked) for outcome in outcomes]
    return wire_bytes(asked) * len(replies), sum(wire_bytes(reply) for reply in replies)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--clients", type=int, default=5)
    args = parser.parse_args()
    print("| model | method | local, s a round | Flower, s a round | down, bytes | up, bytes |")
    print("|---|---|---|---|---|---|")
    for model, method in (("svm", "bherd-fedavg"), ("svm", "bherd-scaffold"), ("cnn", "bherd-fedavg")):
        config = Config().replace(
            name=method, model=model, lr=1e-3, rounds=args.rounds, clients=args.clients, eval_train=False
        )
        with tempfile.TemporaryDirectory() as folder:
            here = local(config, Path(folder) / "local")
            there = networked(config, Path(folder) / "networked")
        down, back = bytes_a_round(config)
        print(f"| {model} | {method} | {here:.4f} | {there:.1f} | {down:,} | {back:,} |", flush=True)


if __name__ == "__main__":
    begin = time.perf_counter()
    main()
    print(f"\n{time.perf_counter() - begin:.0f} s in all")
