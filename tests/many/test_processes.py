"""Work over processes: answers, errors, and Ctrl-C that stops every run with a checkpoint."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bherd.many.processes import in_processes


def double(number: int) -> int:
    if number < 0:
        raise ValueError(f"{number} is negative")
    return 2 * number


def test_one_process_is_this_one_and_keeps_the_order() -> None:
    assert list(in_processes(double, [3, 1, 2], 1)) == [6, 2, 4]
    assert list(in_processes(double, [], 4)) == []
    assert list(in_processes(lambda _: os.getpid(), [1, 2], 1)) == [os.getpid()] * 2


def test_several_processes_answer_all_and_raise_what_is_raised() -> None:
    assert sorted(in_processes(double, [3, 1, 2], 2)) == [2, 4, 6]
    with pytest.raises(ValueError, match="-1 is negative"):
        list(in_processes(double, [1, -1, 2], 2))


def test_what_is_to_be_done_meanwhile_is_done_before_the_first_answer() -> None:
    done: list[str] = []
    answers = in_processes(double, [1, 2], 2, meanwhile=lambda: done.append("meanwhile"))
    first = next(answers)
    assert done == ["meanwhile"]
    assert sorted([first, *answers]) == [2, 4]


def test_ctrl_c_does_not_break_into_what_is_done_meanwhile() -> None:
    """Python itself is at odds with that: a process that catches it inside `exec` dies of it at its end."""
    code = """
import os, signal, sys
from bherd.many.processes import in_processes

done = []
def meanwhile():
    exec("os.kill(os.getpid(), signal.SIGINT)")
    done.append("to its end")

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        list(in_processes(abs, [1, 2], 2, meanwhile=meanwhile))
    except KeyboardInterrupt:
        print(done[0])
        sys.exit(130)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (found.stdout, found.returncode) == ("to its end\n", 130), found.stderr


def test_planning_a_comparison_does_not_wait_for_torch() -> None:
    code = (
        "import sys, bherd.many.compare, bherd.many.jobs, bherd.many.processes; "
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def ends_soon(group: int) -> bool:
    """Whether the last process of a group ends within some seconds."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.slow
def test_ctrl_c_stops_a_comparison_with_checkpoints_and_leaves_no_process(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "bherd"]
    command += ["compare", "fedavg", "scaffold", "--rounds", "100000", "--seeds", "1", "--jobs", "2"]
    process = subprocess.Popen(
        [*command, "--out", str(tmp_path / "c")],
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    metrics = [tmp_path / "c" / name / "seed-0" / "metrics.jsonl" for name in ("fedavg", "scaffold")]
    deadline = time.monotonic() + 120
    while not all(path.exists() and path.stat().st_size > 0 for path in metrics):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    os.killpg(process.pid, signal.SIGINT)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 130, (out, error)
    assert error.splitlines() == ["bherd: stopped; start the same command again to go on"]
    for path in metrics:
        assert json.loads((path.parent / "summary.json").read_text())["status"] == "interrupted"
    assert ends_soon(process.pid)
