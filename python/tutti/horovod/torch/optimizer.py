"""DistributedOptimizer: wraps a torch optimizer to reduce gradients over all ranks.

Gradients are stored in library-allocated memory, in buckets. A hook on every parameter marks its gradient as ready; a
bucket is reduced as soon as all its gradients are ready, while the backward pass continues. `step` waits for the
remaining reductions. After the first step the buckets are reordered once, in the order in which the gradients became
ready on the first rank of the process set.

Sparse gradients, dtypes that the library cannot reduce and gradients with a custom compressor are reduced
individually.
"""

import collections
import contextlib
import itertools
import os
import warnings

import torch

from tutti import _comm
from tutti.horovod.basics import Adasum, Average, Sum, global_process_set
from tutti.horovod.exceptions import as_horovod
from tutti.horovod.torch.compression import Compression
from tutti.horovod.torch.functions import broadcast_object
from tutti.horovod.torch.movement import sparse_allreduce_async
from tutti.horovod.torch.ops import (
    _TYPES,
    allreduce_async_,
    grouped_allreduce_,
    synchronize,
    tensor_at,
)

_numbers = collections.defaultdict(itertools.count)  # number of optimizers by process set; identical on its ranks


def DistributedOptimizer(
    optimizer,
    named_parameters=None,
    compression=Compression.none,
    backward_passes_per_step=1,
    op=Average,
    gradient_predivide_factor=1.0,
    num_groups=0,
    groups=None,
    sparse_as_dense=False,
    process_set=global_process_set,
):
    """Wrap an optimizer so that gradients are reduced over all ranks before each step.

    Reduction runs in buckets and overlaps with the backward pass; `step` waits for it.

    Parameters
    ----------
    optimizer : torch.optim.Optimizer
        Optimizer to wrap.
    named_parameters : iterable of (str, torch.nn.Parameter), optional
        `model.named_parameters()`; its names appear in messages.
    compression : Compressor, optional
        One of `Compression`, or a custom class with `compress` and `decompress`.
    backward_passes_per_step : int, optional
        Gradient accumulation: number of backward passes before the reduction.
    op : ReduceOp, optional
        `Average`, `Sum` or `Adasum`. `Adasum` reduces the parameter updates instead of the gradients.
    gradient_predivide_factor : float, optional
        With `Average`: gradients are divided by this factor before the sum, and by size / factor after it.
    num_groups, groups : optional
        Accepted for compatibility with Horovod and ignored: gradients are always bucketed.
    sparse_as_dense : bool, optional
        Reduce sparse gradients as dense tensors instead of gathering them. The optimizer still gets sparse gradients.
    process_set : ProcessSet, optional
        Participating ranks. On other ranks the optimizer is not changed.

    Returns
    -------
    torch.optim.Optimizer
        An optimizer of a subclass of the class of `optimizer`.

    Raises
    ------
    ValueError
        If an argument is invalid or `named_parameters` is incomplete.

    Examples
    --------
    >>> import torch, tutti.horovod.torch as hvd
    >>> hvd.init()
    >>> model = torch.nn.Linear(2, 1)
    >>> sgd = torch.optim.SGD(model.parameters(), lr=0.1 * hvd.size())
    >>> optimizer = hvd.DistributedOptimizer(sgd, named_parameters=model.named_parameters())
    >>> hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    >>> model(torch.ones(4, 2)).sum().backward()
    >>> optimizer.step()
    """
    if gradient_predivide_factor != 1.0 and op is not Average:
        raise ValueError("DDL-4-96 gradient_predivide_factor requires op=Average.")
    if backward_passes_per_step <= 0:
        raise ValueError("DDL-4-96 backward_passes_per_step must be greater than 0.")
    if op not in (Average, Sum, Adasum):
        raise ValueError(f"DDL-4-96 Unsupported op for gradients: {op}. Use Average, Sum or Adasum.")
    _check_groups(num_groups, groups)
    names = _names(optimizer, named_parameters)
    base = optimizer.__class__
    mixin = _AdasumOptimizer if op is Adasum else _Optimizer
    new = object.__new__(type(base.__name__, (mixin, base), {}))
    new.__dict__.update(optimizer.__dict__)
    new._begin(names, compression, backward_passes_per_step, op, gradient_predivide_factor, sparse_as_dense, process_set)
    return new


