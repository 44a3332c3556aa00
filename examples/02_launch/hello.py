"""Prints the environment of a rank. Start it with: ddlrun hello.py"""

import os

rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
print(f"rank {rank} of {size} on {os.uname().nodename}, cores {sorted(os.sched_getaffinity(0))}, "
      f"rank 0 at {os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}")
