"""Trains a network that needs more memory than its budget. The losses are those of the run without a budget."""

import torch
from torch import nn

from tutti.lms import LMS


def block(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU())


def train(steps=5):
    torch.manual_seed(1)
    network = nn.Sequential(block(3, 16), *[block(16, 16) for _ in range(15)], nn.Conv2d(16, 1, 1))
    optimizer = torch.optim.Adam(network.parameters())
    losses = []
    for _ in range(steps):
        x = torch.randn(4, 3, 96, 96)
        loss = (network(x) - x.mean(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


torch.set_num_threads(1)
with LMS(budget="1GiB") as lms:  # everything fits
    expected = train()
    needed = lms.report(as_dict=True)["peak_resident"]

with LMS(budget=needed // 4) as lms:
    losses = train()
    report = lms.report(as_dict=True)

mib = 1 << 20
print(f"without a limit: {needed / mib:.0f} MiB, last loss {expected[-1]:.6f}")
print(f"with a quarter:  {report['peak_resident'] / mib:.0f} MiB, last loss {losses[-1]:.6f}, "
      f"{report['bytes_written'] / mib:.0f} MiB written")
assert losses == expected and report["peak_resident"] <= needed // 4
print("bitwise identical losses")
