"""ddl and pyddl with NumPy arrays, without torch."""

import sys
from concurrent.futures import ThreadPoolExecutor

import checks
import ddl
import numpy as np
import pyddl

assert "torch" not in sys.modules
ddl.init("-stall_seconds 30")
rank, size = ddl.rank(), ddl.size()


def check_who_i_am():
    assert 0 <= rank < size and ddl.local_rank() == rank and ddl.local_size() == size and ddl.num_hosts() == 1
    assert (pyddl.rank(), pyddl.size()) == (rank, size)


def check_bcast():
    weights = [np.full((2, 3), rank, np.float32), np.array(rank), np.array([rank % 2 == 0])]
    got = ddl.bcast(weights, root=size - 1)
    assert got[0].shape == (2, 3) and (got[0] == size - 1).all()
    assert got[1] == size - 1 and got[2].dtype == np.bool_
    assert (weights[0] == rank).all()


def check_allreduce_n_of_several_types():
    values = [np.full(n, rank + n, kind) for n, kind in ((3, np.float32), (0, np.float32), (5, np.float64), (2, np.int64))]
    sums = ddl.allreduce_n(values, op="sum")
    for n, got, value in zip((3, 0, 5, 2), sums, values):
        assert got.dtype == value.dtype and (got == size * (size - 1) // 2 + size * n).all()
    assert np.allclose(ddl.allreduce(np.float32(rank)), (size - 1) / 2)
    assert ddl.allreduce([rank, 5], op="max").tolist() == [size - 1, 5]
    half = ddl.allreduce(np.ones(7, np.float16))
    assert half.dtype == np.float16 and (half == 1).all()


def check_any_order_with_names():
    names = [f"w{i}" for i in range(6)]
    order = names if rank % 2 else names[::-1]
    for _ in range(3):
        with ThreadPoolExecutor(len(names)) as pool:
            futures = [pool.submit(ddl.allreduce_n, [np.ones(4)], "sum", name) for name in order]
            assert all((future.result()[0] == size).all() for future in futures)


def check_grads_reduce():
    grads = [np.full(4, rank, np.float32), None, np.ones((2, 2))]
    got = ddl.grads_reduce(grads)
    assert np.allclose(got[0], (size - 1) / 2) and got[1] is None and (got[2] == 1).all()
    pairs = ddl.grads_reduce([(np.ones(3), "w"), (None, "b")], average=False)
    assert (pairs[0][0] == size).all() and pairs[0][1] == "w" and pairs[1] == (None, "b")


def check_allgather():
    got = ddl.allgather(np.full((rank, 2), rank, np.int16))
    assert got.dtype == np.int16 and got.shape == (size * (size - 1) // 2, 2)
    assert got[:, 0].tolist() == [r for r in range(size) for _ in range(r)]


def check_wrong_input():
    gaps = np.ones((4, 4), np.float32)[:, ::2]
    assert (ddl.allreduce(gaps, "sum") == size).all()  # copied
    checks.raises(ValueError, lambda: pyddl.allreduce(gaps), "DDL-4-80")
    checks.raises(ValueError, lambda: ddl.allreduce(1.0, op="median"), "DDL-4-87", "median")
    checks.raises(TypeError, lambda: ddl.allreduce(np.array(["text"])), "DDL-4-8")
    checks.raises(TypeError, lambda: pyddl.allreduce(object()), "DDL-4-82")
    foreign = np.ones(3, np.dtype(np.float32).newbyteorder())
    checks.raises(TypeError, lambda: pyddl.allreduce(foreign), "DDL-4-83", "byte order")
    checks.raises(TypeError, lambda: ddl.allreduce(foreign), "DDL-4-83")
    assert ddl.bcast(foreign)[0] == 1
    frozen = np.ones(3, np.float32)
    frozen.flags.writeable = False
    checks.raises((ValueError, BufferError), lambda: pyddl.allreduce(frozen))


def check_disagreement_is_named_and_survived():
    if size == 1:
        return
    call = lambda: ddl.allreduce_n([np.ones(4 + rank // (size - 1))], "sum", "odd")  # noqa: E731
    checks.raises(ddl.Error, call, "DDL-4-71", "odd", f"rank {size - 1} has all_reduce of 5 f64")
    assert ddl.allreduce(1.0, "sum") == size


def check_pyddl_on_library_memory():
    n = 1000
    result, buf = pyddl.malloc(64, 4 * n)
    assert result == pyddl.DDL_SUCCESS and len(buf) >= 4 * n
    host = np.full(n, rank + 1, np.float32)
    pyddl.memcpy_host_to_device(buf, host, 4 * n)
    pyddl.memsync()
    assert pyddl.allreduce(buf, n, pyddl.DDL_TYPE_FLOAT, pyddl.DDL_OP_SUM) == pyddl.DDL_SUCCESS
    pyddl.memcpy_device_to_host(host, buf, 4 * n)
    assert (host == size * (size + 1) / 2).all()
    same_memory = np.frombuffer(buf, np.float32, n)
    assert (same_memory == host).all()
    checks.raises(ValueError, lambda: pyddl.allreduce(buf, 10**9), "do not fit")
    checks.raises(ValueError, lambda: pyddl.allreduce(buf, -1), "DDL-4-01")
    checks.raises(ValueError, lambda: pyddl.allreduce(buf, n, -1), "DDL-4-01", "unknown type -1")
    checks.raises(ValueError, lambda: pyddl.malloc(64, -1), "DDL-4-01")
    checks.raises(ValueError, lambda: pyddl.free(host), "DDL-4-01")
    checks.raises(ValueError, lambda: pyddl.memcpy_device_to_host(host, buf, 4 * n + 4), "DDL-4-01")
    del same_memory
    assert pyddl.free(buf) == pyddl.DDL_SUCCESS


def check_pyddl_on_arrays():
    for kind, dtype in ((pyddl.DDL_TYPE_DOUBLE, np.float64), (pyddl.DDL_TYPE_INT32, np.int32), (pyddl.DDL_TYPE_UINT8, np.uint8)):
        array = np.full(10, 2, dtype)
        pyddl.allreduce(array, 10, kind, pyddl.DDL_OP_PRODUCT)
        assert (array == 2**size).all()
        checks.raises(ValueError, lambda a=array: pyddl.allreduce(a, 10, pyddl.DDL_TYPE_HALF), "DDL-4-01")
    part = np.zeros(5)
    part[:] = rank
    pyddl.allreduce(part, 2, op=pyddl.DDL_OP_MAX)
    assert part.tolist() == [size - 1, size - 1, rank, rank, rank]
    pyddl.bcast(part)
    assert part.tolist() == [size - 1, size - 1, 0, 0, 0]
    pyddl.barrier()


def check_keras_callbacks():
    class Model:
        weights = [np.full(3, rank, np.float32)]

        def get_weights(self):
            return self.weights

        def set_weights(self, weights):
            self.weights = weights

    callback = ddl.DDLGlobalVariablesCallback()
    callback.model = Model()
    callback.on_train_begin()
    assert (callback.model.weights[0] == 0).all()
    logs = {"loss": float(rank), "name": "x"}
    ddl.DDLCallback().on_epoch_end(0, logs)
    assert logs == {"loss": (size - 1) / 2, "name": "x"}
    assert ddl.DDLGlobalVariablesHook and ddl.DDLGlobalVariableHook


def check_no_torch_until_now():
    assert "torch" not in sys.modules


def check_after_the_end():
    pyddl.finalize()
    checks.raises(ValueError, pyddl.rank, "DDL-4-60")


checks.run(sys.modules[__name__])
