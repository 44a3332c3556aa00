"""Arrays of NumPy, torch and other frameworks, as the library wants them: memory without copies."""

import itertools
import sys

_numbers = itertools.count()


def unnamed():
    """A name that no other call of this program has; the same on all ranks that make the same calls.

    Not the call's kind: ranks that make different calls must meet, to be told.
    """
    return f"unnamed.{next(_numbers)}"


def by_type(name, types):
    """Members of one type go together: (name of the part, its type, its members) in the order of the first members.

    Parts are counted, so that ranks whose types differ meet too.
    """
    parts = {}
    for i, kind in enumerate(types):
        parts.setdefault(kind, []).append(i)
    for number, (kind, members) in enumerate(parts.items()):
        yield (f"{name}.{number}" if number else name), kind, members


def is_torch(array):
    """Whether the array is a torch tensor, without importing torch for the question."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(array, torch.Tensor)


def plain(array):
    """The same memory, such that it can be lent: contiguous, without gradient. A copy where it has gaps."""
    if is_torch(array):
        return array.detach().contiguous()
    if hasattr(array, "flags") and not array.flags.c_contiguous:
        return array.copy(order="C")
    return array


def empty_like(array):
    """An array of the same kind, type and shape."""
    if is_torch(array):
        import torch

        return torch.empty_like(array, memory_format=torch.contiguous_format, requires_grad=False)
    import numpy

    return numpy.empty(numpy.shape(array), dtype=numpy.asarray(array).dtype)


def as_array(value):
    """Numbers and lists become NumPy arrays; arrays stay what they are."""
    if is_torch(value) or hasattr(value, "__dlpack__") or hasattr(value, "__array_interface__"):
        return value
    import numpy

    return numpy.asarray(value)
