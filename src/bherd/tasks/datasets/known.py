"""The three public datasets bherd can fetch: their files, sizes and SHA-256.

The digests are of the contents as bherd stores them: idx files unpacked, CIFAR-10 in its binary
form. They are the same whichever source the bytes came from.
"""

from typing import NamedTuple


class KnownFile(NamedTuple):
    name: str
    bytes: int
    sha256: str


class KnownDataset(NamedTuple):
    """A public dataset. ``folder`` is where its files lie inside the folder called ``name``."""

    name: str
    about: str
    licence: str
    folder: str
    files: tuple[KnownFile, ...]
    torchvision_folder: str


MNIST = KnownDataset(
    name="mnist",
    about="60 000 + 10 000 handwritten digits, 1x28x28",
    licence="CC BY-SA 3.0; LeCun, Cortes, Burges",
    folder=".",
    files=(
        KnownFile(
            "train-images-idx3-ubyte",
            47_040_016,
            "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        ),
        KnownFile(
            "train-labels-idx1-ubyte",
            60_008,
            "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        ),
        KnownFile(
            "t10k-images-idx3-ubyte",
            7_840_016,
            "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        ),
        KnownFile(
            "t10k-labels-idx1-ubyte",
            10_008,
            "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
        ),
    ),
    torchvision_folder="MNIST/raw",
)

FASHION_MNIST = KnownDataset(
    name="fashion-mnist",
    about="60 000 + 10 000 articles of clothing, 1x28x28",
    licence="MIT; Zalando SE",
    folder=".",
    files=(
        KnownFile(
            "train-images-idx3-ubyte",
            47_040_016,
            "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        ),
        KnownFile(
            "train-labels-idx1-ubyte",
            60_008,
            "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        ),
        KnownFile(
            "t10k-images-idx3-ubyte",
            7_840_016,
            "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        ),
        KnownFile(
            "t10k-labels-idx1-ubyte",
            10_008,
            "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
        ),
    ),
    torchvision_folder="FashionMNIST/raw",
)

CIFAR10 = KnownDataset(
    name="cifar10",
    about="50 000 + 10 000 colour photographs of 10 kinds, 3x32x32",
    licence="no licence stated, please cite; Krizhevsky 2009",
    folder="cifar-10-batches-bin",
    files=(
        KnownFile(
            "data_batch_1.bin",
            30_730_000,
            "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
        ),
        KnownFile(
            "data_batch_2.bin",
            30_730_000,
            "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
        ),
        KnownFile(
            "data_batch_3.bin",
            30_730_000,
            "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
        ),
        KnownFile(
            "data_batch_4.bin",
            30_730_000,
            "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
        ),
        KnownFile(
            "data_batch_5.bin",
            30_730_000,
            "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
        ),
        KnownFile(
            "test_batch.bin",
            30_730_000,
            "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
        ),
    ),
    torchvision_folder=".",
)

KNOWN: dict[str, KnownDataset] = {known.name: known for known in (MNIST, FASHION_MNIST, CIFAR10)}
