"""Keras callbacks and TensorFlow estimator hooks under DDL's names.

The classes derive from the Keras or TensorFlow classes that the program has imported, and are created on first use;
this module imports neither. Models need only `get_weights` and `set_weights`. The callbacks are tested with a minimal
Keras-like model, because TensorFlow is not available in Debian.
"""

import sys

import ddl


def _base(module_names, class_name):
    """Return the class `class_name` of the first imported module in `module_names`, else object."""
    for name in module_names:
        found = getattr(sys.modules.get(name), class_name, None)
        if found is not None:
            return found
    return object


def _keras_callback():
    return _base(("keras.callbacks", "tensorflow.keras.callbacks", "tf_keras.callbacks"), "Callback")


class _GlobalVariables:
    """Callback that broadcasts the weights of rank `root` to all ranks when training begins.

    Parameters
    ----------
    root : int, optional
        Rank whose weights are sent.
    """

    def __init__(self, root=0):
        super().__init__()
        self._root = root
        self._done = False

    def on_train_begin(self, logs=None):
        if not self._done:
            self.model.set_weights(ddl.bcast(list(self.model.get_weights()), self._root))
            self._done = True


class _Metrics:
    """Callback that averages the logs over all ranks at the end of each epoch.

    All ranks then take the same decisions, for example in early stopping.
    """

    def on_epoch_end(self, epoch, logs=None):
        if not logs:
            return
        names = sorted(name for name, value in logs.items() if isinstance(value, (int, float)) or hasattr(value, "dtype"))
        for name, value in zip(names, ddl.allreduce_n([float(logs[name]) for name in names])):
            logs[name] = float(value)


class _Hook:
    """Estimator hook that broadcasts the variables of rank `root` to all ranks after the session is created.

    Parameters
    ----------
    root : int, optional
        Rank whose variables are sent.
    """

    def __init__(self, root=0):
        super().__init__()
        self._root = root

    def after_create_session(self, session, coord=None):
        variables = session.graph.get_collection("trainable_variables")
        values = ddl.bcast([session.run(variable) for variable in variables], self._root)
        for variable, value in zip(variables, values):
            variable.load(value, session)


def __getattr__(name):
    hook = ("tensorflow.estimator", "tensorflow.compat.v1.train", "tensorflow.train")
    kinds = {
        "DDLGlobalVariablesCallback": (_GlobalVariables, _keras_callback),
        "DDLCallback": (_Metrics, _keras_callback),
        "DDLGlobalVariablesHook": (_Hook, lambda: _base(hook, "SessionRunHook")),
        "DDLGlobalVariableHook": (_Hook, lambda: _base(hook, "SessionRunHook")),
    }
    if name not in kinds:
        raise AttributeError(f"module 'ddl.keras' has no attribute {name!r}")
    behaviour, base = kinds[name]
    return type(name, (behaviour, base()), {"__doc__": behaviour.__doc__})
