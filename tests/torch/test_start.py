"""Ways to start ranks, each in separate processes, as users do it."""

import os
import shutil
import socket
import subprocess
import sys
import textwrap

import pytest

PROGRAM = """
import torch, torch.distributed as dist
import tutti.torch

dist.init_process_group("ddl")
tensor = torch.tensor([dist.get_rank() + 1.0])
dist.all_reduce(tensor)
group = dist.new_group([dist.get_world_size() - 1])
dist.barrier()  # torch's store ends with rank 0
print(f"sum {tensor.item()} of {dist.get_world_size()}\\n", end="", flush=True)  # one write: lines of ranks do not mix
"""

REINITIALIZE = """
rank_and_size = {"rank": dist.get_rank(), "world_size": dist.get_world_size()}
for turn in range(2):
    dist.destroy_process_group()
    # Without a launcher the port must change: a rank that is early would connect to the previous store.
    dist.init_process_group("ddl", **({} if by_mpirun else {"init_method": f"file://{__file__}.{turn}", **rank_and_size}))
    tensor = torch.ones(1)
    dist.all_reduce(tensor)
    dist.barrier()
    print(f"again {tensor.item()}\\n", end="", flush=True)
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "script.py"
    path.write_text(textwrap.dedent(PROGRAM))
    return str(path)


def environment(**more):
    quiet = dict(os.environ, TUTTI_RUN_FOLDER="none", TUTTI_TUNING_CACHE="none", DDL_TUNE_SECONDS="0", OMP_NUM_THREADS="1")
    return {**{k: v for k, v in quiet.items() if k not in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")}, **more}


def free_port():
    with socket.socket() as probe:
        probe.bind(("", 0))
        return str(probe.getsockname()[1])


def outputs(commands):
    """Returns the output of the processes, which must exit with 0."""
    children = [
        subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for command, env in commands
    ]
    texts = []
    for child in children:
        try:
            out, err = child.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            for other in children:
                other.kill()
            raise
        assert child.returncode == 0, err
        assert "error: DDL-" not in err, err  # a clean shutdown; on a busy machine ranks may wait (DDL-4-06)
        texts.append(out)
    return "".join(texts)


def by_hand(script, size, **more):
    """Starts the ranks. `more`: environment variables, each with one value per rank."""
    port = free_port()
    ranks = [{"RANK": str(rank), **{name: values[rank] for name, values in more.items()}} for rank in range(size)]
    return outputs([
        ([sys.executable, script], environment(WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=port, **variables))
        for variables in ranks
    ])


def test_by_hand(script):
    with open(script, "a") as file:
        file.write("by_mpirun = False" + REINITIALIZE)
    printed = by_hand(script, 3)
    assert printed.count("sum 6.0 of 3") == 3
    assert printed.count("again 3.0") == 6


def test_on_several_hosts_without_mpi(script):
    printed = by_hand(script, 3, TUTTI_HOST_ID="aab")
    assert printed.count("sum 6.0 of 3") == 3


def test_by_ddlrun(script):
    command = ["ddlrun", "--oversubscribe", "-n", "2", "--log-dir", os.path.dirname(script), sys.executable, script]
    assert outputs([(command, environment())]).count("sum 3.0 of 2") == 2


def test_by_mpirun(script):
    if not shutil.which("mpirun"):
        pytest.skip("mpirun is not installed")
    with open(script, "a") as file:
        file.write("by_mpirun = True" + REINITIALIZE)
    command = ["mpirun", "--oversubscribe", "--allow-run-as-root", "-n", "2", sys.executable, script]
    printed = outputs([(command, environment())])
    assert printed.count("sum 3.0 of 2") == 2
    assert printed.count("again 2.0") == 4
