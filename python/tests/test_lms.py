"""Large model support for PyTorch: results with and without it, the budget, and the functions of 2019."""

import os
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.utils.checkpoint
from torch import nn

from tutti import lms as tutti_lms
from tutti.lms import LMS

torch.set_num_threads(1)
MIB = 1 << 20


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(3 if i == 0 else 16, 16, 3, padding=1) for i in range(5))
        self.norms = nn.ModuleList(nn.BatchNorm2d(16) for _ in range(5))
        self.head = nn.Linear(16, 10)

    def forward(self, x, is_checkpointed=False):
        for conv, norm in zip(self.convs, self.norms):
            block = nn.Sequential(conv, norm, nn.ReLU(), nn.Dropout(0.1))
            if is_checkpointed and x.requires_grad:
                x = torch.utils.checkpoint.checkpoint(block, x)
            else:
                x = block(x)
        return self.head(x.mean((2, 3)))


def train(steps=5, prepare=lambda model: model, is_checkpointed=False):
    """Returns losses and gradients of all steps as bytes."""
    torch.manual_seed(3)
    model = prepare(Network())
    optimizer = torch.optim.Adam(model.parameters())
    outcome = []
    for _ in range(steps):
        x, y = torch.randn(8, 3, 64, 64), torch.randint(10, (8,))
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x, is_checkpointed), y)
        loss.backward()
        outcome.append(loss.detach().numpy().tobytes())
        outcome.extend(p.grad.numpy().tobytes() for p in model.parameters())
        optimizer.step()
    return outcome


@pytest.fixture(scope="module")
def expected():
    return train()


BUDGET = 16 * MIB  # the network needs about 50 MiB


@pytest.mark.parametrize("options", [{}, {"mode": "full"}, {"sync_mode": 3}, {"swapin_ahead": 2}], ids=str)
def test_bitwise_identical_within_the_budget(expected, options):
    with LMS(budget=BUDGET, **options) as lms:
        assert train() == expected
        report = lms.report(as_dict=True)
        assert report["peak_resident"] <= BUDGET
        assert report["page_ins"] > 0
        assert report["planned_steps"] > 0
        assert report["faults"] == 0
        assert "budget 16.0 MiB" in lms.report()
    assert train() == expected


def test_tiles_do_not_depend_on_the_budget(expected):
    outcomes = []
    for budget in 256 * MIB, 7 * MIB:
        with LMS(budget=budget, lms=64, tiling="512KiB") as lms:
            outcomes.append(train())
            assert lms.report(as_dict=True)["peak_resident"] <= budget
            names = [operator["name"] for operator in lms.trace()["operators"]]
            assert names.count("aten::convolution_backward") > 5
    assert outcomes[0] == outcomes[1]
    losses = [[np.frombuffer(x, dtype=np.float32)[0] for x in steps if len(x) == 4] for steps in (outcomes[0], expected)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-4)
    assert train() == expected


def test_wrapped_models(expected):
    lms = LMS(budget="16MiB")
    try:
        assert train(prepare=lms.wrap) == expected
        assert lms.report(as_dict=True)["page_ins"] > 0
    finally:
        lms.stop()


def test_checkpointed_models():
    expected = train(is_checkpointed=True)
    with LMS(budget=BUDGET) as lms:
        assert train(is_checkpointed=True) == expected
        assert lms.report(as_dict=True)["peak_resident"] <= BUDGET


def test_budget_too_small():
    with LMS(budget=2 * MIB):
        with pytest.raises(RuntimeError, match=r"DDL-5-70 .*2\.00 MiB is too small for aten::.*Raise the budget to"):
            train(1)
        assert torch.ones(10).sum() == 10


def test_everything_fits(expected):
    with LMS() as lms:
        assert train() == expected
        assert lms.report(as_dict=True)["page_ins"] <= 8  # the measurement of the bandwidth


def test_off(expected):
    with LMS(mode="off") as lms:
        assert not tutti_lms.get_enabled_lms()
        assert train(prepare=lms.wrap) == expected


def test_invalid_options():
    with pytest.raises(RuntimeError, match="DDL-1-02"):
        LMS(budget="much")
    with pytest.raises(RuntimeError, match="DDL-1-04"):
        LMS(swapin_behind=2)
    with LMS(budget="64MiB"), pytest.raises(RuntimeError, match="DDL-5-75"):
        LMS(budget="64MiB").start()


