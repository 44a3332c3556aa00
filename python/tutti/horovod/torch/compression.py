"""What travels instead of the gradients."""

import torch

__all__ = ["Compression"]


class Compressor:
    """Subclasses may change a tensor before it is reduced, and back after. `codec`: what the library does by itself, see below."""

    codec = "none"

    @staticmethod
    def compress(tensor):
        """(what is reduced, what `decompress` needs)."""
        return tensor, None

    @staticmethod
    def decompress(tensor, ctx):
        """The tensor as it was given, reduced."""
        return tensor


class _Narrow(Compressor):
    dtype = None

    @classmethod
    def compress(cls, tensor):
        if tensor.is_floating_point() and tensor.dtype != cls.dtype:
            return tensor.to(cls.dtype), tensor.dtype
        return tensor, None

    @staticmethod
    def decompress(tensor, ctx):
        return tensor if ctx is None else tensor.to(ctx)


class _Fp16(_Narrow):
    """float16 between hosts; sums are made in float32."""

    codec = "f16"
    dtype = torch.float16


class _Bf16(_Narrow):
    """bfloat16 between hosts: the range of float32; sums are made in float32."""

    codec = "bf16"
    dtype = torch.bfloat16


class _Int8(Compressor):
    """A byte a value between hosts; what is lost is kept and goes with the next step."""

    codec = "int8"


class _TopK(Compressor):
    """The hundredth of the values with the largest magnitudes between hosts; the others are kept for the next steps."""

    codec = "topk:0.01"


class Compression:
    """The choices. With float32 tensors the library shortens what travels between hosts; other types and own compressors are
    changed before the reduction and back after."""

    none = Compressor
    fp16 = _Fp16
    bf16 = _Bf16
    int8 = _Int8
    topk = _TopK
