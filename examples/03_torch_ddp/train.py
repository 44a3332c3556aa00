#!/usr/bin/python3
"""Trains on shifted, noisy 28 x 28 images of seven-segment digits with DistributedDataParallel.

Only the import and the backend name "ddl" are specific to Tutti.
"""

import argparse
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import ddl  # noqa: F401: makes the backend known

# Segments of each digit: top, upper left, upper right, middle, lower left, lower right, bottom.
DIGITS = ["1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010", "1111111", "1111011"]
SEGMENTS = [(4, 8, 2, 12), (4, 8, 10, 2), (4, 18, 10, 2), (13, 8, 2, 12), (13, 8, 10, 2), (13, 18, 10, 2), (22, 8, 2, 12)]


def generate(count, seed):
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(10, (count,), generator=generator)
    shifts = torch.randint(-4, 5, (count, 2), generator=generator)
    patterns = torch.zeros(10, 28, 28)
    for digit, lights in enumerate(DIGITS):
        for light, (top, left, height, width) in zip(lights, SEGMENTS, strict=True):
            patterns[digit, top : top + height, left : left + width] += int(light)
    images = [torch.roll(patterns[label], tuple(shift), (0, 1)) for label, shift in zip(labels, shifts.tolist(), strict=True)]
    noise = torch.randn(count, 28, 28, generator=generator)
    return TensorDataset((torch.stack(images).clamp(max=1) + 0.4 * noise).unsqueeze(1), labels)


def network():
    return nn.Sequential(
        nn.Conv2d(1, 16, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 49, 64), nn.ReLU(), nn.Linear(64, 10),
    )  # fmt: skip


def train_epoch(model, optimizer, loader):
    for images, labels in loader:
        optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(model(images), labels).backward()
        optimizer.step()


@torch.no_grad()
def accuracy(model, data):
    """Returns the accuracy over the samples of all ranks."""
    images, labels = (part[dist.get_rank() :: dist.get_world_size()] for part in data.tensors)
    counts = torch.tensor([(model(images).argmax(1) == labels).sum(), len(labels)])
    dist.all_reduce(counts)
    return (counts[0] / counts[1]).item()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default="ddl", help="ddl, or gloo to compare")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--images", type=int, default=3000)
    parser.add_argument("--batch", type=int, default=60, help="of all ranks together")
    options = parser.parse_args()

    dist.init_process_group(options.backend)
    torch.manual_seed(1)
    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", 1)))
    model = DistributedDataParallel(network())
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9)
    data, unseen = generate(options.images, seed=1), generate(500, seed=2)
    sampler = DistributedSampler(data)
    loader = DataLoader(data, options.batch // dist.get_world_size(), sampler=sampler)
    for epoch in range(options.epochs):
        sampler.set_epoch(epoch)
        train_epoch(model, optimizer, loader)
        share = accuracy(model, unseen)
        if dist.get_rank() == 0:
            print(f"epoch {epoch + 1}: {100 * share:.1f} % of unseen digits on {dist.get_world_size()} ranks", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