def _check_groups(num_groups, groups):
    """Validate `num_groups` and `groups`."""
    is_list = isinstance(groups, list)
    if num_groups < 0 or not (is_list or groups is None or (isinstance(groups, int) and groups > 0)):
        raise ValueError("DDL-4-96 groups must be an integer above 0 or a list of lists of parameters.")
    members = [p for group in groups for p in group] if is_list else []
    if any(not torch.is_tensor(p) for p in members) or len({id(p) for p in members}) < len(members):
        raise ValueError("DDL-4-96 groups must be lists of parameters without duplicates.")


def _names(optimizer, named_parameters):
    """Return the name of each parameter of the optimizer, in the order of the model."""
    own = [p for group in optimizer.param_groups for p in group["params"]]
    if named_parameters is None:
        return {p: f"parameter.{i}" for i, p in enumerate(own)}
    pairs = list(named_parameters)
    if any(not isinstance(pair, tuple) for pair in pairs):
        raise ValueError("DDL-4-97 named_parameters must be pairs (name, parameter), such as model.named_parameters().")
    names = [name for name, _ in pairs]
    duplicates = {name for name in names if names.count(name) > 1}
    if duplicates:
        raise ValueError(f"DDL-4-97 Parameter names must be unique; duplicates: {', '.join(sorted(duplicates))}.")
    known = {id(p) for _, p in pairs}
    missing = [i for i, p in enumerate(own) if id(p) not in known]
    if missing:
        raise ValueError(f"DDL-4-97 named_parameters does not name all parameters of the optimizer; missing: {missing}.")
    mine = {id(p) for p in own}
    return {p: name for name, p in pairs if id(p) in mine}


class _Common:
    """Base class of both optimizers."""

    def _begin(self, names, compression, passes, op, predivide, sparse_as_dense, process_set):
        self.process_set, self._compression, self.op = process_set, compression, op
        self.backward_passes_per_step = passes
        self.gradient_predivide_factor = predivide
        self.sparse_as_dense = sparse_as_dense
        self._parameter_names = names
        self._should_synchronize, self._synchronized = True, False
        process_set._id()  # raises ValueError if the set is not registered
        self._is_alone = not process_set.included() or (process_set.size() == 1 and os.environ.get("HOROVOD_ELASTIC") != "1")
        self._number = next(_numbers[process_set.process_set_id]) if process_set.included() else None

    @contextlib.contextmanager
    def skip_synchronize(self):
        """Context manager in which `step` does not wait for gradients, for use after `synchronize`."""
        self._should_synchronize = False
        try:
            yield
        finally:
            self._should_synchronize = True


