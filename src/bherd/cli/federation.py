"""`bherd federation`: real server and client processes, on one machine or on several."""

import argparse
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bherd.cli.options import add_config_options, config_from
from bherd.cli.run import add_output_options, default_directory
from bherd.errors import InputError

if TYPE_CHECKING:
    from bherd.federation.plan import FederationPlan
    from bherd.flower.settings import Rules

_EPILOG = """\
examples:
  bherd federation up --clients 5 --tls --method bherd-scaffold --rounds 10 --lr 0.01
  bherd federation resume runs/bherd-scaffold-mnist-mini-case2-seed0
  bherd federation config --host server.example.org --clients 3 --lr 0.01 --out federation
"""


def add_parser(subparsers: "argparse._SubParsersAction[Any]") -> None:
    parser = subparsers.add_parser(
        "federation",
        help="run a federation of real processes on Flower",
        description="A server and clients as real processes, on Flower (needs bherd[flower]).",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    _add_up(actions)
    _add_resume(actions)
    _add_config(actions)
    _add_server(actions, "register", "let the clients in (what server/register.sh does)", _register)
    _add_server(actions, "submit", "run the experiment (what server/run.sh does)", _submit)


def _add_up(actions: "argparse._SubParsersAction[Any]") -> None:
    parser = actions.add_parser(
        "up",
        help="start a server and its clients on this machine and run an experiment",
        description=(
            "Start a SuperLink and a SuperNode for each client on the loopback interface, run the "
            "experiment, and take everything down again. A SuperNode that dies is started again."
        ),
    )
    add_config_options(parser, one_run=True)
    _add_rules(parser)
    parser.add_argument(
        "--tls", action="store_true", help="encrypt with TLS and authenticate each node by its key"
    )
    parser.add_argument("--port", type=int, metavar="PORT", help="port of the server (default: a free one)")
    parser.add_argument("--out", type=Path, metavar="DIR", help="the run directory (default: runs/NAME)")
    add_output_options(parser)
    parser.set_defaults(execute=_up)


def _add_resume(actions: "argparse._SubParsersAction[Any]") -> None:
    parser = actions.add_parser(
        "resume",
        help="continue a federation that was stopped or whose server died",
        description="Start the processes of a federation again and go on from the last round that counts.",
    )
    parser.add_argument("directory", type=Path, metavar="DIR", help="the run directory")
    parser.add_argument("--port", type=int, metavar="PORT", help="port of the server (default: a free one)")
    add_output_options(parser)
    parser.set_defaults(execute=_resume)


def _add_config(actions: "argparse._SubParsersAction[Any]") -> None:
    parser = actions.add_parser(
        "config",
        help="write out what a federation on several machines needs",
        description=(
            "Write a folder for the server and one for each client, with keys, settings and a script "
            "that starts it. Copy each to its machine; docs/deployment.md walks through it."
        ),
    )
    add_config_options(parser, one_run=True)
    _add_rules(parser)
    parser.add_argument("--host", required=True, metavar="NAME", help="name or address of the server")
    parser.add_argument("--port", type=int, default=8000, metavar="PORT", help="port of the server (8000)")
    parser.add_argument(
        "--bind", metavar="ADDRESS", help="address that the server listens on (default: all of the machine)"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="a new folder")
    parser.set_defaults(execute=_config)


def _add_server(
    actions: "argparse._SubParsersAction[Any]",
    name: str,
    what: str,
    execute: Callable[[argparse.Namespace], int],
) -> None:
    parser = actions.add_parser(name, help=what, description=f"On the server of several machines: {what}.")
    parser.add_argument("directory", type=Path, metavar="DIR", help="the server's folder")
    add_output_options(parser)
    parser.set_defaults(execute=execute)


def _add_rules(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("federation")
    group.add_argument(
        "--min-clients", type=int, metavar="N", help="a round needs so many (half of those asked)"
    )
    group.add_argument("--start-timeout", type=float, metavar="S", help="wait so long for all clients (300)")
    group.add_argument("--round-timeout", type=float, metavar="S", help="wait so long for a round (600)")
    group.add_argument("--max-norm", type=float, metavar="NORM", help="reject longer sums of gradients (off)")


def _rules(args: argparse.Namespace) -> "Rules":
    from bherd.flower.settings import Rules

    names = ("min_clients", "start_timeout", "round_timeout", "max_norm")
    return Rules(**{name: value for name in names if (value := getattr(args, name)) is not None})


def _up(args: argparse.Namespace) -> int:
    _need_flower()
    from bherd.federation.plan import FederationPlan
    from bherd.flower.settings import check_config
    from bherd.runs.new import check_new
    from bherd.session import prepare, resolve

    rules = _rules(args)
    config = resolve(config_from(args))
    out = (args.out or default_directory(config)).absolute()
    check_new(out)
    check_config(config)
    prepare(config)
    plan = FederationPlan(out, config, rules, _port(args), tls=args.tls)
    return _keep_up(plan, args)


def _resume(args: argparse.Namespace) -> int:
    _need_flower()
    from bherd.federation.plan import read_plan
    from bherd.runs.directory import ENDED
    from bherd.runs.verify import read_summary

    plan = read_plan(args.directory.absolute(), _port(args))
    summary = read_summary(plan.directory)
    if summary is not None and summary["status"] in ENDED:
        return _end(summary, plan.directory, args)
    return _keep_up(plan, args)


def _keep_up(plan: "FederationPlan", args: argparse.Namespace) -> int:
    from bherd.cli import EXIT_INTERRUPTED
    from bherd.cli.progress import reporter
    from bherd.federation.up import up

    with reporter(plan.config.train.rounds, quiet=args.quiet, as_json=args.json) as report:
        try:
            summary = up(plan, report.message, report.round, started=lambda _: None)
        except KeyboardInterrupt:
            report.close()
            sys.stderr.write(f"bherd: stopped; continue with `bherd federation resume {plan.directory}`\n")
            return EXIT_INTERRUPTED
    return _end(summary, plan.directory, args)


def _end(summary: dict[str, Any], directory: Path, args: argparse.Namespace) -> int:
    from bherd.cli import EXIT_DIVERGED, EXIT_DONE

    if args.json:
        sys.stdout.write(json.dumps({"summary": summary, "directory": str(directory)}) + "\n")
    elif not args.quiet:
        rounds, seconds = summary["rounds_done"], summary["seconds"]
        sys.stdout.write(f"{summary['status']}: {rounds} rounds in {seconds:.1f} s\nresults: {directory}\n")
    return EXIT_DIVERGED if summary["status"] == "diverged" else EXIT_DONE


def _config(args: argparse.Namespace) -> int:
    _need_flower()
    from bherd.federation.check import check
    from bherd.federation.several import server_at, write_folders
    from bherd.session import resolve

    server = server_at(args.host, args.port, args.bind)
    config, rules = resolve(config_from(args)), _rules(args)
    note = check(config)
    write_folders(args.out, config, rules, server)
    say: Callable[[str], int] = sys.stdout.write
    say(f"{args.out}/server: copy it to {server.host}, then start.sh, register.sh and run.sh\n")
    say(f"{args.out}/client-I: copy each to the machine of its client, then start.sh\n")
    say(f"Every machine, the server too, needs {config.task.dataset}; BHERD_DATA may name its folder.\n")
    if note is not None:
        say(f"{note}.\n")
    say(
        f"Open: whoever reaches port {server.port} of {server.host} can run code on it and on every client.\n"
        "A key is asked of nodes alone; Flower's Control API asks nobody. Keep the port in a private\n"
        "network or behind a firewall that lets in the machines of this federation, and trust these\n"
        "with each other.\n"
    )
    return 0


def _register(args: argparse.Namespace) -> int:
    _need_flower()
    from bherd.cli.progress import reporter
    from bherd.federation.operate import register_nodes

    with reporter(0, quiet=args.quiet, as_json=args.json) as report:
        register_nodes(args.directory.absolute(), report.message)
    return 0


def _submit(args: argparse.Namespace) -> int:
    _need_flower()
    from bherd.cli import EXIT_INTERRUPTED
    from bherd.cli.progress import reporter
    from bherd.federation.operate import read_experiment, run_experiment
    from bherd.federation.several import RUN

    folder = args.directory.absolute()
    config = read_experiment(folder)
    with reporter(config.train.rounds, quiet=args.quiet, as_json=args.json) as report:
        try:
            summary = run_experiment(folder, config, report.message, report.round)
        except KeyboardInterrupt:
            report.close()
            sys.stderr.write("bherd: the run goes on at the server; call run.sh again to follow it\n")
            return EXIT_INTERRUPTED
    return _end(summary, folder / RUN, args)


def _port(args: argparse.Namespace) -> int:
    from bherd.federation.address import check_port
    from bherd.federation.processes import free_ports

    return free_ports(1)[0] if args.port is None else check_port(args.port)


def _need_flower() -> None:
    if importlib.util.find_spec("flwr") is None:
        raise InputError("Flower is not installed; install it with: pip install 'bherd[flower]'")
