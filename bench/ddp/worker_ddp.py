#!/usr/bin/python3
"""A rank of `tutti bench ddp`: torch.distributed with one backend. Commands arrive through a pipe.

  worker_ddp.py BACKEND FOLDER        command-<rank> and reply-<rank> are in FOLDER, see bench/harness/worker_group.h

  reduce MEMORY BYTES ITERATIONS      all_reduce of float32, checked first; answers the seconds of one
  step MODEL VARIANT STEPS            training steps of DistributedDataParallel with SGD; answers the seconds of each
                                      VARIANT: sync, local (no communication), or a form of compression
"""

import os
import sys
import threading
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Residual(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(),
            nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False), nn.BatchNorm2d(outputs),
        )  # fmt: skip
        self.short = nn.Identity()
        if stride > 1 or inputs != outputs:
            self.short = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, images):
        return torch.relu(self.body(images) + self.short(images))


def resnet18():
    """11.7 million parameters, 47 MB of gradients; the images are small, as communication is what is measured."""
    layers = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    inputs = 64
    for outputs, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [Residual(inputs, outputs, stride), Residual(outputs, outputs, 1)]
        inputs = outputs
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000)), (2, 3, 64, 64), 1000


def hep():
    """The network of the particle physics case: 5 convolutions of 128 filters, 2.4 MB of gradients."""
    layers, inputs = [], 3
    for _ in range(5):
        layers += [nn.Conv2d(inputs, 128, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)]
        inputs = 128
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 2)), (4, 3, 64, 64), 2


def wide():
    """Six layers of 2048 x 2048: 100.7 MB of gradients, and little to compute."""
    layers = [layer for _ in range(6) for layer in (nn.Linear(2048, 2048), nn.ReLU())]
    return nn.Sequential(*layers, nn.Linear(2048, 10)), (4, 2048), 10


MODELS = {"resnet18": resnet18, "hep": hep, "wide": wide}


class Trainer:
    def __init__(self, name):
        torch.manual_seed(1)
        network, shape, classes = MODELS[name]()
        self.model = DistributedDataParallel(network)
        self.optimizer = torch.optim.SGD(network.parameters(), 1e-4, momentum=0.9)
        self.inputs = torch.randn(shape, generator=torch.Generator().manual_seed(dist.get_rank()))
        self.labels = torch.randint(classes, (shape[0],))
        for _ in range(3):  # buckets are rebuilt after the first
            self.step()
        self.check()

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        nn.functional.cross_entropy(self.model(self.inputs), self.labels).backward()
        self.optimizer.step()

    def check(self):
        """All ranks have the same weights, though each saw other data."""
        mine = sum(parameter.double().sum() for parameter in self.model.parameters()).detach()
        others = [torch.zeros_like(mine) for _ in range(dist.get_world_size())]
        dist.all_gather(others, mine)
        if any(other != mine for other in others):
            raise RuntimeError("the ranks have different weights")

    def local_step(self):
        with self.model.no_sync():
            self.step()


class Worker:
    def __init__(self, backend):
        self.backend = backend
        self.buffers, self.trainers = {}, {}

    def buffer(self, memory, count):
        if (memory, count) not in self.buffers:
            self.buffers.clear()
            if memory == "library":
                import tutti.torch

                self.buffers[memory, count] = tutti.torch.empty(count)
            else:
                self.buffers[memory, count] = torch.empty(count)
        return self.buffers[memory, count]

    def reduce(self, memory, size, iterations):
        tensor = self.buffer(memory, int(size) // 4)
        indices = torch.arange(tensor.numel(), dtype=torch.float32) % 1021
        torch.mul(indices, dist.get_rank() + 1, out=tensor)
        dist.all_reduce(tensor)
        if not torch.equal(tensor, indices * sum(range(1, dist.get_world_size() + 1))):
            raise RuntimeError("wrong result")
        tensor.zero_()
        dist.all_reduce(tensor)
        dist.barrier()
        begin = time.perf_counter()
        for _ in range(int(iterations)):
            dist.all_reduce(tensor)
        return [(time.perf_counter() - begin) / int(iterations)]

    def step(self, model, variant, steps):
        if model not in self.trainers:
            self.trainers.clear()
            self.trainers[model] = Trainer(model)
        trainer = self.trainers[model]
        if self.backend == "ddl":
            import tutti.torch

            tutti.torch.set_compression("none" if variant in ("sync", "local") else variant)
        step = trainer.local_step if variant == "local" else trainer.step
        step()
        times = []
        for _ in range(int(steps)):
            dist.barrier()
            begin = time.perf_counter()
            step()
            times.append(time.perf_counter() - begin)
        return times


def commands(path):
    """Commands, read by a thread: if the pipe closes, the driver has exited, and this process exits too."""
    lines, arrived = [], threading.Semaphore(0)

    def read():
        with open(path) as pipe:
            for line in pipe:
                lines.append(line.split())
                arrived.release()
                if line.strip() == "quit":
                    return
        os._exit(3)

    threading.Thread(target=read, daemon=True).start()
    while True:
        arrived.acquire()
        command = lines.pop(0)
        if command == ["quit"]:
            return
        yield command


def main():
    backend, folder = sys.argv[1:]
    torch.set_num_threads(1)
    if backend == "ddl":
        import tutti.torch  # noqa: F401: makes the backend known
    dist.init_process_group(backend)
    worker = Worker(backend)
    with open(f"{folder}/reply-{dist.get_rank()}", "w", buffering=1) as replies:
        print("ready", file=replies)
        for name, *arguments in commands(f"{folder}/command-{dist.get_rank()}"):
            try:
                print("times", *getattr(worker, name)(*arguments), file=replies)
            except Exception as error:  # noqa: BLE001: the driver tells it
                print("error", str(error).replace("\n", " "), file=replies)


if __name__ == "__main__":
    main()
