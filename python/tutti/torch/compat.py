"""Differences between torch 1.13 and 2.x."""

import os

import torch
import torch.distributed as dist

VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])


def register_backend(name, create):
    """Register a backend for tensors in host memory, with the extended API."""
    devices = {"devices": ["cpu"]} if VERSION >= (2, 0) else {}
    dist.Backend.register_backend(name, create, extended_api=True, **devices)


def backend_of(group):
    """Return the backend of a process group, or of the default group, for tensors in host memory."""
    group = group or dist.distributed_c10d._get_default_group()
    return group._get_backend(torch.device("cpu")) if VERSION >= (2, 0) else group


def name_of_backend(group):
    """Return the name of the backend for tensors in host memory, None if the group has no such backend."""
    if VERSION < (2, 0):
        return dist.get_backend(group)
    try:
        return backend_of(group).name()
    except RuntimeError:
        return None


def choose_store_server():
    """Set USE_LIBUV=0 if torch lacks libuv, which it uses for its store by default, and the user has not chosen."""
    if VERSION < (2, 4) or "USE_LIBUV" in os.environ:
        return
    try:
        dist.TCPStore("localhost", 0, 1, True, wait_for_workers=False, use_libuv=True)
    except RuntimeError as error:
        if "libuv" in str(error):
            os.environ["USE_LIBUV"] = "0"
