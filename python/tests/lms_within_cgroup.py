"""Trains a network in a new cgroup whose limit is the memory of the process plus a budget.

Usage: lms_within_cgroup.py CGROUP BUDGET MIB, with a budget of 0 for a run without large model support and MIB for what
the limit adds. Prints "done" at the end; the kernel kills the process if it needs more than its limit.
"""

import contextlib
import os
import sys
from pathlib import Path

import torch
from torch import nn

from tutti.lms import LMS

MIB = 1 << 20
cgroup, budget, room = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) * MIB
LIMIT, USAGE = (
    ("memory.max", "memory.current")
    if (cgroup / "memory.max").exists()
    else ("memory.limit_in_bytes", "memory.usage_in_bytes")
)


def train(size, steps):
    layers = [layer for i in range(10) for layer in (nn.Conv2d(16 if i else 3, 16, 3, padding=1), nn.ReLU())]
    model = nn.Sequential(*layers)
    for _ in range(steps):
        model(torch.randn(1, 3, size, size)).square().mean().backward()


torch.set_num_threads(1)
(cgroup / "cgroup.procs").write_text(str(os.getpid()))
train(64, 1)  # libraries and their buffers
(cgroup / LIMIT).write_text(str(int((cgroup / USAGE).read_text()) + room))
with LMS(budget=budget) if budget else contextlib.nullcontext() as lms:
    train(512, 4)
    if budget:
        print("peak", lms.report(as_dict=True)["peak_resident"])
print("done")
