"""Callbacks for Keras, and hooks for estimators, under DDL's names.

They are made of whatever Keras the program has, when they are first used; nothing is imported before. What they do needs only
`get_weights` and `set_weights` of the model and an optimizer with a learning rate. No TensorFlow can be installed where this
library is tested, so they are tested with a small Keras-shaped model.
"""

import sys

import ddl


def _base(module_names, class_name):
    """The class of that name in the first of the modules that the program has imported, else object."""
    for name in module_names:
        found = getattr(sys.modules.get(name), class_name, None)
        if found is not None:
            return found
    return object


def _keras_callback():
    return _base(("keras.callbacks", "tensorflow.keras.callbacks", "tf_keras.callbacks"), "Callback")


class _GlobalVariables:
    """At the beginning of training all ranks take the weights of rank `root`."""

    def __init__(self, root=0):
        super().__init__()
        self._root = root
        self._done = False

    def on_train_begin(self, logs=None):
        if not self._done:
            self.model.set_weights(ddl.bcast(list(self.model.get_weights()), self._root))
            self._done = True


class _Metrics:
    """At the end of each epoch the logs become the averages over all ranks, so that all ranks decide alike."""

    def on_epoch_end(self, epoch, logs=None):
        if not logs:
            return
        names = sorted(name for name, value in logs.items() if isinstance(value, (int, float)) or hasattr(value, "dtype"))
        for name, value in zip(names, ddl.allreduce_n([float(logs[name]) for name in names])):
            logs[name] = float(value)


class _Hook:
    """For estimators: after the session was made all ranks take the variables of rank `root`."""

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
