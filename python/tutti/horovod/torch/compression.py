"""Gradient compression."""

import torch

__all__ = ["Compression"]


class Compressor:
    """Base class of compressors, and the identity.

    Subclasses convert a tensor before the reduction and back afterwards.

    Attributes
    ----------
    codec : str
        Codec that the library applies to float32 data sent between hosts.
    """

    codec = "none"

    @staticmethod
    def compress(tensor):
        """Compress a tensor.

        Returns
        -------
        tensor : torch.Tensor
            Tensor to reduce.
        ctx : object
            Context for `decompress`.
        """
        return tensor, None

    @staticmethod
    def decompress(tensor, ctx):
        """Convert a reduced tensor back to its original dtype and shape."""
        return tensor


class _Narrow(Compressor):
    """Base class of compressors that convert to a narrower floating-point type."""

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
    """float16 between hosts; sums are accumulated in float32."""

    codec = "f16"
    dtype = torch.float16


class _Bf16(_Narrow):
    """bfloat16 between hosts, with the range of float32; sums are accumulated in float32."""

    codec = "bf16"
    dtype = torch.bfloat16


class _Int8(Compressor):
    """int8 quantisation between hosts, with error feedback: the quantisation error is added to the next step."""

    codec = "int8"


class _TopK(Compressor):
    """Top-k sparsification between hosts: the largest 1 % by magnitude; the rest is added to the next step."""

    codec = "topk:0.01"


class Compression:
    """Available compressors: `none`, `fp16`, `bf16`, `int8` and `topk`.

    For float32 tensors the library compresses only the data sent between hosts. Tensors of other types, and custom
    compressors, are converted before the reduction and back afterwards.
    """

    none = Compressor
    fp16 = _Fp16
    bf16 = _Bf16
    int8 = _Int8
    topk = _TopK
