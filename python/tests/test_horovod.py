"""tutti.horovod.torch on 1 to 3 ranks."""

import os
import subprocess
import sys

import pytest
import rank_job


@pytest.mark.parametrize("size", [1, 2, 3])
def test_collectives_and_training(size):
    for output in rank_job.run("horovod_all.py", size):
        assert output.count("all passed") == 6


def test_a_restarted_job_continues_from_its_last_commit(tmp_path):
    command = ["ddlrun", "--oversubscribe", "-n", "2", "--max-restarts", "1", "--log-dir", tmp_path / "logs"]
    program = [sys.executable, "-B", rank_job.HERE / "ranks/elastic.py"]
    environment = {**os.environ, "TUTTI_TUNING_CACHE": "none"}
    done = subprocess.run(
        [*command, *program], env=environment, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path
    )
    said = [line for line in done.stdout.splitlines() if "with batch" in line]
    assert done.returncode == 0, done.stdout + done.stderr
    wanted = ["begins with batch 0", "begins with batch 3", "ends with batch 6"]
    assert len(said) == 3 and all(line.endswith(end) for line, end in zip(said, wanted)), said
