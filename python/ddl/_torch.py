"""Deferred registration of the torch.distributed backend `ddl`.

Importing torch takes far longer than importing `ddl`, so the backend is registered only once the program itself
imports torch.
"""

import importlib.abc
import importlib.util
import sys


def register_on_import():
    """Register the backend now if torch is imported, otherwise on its import."""
    if "torch" in sys.modules:
        _register()
    elif not any(isinstance(finder, _TorchImportHook) for finder in sys.meta_path):
        sys.meta_path.insert(0, _TorchImportHook())


def _register():
    try:
        import tutti.torch  # noqa: F401  registers itself
    except ImportError:
        pass  # built without libtorch, or torch without torch.distributed


class _TorchImportHook(importlib.abc.MetaPathFinder):
    """Import hook that waits for `import torch`, then removes itself."""

    def find_spec(self, name, path=None, target=None):
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        if spec and spec.loader:
            spec.loader = _RegisteringLoader(spec.loader)
        return spec


class _RegisteringLoader(importlib.abc.Loader):
    """Loader that registers the backend after it has executed the torch module."""

    def __init__(self, loader):
        self._loader = loader

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module):
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        _register()
