"""`bherd list`: everything that can be named on the command line."""

import argparse
import json
import sys
from typing import Any

METHODS = {
    "fedavg": "average of the clients' summed gradients",
    "fednova": "normalized averaging, for clients with unequal steps",
    "scaffold": "control variates against client drift",
    "bherd-*": "... of the herded share alpha of the local gradients (BHerd)",
    "grab-*": "... of the gradients that online balancing gives a plus (GraB)",
    "random-*": "... of a random share alpha: the control for bherd-",
    "reversed-*": "... of the share alpha that herding ranks last: the opposite of bherd-",
    "centralized": "plain SGD, one client with all data",
}
MODELS = {
    "svm": "squared hinge, even against odd classes, lambda 0.1",
    "logistic": "multinomial logistic regression",
    "mlp": "two hidden layers of 200 units",
    "cnn": "two 5x5x32 convolutions, FC 256",
    "package.module:factory": "your torch.nn.Module",
}
PARTITIONS = {
    "case1": "IID",
    "case2": "labels dealt to clients in turn",
    "case3": "half of the labels IID, half dealt",
    "dirichlet:BETA": "label shares by a Dirichlet draw; small BETA, strong skew",
    "shards:K": "K labels a client",
    "quantity:BETA": "IID labels, unequal sizes",
}
DATASETS = {
    "mnist-mini": "5,000 + 1,000 digits of MNIST, embedded",
    "mnist": "60,000 + 10,000 digits",
    "fashion-mnist": "60,000 + 10,000 pieces of clothing",
    "cifar10": "50,000 + 10,000 colour images",
    "synthetic": "a seeded generator, no files",
    "FILE.npz": "your x_train, y_train, x_test, y_test",
}
TABLES = {"methods": METHODS, "models": MODELS, "datasets": DATASETS, "partitions": PARTITIONS}


def add_parser(subparsers: "argparse._SubParsersAction[Any]") -> None:
    parser = subparsers.add_parser(
        "list",
        help="list methods, models, datasets and partitions",
        description="Everything that can be named on the command line. * is fedavg, fednova or scaffold.",
    )
    parser.add_argument("what", nargs="?", choices=[*TABLES], help="only one of the tables")
    parser.add_argument("--json", action="store_true", help="print JSON; methods in full")
    parser.set_defaults(execute=execute)


def execute(args: argparse.Namespace) -> int:
    chosen = [args.what] if args.what else list(TABLES)
    if args.json:
        from bherd.names import METHOD_NAMES

        names = {title: list(TABLES[title]) for title in chosen}
        if "methods" in names:
            names["methods"] = list(METHOD_NAMES)
        sys.stdout.write(json.dumps(names) + "\n")
        return 0
    for title in chosen:
        sys.stdout.write(f"{title}\n")
        for name, what in TABLES[title].items():
            sys.stdout.write(f"  {name:<24}{what}\n")
    return 0