def test_trace():
    with LMS(budget="64MiB") as lms:
        train(2)
        names = [operator["name"] for operator in lms.trace()["operators"]]
        assert "aten::conv2d" in names


def test_functions_of_2019(expected):
    tutti_lms.set_limit_lms(BUDGET)
    tutti_lms.set_size_lms(MIB // 2)
    tutti_lms.set_enabled_lms(True)
    assert tutti_lms.get_enabled_lms() and tutti_lms.get_limit_lms() == BUDGET and tutti_lms.get_size_lms() == MIB // 2
    assert train() == expected
    tutti_lms.set_enabled_lms(False)
    assert not tutti_lms.get_enabled_lms()


FORKING = """
import torch, tutti.lms
from torch.utils.data import DataLoader, TensorDataset
torch.set_num_threads(1)
with tutti.lms.LMS(budget="16MiB"):
    data = TensorDataset(torch.arange(1 << 10).float().view(-1, 1).repeat(1, 1 << 10))
    total = sum(batch.sum().item() for (batch,) in DataLoader(data, batch_size=64, num_workers=2))
assert total == sum(range(1 << 10)) * (1 << 10), total
print("same")
"""


def test_workers_of_data_loaders():
    done = subprocess.run([sys.executable, "-c", FORKING], capture_output=True, text=True, timeout=120, env=os.environ)
    assert done.stdout == "same\n", done.stderr


def test_plots_memory_over_time(tmp_path):
    with LMS(budget=BUDGET, autotune_plot=tmp_path / "end.svg") as lms:
        with pytest.raises(RuntimeError, match="DDL-5-77"):
            lms.plot(tmp_path / "early.svg")
        train(prepare=lms.wrap)
        lms.plot(tmp_path / "now.svg")
    for name in ("now.svg", "end.svg"):
        assert (tmp_path / name).read_text().startswith("<svg")


@pytest.fixture
def cgroup():
    """A cgroup with a memory controller."""
    lines = [line.split(":") for line in Path("/proc/self/cgroup").read_text().splitlines()]
    path = next((path for _, controllers, path in lines if "memory" in controllers.split(",")), None)
    root = Path("/sys/fs/cgroup/memory" if path else "/sys/fs/cgroup")
    path = path or next((path for number, _, path in lines if number == "0"), "/")
    created = root / path.lstrip("/") / f"tutti-lms-{os.getpid()}"
    try:
        created.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be created here: {error}")
    if not any((created / name).exists() for name in ("memory.max", "memory.limit_in_bytes")):
        created.rmdir()
        pytest.skip("cgroups have no memory controller here")
    yield created
    created.rmdir()


@pytest.mark.parametrize("budget", [96 * MIB, 0])
def test_budget_holds_within_a_cgroup_limit(cgroup, budget):
    program = Path(__file__).with_name("lms_within_cgroup.py")
    run = subprocess.run([sys.executable, program, cgroup, str(budget), "112"], capture_output=True, text=True)
    if budget:
        assert run.stdout.endswith("done\n"), run.stdout + run.stderr
        assert int(run.stdout.split()[1]) <= budget
    else:
        assert run.returncode == -9, "without large model support, the network needs more than the limit"


class KerasLikeModule(types.ModuleType):
    """The part of Keras 3 that the callback uses. Keras needs a newer torch than Debian 12 has."""

    def __init__(self, backend):
        super().__init__("keras")
        self.backend = types.SimpleNamespace(backend=lambda: backend)
        self.callbacks = types.SimpleNamespace(LambdaCallback=lambda **calls: types.SimpleNamespace(**calls))


def test_keras_callback_enables_it_while_a_model_is_trained(expected, monkeypatch):
    monkeypatch.setitem(sys.modules, "keras", KerasLikeModule("torch"))
    callback = tutti_lms.keras_callback(BUDGET)
    for _ in range(2):
        callback.on_train_begin(logs=None)
        callback.on_train_begin()  # the last training has failed
        assert tutti_lms.get_enabled_lms()
        assert train() == expected
        assert callback.lms.report(as_dict=True)["peak_resident"] <= BUDGET
        callback.on_train_end()
        assert not tutti_lms.get_enabled_lms()


def test_keras_callback_names_the_backend_that_it_needs(monkeypatch):
    monkeypatch.setitem(sys.modules, "keras", KerasLikeModule("tensorflow"))
    with pytest.raises(ValueError, match="torch backend, but the backend is tensorflow.*KERAS_BACKEND=torch"):
        tutti_lms.keras_callback(BUDGET)
