"""tutti.horovod.torch on 1 to 3 ranks."""

import pytest
import rank_job


@pytest.mark.parametrize("size", [1, 2, 3])
def test_collectives(size):
    for output in rank_job.run("horovod_ops.py", size):
        assert "all passed" in output


@pytest.mark.parametrize("size", [1, 2, 3])
def test_training(size):
    for output in rank_job.run("horovod_training.py", size):
        assert "all passed" in output
