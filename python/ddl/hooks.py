"""Communication hooks for DistributedDataParallel: an alias of `tutti.torch.hooks`."""

from tutti.torch.hooks import *  # noqa: F403
from tutti.torch.hooks import __all__  # noqa: F401
