"""A Horovod script that trains on images of digits. Only the import is specific to Tutti.

  ddlrun -n 2 python3 train.py [--epochs 3] [--fp16] [--adasum]
"""

import argparse

import torch
import torch.nn.functional as F
from digits import Digits
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

import tutti.horovod.torch as hvd


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=32, help="batch size of each rank")
    parser.add_argument("--lr", type=float, default=0.02, help="learning rate of one rank; multiplied by the number of ranks")
    parser.add_argument("--fp16", action="store_true", help="float16 between hosts")
    parser.add_argument("--adasum", action="store_true", help="combine updates with Adasum instead of averaging gradients")
    return parser.parse_args()


def network():
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 8, 5, stride=2),
        torch.nn.ReLU(),
        torch.nn.Conv2d(8, 16, 5, stride=2),
        torch.nn.ReLU(),
        torch.nn.Flatten(),
        torch.nn.Linear(256, 64),
        torch.nn.ReLU(),
        torch.nn.Linear(64, 10),
    )


def train_epoch(model, optimizer, loader):
    model.train()
    total = 0.0
    for pictures, labels in loader:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(pictures), labels)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return hvd.allreduce(torch.tensor(total / len(loader)), name="loss").item()


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    right = count = 0
    for pictures, labels in loader:
        right += (model(pictures).argmax(1) == labels).sum().item()
        count += len(labels)
    return hvd.allreduce(torch.tensor(right / count), name="accuracy").item()


def main():
    options = arguments()
    hvd.init()
    torch.manual_seed(42 + hvd.rank())  # different weights on every rank, to show that the broadcast matters
    torch.set_num_threads(1)

    training, test = Digits(6000, seed=1), Digits(1000, seed=2)
    sampler = DistributedSampler(training, hvd.size(), hvd.rank())
    loader = DataLoader(training, options.batch_size, sampler=sampler)
    test_loader = DataLoader(test, 250, sampler=DistributedSampler(test, hvd.size(), hvd.rank()))

    model = network()
    scale = 1 if options.adasum else hvd.size()
    optimizer = torch.optim.SGD(model.parameters(), lr=options.lr * scale, momentum=0.9)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    hvd.broadcast_optimizer_state(optimizer, root_rank=0)
    optimizer = hvd.DistributedOptimizer(
        optimizer,
        named_parameters=model.named_parameters(),
        compression=hvd.Compression.fp16 if options.fp16 else hvd.Compression.none,
        op=hvd.Adasum if options.adasum else hvd.Average,
    )

    for epoch in range(options.epochs):
        sampler.set_epoch(epoch)
        loss = train_epoch(model, optimizer, loader)
        reached = accuracy(model, test_loader)
        if hvd.rank() == 0:
            print(f"epoch {epoch + 1}: loss {loss:.4f}, accuracy {reached:.4f}", flush=True)
    if hvd.rank() == 0:
        print(f"ranks {hvd.size()}: accuracy {'reached' if reached >= 0.95 else 'missed'} ({reached:.4f})", flush=True)


if __name__ == "__main__":
    main()
