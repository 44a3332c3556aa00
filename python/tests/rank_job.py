"""Starts a Python program on several ranks of this host, for the tests."""

import os
import subprocess
import sys
import uuid
from pathlib import Path

HERE = Path(__file__).resolve().parent


def start(program, size, *arguments, **environment):
    """Returns the processes of the ranks; `program` is in tests/ranks."""
    job = uuid.uuid4().hex
    processes = []
    for rank in range(size):
        own = {
            **os.environ,
            "RANK": str(rank),
            "WORLD_SIZE": str(size),
            "TUTTI_JOB": job,
            "TUTTI_TUNING_CACHE": "none",
            "TUTTI_RUN_FOLDER": "none",
            "OMP_NUM_THREADS": "1",
            **environment,
        }
        command = [sys.executable, "-B", HERE / "ranks" / program, *map(str, arguments)]
        processes.append(
            subprocess.Popen(command, env=own, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        )
    return processes


def finish(processes, seconds=90):
    """Returns (exit code, output) of each rank; kills all ranks if one does not finish in time."""
    results = []
    for process in processes:
        try:
            output, _ = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            for other in processes:
                other.kill()
            output = process.communicate()[0] + "\n(not done in time)"
        results.append((process.returncode, output))
    return results


def run(program, size, *arguments, **environment):
    """Returns the outputs of all ranks; fails if a rank fails."""
    results = finish(start(program, size, *arguments, **environment))
    for rank, (code, output) in enumerate(results):
        assert code == 0, f"rank {rank} of {size} ended with {code}:\n{output}"
    return [output for _, output in results]
