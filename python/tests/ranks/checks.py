"""Runs the functions check_... of the calling program in order, on every rank."""

import sys
import traceback


def run(module):
    """Prints "all passed" at the end; exits with 1 if a check fails."""
    for name, check in list(vars(module).items()):
        if not name.startswith("check_"):
            continue
        try:
            check()
        except Exception:
            print(f"failed: {name}", flush=True)
            traceback.print_exc()
            sys.exit(1)
        print(f"passed: {name}", flush=True)
    print("all passed", flush=True)


def raises(kind, call, *words):
    """Asserts that the call raises an error of that kind whose message contains all the words."""
    try:
        call()
    except kind as error:
        for word in words:
            assert word in str(error), f"{word!r} is not in: {error}"
        return error
    raise AssertionError(f"no {kind} was raised")
