"""tutti.horovod.torch on 1 to 3 ranks."""

import pytest
import rank_job


@pytest.mark.parametrize("size", [1, 2, 3])
def test_collectives_and_training(size):
    for output in rank_job.run("horovod_all.py", size):
        assert output.count("all passed") == 2
