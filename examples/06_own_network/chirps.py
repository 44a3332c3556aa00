"""Generates a data set and a TorchScript model for `tutti train`: detection of gravitational-wave chirps in noise.

  chirps.py FOLDER    writes train.h5, test.h5 and net.pt to the directory
"""

import sys
from pathlib import Path

import h5py
import numpy
import torch
from torch import nn

SAMPLES = 512  # per second of strain


def chirp(random):
    """Returns a chirp: frequency and amplitude grow as the bodies approach, and it ends with the merger."""
    merger, mass = random.uniform(0.6, 0.95), random.uniform(0.7, 1.4)
    left = numpy.maximum(merger - numpy.arange(SAMPLES) / SAMPLES, 0)
    phase = -2 * numpy.pi * 60 / mass * left ** (5 / 8) + random.uniform(0, 2 * numpy.pi)
    return numpy.where(left > 0, numpy.maximum(left, 0.01) ** -0.25 * numpy.cos(phase), 0)


def write(path, count, seed):
    random = numpy.random.default_rng(seed)
    labels = random.integers(0, 2, count)
    strains = random.standard_normal((count, 1, SAMPLES))
    strains[:, 0] += numpy.array([label * 0.6 * chirp(random) for label in labels])
    with h5py.File(path, "w") as file:
        file["data"] = strains.astype(numpy.float32)
        file["label"] = labels.astype(numpy.int64)


def network():
    def block(inputs, outputs):
        return [nn.Conv1d(inputs, outputs, 9, stride=2, padding=4), nn.BatchNorm1d(outputs), nn.ReLU()]

    blocks = [*block(1, 16), *block(16, 32), *block(32, 32), *block(32, 32)]
    return nn.Sequential(*blocks, nn.AdaptiveMaxPool1d(4), nn.Flatten(), nn.Linear(128, 2))


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(1)
    torch.jit.script(network()).save(folder / "net.pt")
    write(folder / "train.h5", 4000, seed=1)
    write(folder / "test.h5", 1000, seed=2)
