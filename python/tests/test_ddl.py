"""ddl and pyddl on 1 to 3 ranks without torch, with killed and stalled ranks; the torch backend."""

import subprocess
import sys

import pytest
import rank_job


@pytest.mark.parametrize("size", [1, 2, 3])
def test_numpy(size):
    for output in rank_job.run("numpy_ranks.py", size):
        assert "all passed" in output


def test_backend_is_registered_when_torch_is_imported_later():
    program = "import ddl, sys; assert 'torch' not in sys.modules; import torch; assert hasattr(torch.distributed.Backend, 'DDL')"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)


def outcome(what, size=3, ends_itself=True):
    """Returns exit codes and outputs of the ranks that did not fail."""
    processes = rank_job.start("faulty.py", size, what)
    results = rank_job.finish(processes[:-1], 60)
    if not ends_itself:
        processes[-1].kill()
    rank_job.finish(processes[-1:], 60)
    return results


def test_a_killed_rank_is_named():
    for code, output in outcome("kill"):
        assert code == 3, output
        assert "CommError" in output and "DDL-4-04 Rank 2" in output


def test_a_rank_that_ends_early_is_named():
    for code, output in outcome("leave"):
        assert code == 3, output
        assert "DDL-4-74 Rank 2 has shut down" in output


def test_an_exception_on_one_rank_is_reported_on_all():
    for code, output in outcome("raise"):
        assert code == 3, output
        assert "cannot continue: RuntimeError: the data of this rank are broken" in output


def test_a_stopped_rank_is_named_and_the_tensor_fails():
    results = outcome("stop", ends_itself=False)
    for code, output in results:
        assert code == 3, output
        assert "DDL-4-73 Tensor 'gradient' was not submitted by rank 2" in output
    assert "DDL-4-72 Tensor 'gradient' has been waiting" in results[0][1]


def test_a_late_rank_is_reported_and_awaited():
    results = outcome("late")
    assert all(code == 0 and "went on" in output for code, output in results), results
    assert "rank 2 did not submit it" in results[0][1]


def test_the_page_of_the_engine_has_its_options():
    from tutti import _comm

    rows = _comm.fusion_options().splitlines()[2:]
    page = (rank_job.HERE.parents[1] / "docs/use/fusion.md").read_text()
    assert "\n".join(rows) in page
