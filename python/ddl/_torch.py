"""Makes the backend `ddl` known to torch.distributed without importing torch before the program does.

A program that only uses NumPy starts in a fraction of the time that torch takes to be imported.
"""

import importlib.abc
import importlib.util
import sys


def register_soon():
    """Now when torch is imported, else as soon as it is."""
    if "torch" in sys.modules:
        _register()
    elif not any(isinstance(finder, _Watcher) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Watcher())


def _register():
    try:
        import tutti.torch  # noqa: F401  registers itself
    except ImportError:
        pass  # built without libtorch, or torch without torch.distributed


class _Watcher(importlib.abc.MetaPathFinder):
    """Waits for `import torch`, then leaves."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        if spec and spec.loader:
            spec.loader = _ThenRegister(spec.loader)
        return spec


class _ThenRegister(importlib.abc.Loader):
    def __init__(self, loader):
        self._loader = loader

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        _register()
