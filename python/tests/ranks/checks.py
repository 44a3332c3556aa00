"""Runs the functions named check_... of the calling program, one after the other, on every rank."""

import sys
import traceback


def run(module):
    """Says "all passed" at the end; ends the program with 1 when one fails."""
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
    """The call must raise an error of that kind that says all the words."""
    try:
        call()
    except kind as error:
        for word in words:
            assert word in str(error), f"{word!r} is not in: {error}"
        return error
    raise AssertionError(f"no {kind} was raised")