class _Optimizer(_Common):
    """Optimizer that reduces gradients."""

    def _begin(self, *arguments):
        super()._begin(*arguments)
        self._order = [p for p in self._parameter_names if p.requires_grad]
        self._ready_order = []  # in the first step: parameters in the order of their gradients
        self._sparse, self._custom = {}, {}  # pending reductions outside the buckets
        self._are_sparse = set()
        self._sparse_dims = {}  # sparse_dim of gradients that are reduced as dense ones
        self._gradients = None
        if self._is_alone:
            return
        for p in self._order:
            self._watch(p)
        self._plan()

    def _watch(self, p):
        """Register a hook that is called when the gradient of a parameter is accumulated."""
        if hasattr(p, "register_post_accumulate_grad_hook"):  # torch 2.1 and later
            p.register_post_accumulate_grad_hook(self._on_gradient)
            return
        node = p.expand_as(p).grad_fn.next_functions[0][0]
        node.register_hook(lambda *_: self._on_gradient(p))
        self._nodes = [*getattr(self, "_nodes", []), node]  # the hook lives as long as its node

    def _uses_buckets(self, p):
        """Return whether the gradient of a parameter is reduced in a bucket instead of individually."""
        plain = getattr(self._compression, "codec", "none") != "none" or self._compression is Compression.none
        return plain and p.dtype in _TYPES and p not in self._are_sparse

    def _plan(self):
        """Allocate the buckets in library memory, in the order of use."""
        old = self._gradients
        members = [p for p in self._order if self._uses_buckets(p)]
        codec = getattr(self._compression, "codec", "none")
        if any(p.dtype != torch.float32 for p in members):
            codec = "none"
        self._gradients = _comm.Gradients(
            [(p.numel(), _comm.DType(_TYPES[p.dtype])) for p in members],
            f"gradients.{self._number}.{len(members)}",
            passes=self.backward_passes_per_step,
            op=self.op.op,
            prescale=1.0 / self.gradient_predivide_factor,
            postscale=self.gradient_predivide_factor,
            compression=codec,
            process_set=self.process_set.process_set_id,
        )
        self._index = {p: i for i, p in enumerate(members)}
        self._views = {}
        for p, i in self._index.items():
            view = tensor_at(self._gradients.gradient(i)[0], tuple(p.shape), p.dtype, self._gradients)
            if old is not None and p.grad is not None:
                view.copy_(p.grad)
                p.grad = view
            self._views[p] = view
        self._passes_left = {p: self.backward_passes_per_step for p in self._order}

    def _on_gradient(self, p):
        if self._passes_left[p] <= 0:
            raise AssertionError(
                "DDL-4-98 Gradients were computed more than backward_passes_per_step times before step(). Increase "
                "backward_passes_per_step to accumulate them."
            )
        self._passes_left[p] -= 1
        if self._ready_order is not None and self._passes_left[p] == 0:
            self._ready_order.append(p)
        if p.grad.is_sparse and self.sparse_as_dense:
            self._make_dense(p)
        if p in self._index and not p.grad.is_sparse:
            self._take(p)
            self._gradients.mark_ready(self._index[p])
        elif self._passes_left[p] == 0:
            self._reduce_individually(p)

    def _make_dense(self, p):
        self._sparse_dims[p] = p.grad.sparse_dim()
        p.grad = p.grad.to_dense()

    def _take(self, p):
        """Move the gradient to its bucket, unless autograd has written it there."""
        view = self._views[p]
        if p.grad.data_ptr() != view.data_ptr():
            view.copy_(p.grad)
            p.grad = view

    def _reduce_individually(self, p):
        """Start the reduction of a gradient outside the buckets."""
        name = f"gradient.{self._number}.{self._parameter_names[p]}"
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        if p.grad.is_sparse:
            self._sparse[p] = sparse_allreduce_async(p.grad, name, self.op, self.process_set)
            if p in self._index:  # it is removed from the buckets before the next step
                self._views[p].zero_()
                self._gradients.mark_ready(self._index[p])
            return
        packed, ctx = self._compression.compress(p.grad)
        scale = self.gradient_predivide_factor
        handle = allreduce_async_(
            packed.contiguous(), name=name, op=self.op, prescale_factor=1 / scale, postscale_factor=scale, process_set=self.process_set
        )
        self._custom[p] = (handle, ctx)

    def synchronize(self):
        """Wait until all gradients are reduced. Parameters without a gradient on this rank contribute zeros."""
        if self._is_alone:
            self._synchronized = True
            return
        for p in self._order:
            is_sent = p in self._sparse or p in self._custom or self._passes_left[p] == 0
            if not is_sent and self.sparse_as_dense and p.grad is not None and p.grad.is_sparse:
                self._make_dense(p)  # the gradient of the last step: there was no backward pass
            if p in self._index and not is_sent:
                if p.grad is None:
                    self._views[p].zero_()
                    p.grad = self._views[p]
                else:
                    self._take(p)
            elif not is_sent:
                self._reduce_individually(p)
        with as_horovod():
            self._gradients.synchronize()
        for p, finish in self._sparse.items():
            p.grad = finish()
        for p, (handle, ctx) in self._custom.items():
            p.grad = self._compression.decompress(synchronize(handle), ctx).view_as(p).to(p.dtype)
        self._next_step()
        for p, dim in self._sparse_dims.items():
            p.grad = p.grad.to_sparse(dim)
        self._synchronized = True

    def _next_step(self):
        self._passes_left = {p: self.backward_passes_per_step for p in self._order}
        if self._ready_order is not None:
            self._reorder_buckets()
        self._sparse, self._custom = {}, {}

    def _reorder_buckets(self):
        """After the first step, order the buckets by the gradients of the first rank and drop sparse gradients."""
        place = {p: i for i, p in enumerate(self._order)}
        ready = [place[p] for p in self._ready_order]
        ready += [i for i, p in enumerate(self._order) if p not in set(self._ready_order)]
        self._ready_order = None
        sparse = [place[p] for p in self._sparse]
        ready, sparse = broadcast_object((ready, sparse), self.process_set.ranks[0], process_set=self.process_set)
        order = [self._order[i] for i in reversed(ready)]
        self._are_sparse = {self._order[i] for i in sparse}
        if any(a is not b for a, b in zip(order, self._order)) or sparse:
            self._order = order
            self._plan()

    def step(self, closure=None):
        """Wait for the reduced gradients, then perform the step of the wrapped optimizer."""
        if self._should_synchronize:
            if self._synchronized:
                warnings.warn(
                    "optimizer.step() called without optimizer.skip_synchronize() after optimizer.synchronize(): gradients are "
                    "reduced a second time. Call step() inside `with optimizer.skip_synchronize():`.",
                    stacklevel=2,
                )
            self.synchronize()
        self._synchronized = False
        return super().step(closure)

    def zero_grad(self, *args, **kwargs):
        """Reset the gradients; raise AssertionError while they are being reduced."""
        if self._gradients is not None and (self._gradients.is_reducing() or self._custom):
            raise AssertionError(
                "DDL-4-99 zero_grad() between backward() and step() or synchronize() would modify gradients in flight."
            )
        return super().zero_grad(*args, **kwargs)

    def set_backward_passes_per_step(self, passes):
        """Set the number of backward passes per step."""
        self.backward_passes_per_step = passes
        if self._gradients is not None:
            self._gradients.set_passes(passes)
            self._passes_left = {p: passes for p in self._order}

    def load_state_dict(self, *args, **kwargs):
        super().load_state_dict(*args, **kwargs)
        self._synchronized, self._should_synchronize = False, True
        if self._gradients is not None:
            self._passes_left = {p: self.backward_passes_per_step for p in self._order}
            self._gradients.set_passes(self.backward_passes_per_step)


class _AdasumOptimizer(_Common):
    """Optimizer that combines parameter updates with Adasum: every rank performs a step with its gradients first."""

    def synchronize(self):
        """Do nothing: no data is sent before the step."""

    def set_backward_passes_per_step(self, passes):
        """Set the number of backward passes per step. Gradients are accumulated until `step` in any case."""
        self.backward_passes_per_step = passes

    def step(self, closure=None):
        """Perform the local step, then replace the update by the combined update of all ranks."""
        if self._is_alone:
            return super().step(closure)
        parameters = [p for p in self._parameter_names if p.requires_grad]
        before = [p.detach().clone() for p in parameters]
        loss = super().step(closure)
        changes = []
        with torch.no_grad():
            for p, start in zip(parameters, before):
                changes.append((p.detach() - start).contiguous())
            packed = [self._compression.compress(change) for change in changes]
            reduced = grouped_allreduce_(
                [t for t, _ in packed], name=f"changes.{self._number}", op=Adasum, process_set=self.process_set
            )
            for p, start, change, (_, ctx) in zip(parameters, before, reduced, packed):
                p.copy_(start + self._compression.decompress(change, ctx))
        return loss
