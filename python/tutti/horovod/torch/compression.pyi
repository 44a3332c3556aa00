from typing import Any

from torch import Tensor

class Compressor:
    codec: str
    @staticmethod
    def compress(tensor: Tensor) -> tuple[Tensor, Any]: ...
    @staticmethod
    def decompress(tensor: Tensor, ctx: Any) -> Tensor: ...

class Compression:
    none: type[Compressor]
    fp16: type[Compressor]
    bf16: type[Compressor]
    int8: type[Compressor]
    topk: type[Compressor]
