"""A job whose last rank fails: `kill`, `stop`, `leave`, `late` or `raise`."""

import os
import signal
import sys
import time

import ddl
import numpy as np

what = sys.argv[1]
ddl.init("-stall_seconds 0.5 -timeout 4")
rank, size = ddl.rank(), ddl.size()
for step in range(3):
    ddl.allreduce_n([np.ones(4)], "sum", "gradient")
print("trained", flush=True)
if rank == size - 1:
    if what == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "stop":
        os.kill(os.getpid(), signal.SIGSTOP)
    if what == "raise":
        raise RuntimeError("the data of this rank are broken")
    if what == "leave":
        sys.exit(0)
    if what == "late":
        time.sleep(2)
started = time.monotonic()
try:
    ddl.allreduce_n([np.ones(4)], "sum", "gradient")
    print("went on", flush=True)
except ddl.Error as error:
    print(f"after {time.monotonic() - started:.1f} s: {type(error).__name__} {error}", flush=True)
    sys.exit(3)
