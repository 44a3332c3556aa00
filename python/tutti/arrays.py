"""Zero-copy access to NumPy arrays, torch tensors and other array types."""

import itertools
import sys

_numbers = itertools.count()


def unnamed():
    """Return a name for an unnamed collective: unique in this process, identical on ranks that make the same calls.

    The name does not contain the kind of operation, because mismatched calls must be matched to be detected.
    """
    return f"unnamed.{next(_numbers)}"


def by_type(name, types):
    """Group arrays by dtype: yield (name of the group, dtype, indices of its members), ordered by first member.

    Groups are numbered instead of named by dtype, so ranks with different dtypes still match and the mismatch is
    detected.
    """
    parts = {}
    for i, kind in enumerate(types):
        parts.setdefault(kind, []).append(i)
    for number, (kind, members) in enumerate(parts.items()):
        yield (f"{name}.{number}" if number else name), kind, members


def is_torch(array):
    """Return whether the array is a torch tensor, without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def plain(array):
    """Return a detached, contiguous view of the array; a copy if it is not contiguous."""
    if is_torch(array):
        return array.detach().contiguous()
    if hasattr(array, "flags") and not array.flags.c_contiguous:
        return array.copy(order="C")
    return array


def empty_like(array):
    """Return an uninitialised array of the same type, dtype and shape."""
    if is_torch(array):
        import torch

        return torch.empty_like(array, memory_format=torch.contiguous_format, requires_grad=False)
    import numpy

    return numpy.empty(numpy.shape(array), dtype=numpy.asarray(array).dtype)


def as_array(value):
    """Convert numbers and lists to NumPy arrays; return arrays and tensors unchanged."""
    if is_torch(value) or hasattr(value, "__dlpack__") or hasattr(value, "__array_interface__"):
        return value
    import numpy

    return numpy.asarray(value)
