"""Runs a long command with its output in a log file, and shows its progress."""

import re
import subprocess
import sys
import time

COUNT = re.compile(r"^\s*\[?(\d+)/(\d+)\]?\s")  # ninja: [3/40] ...; ctest: 3/40 Test #7 ...
EVERY_SECONDS = 30  # interval between lines if the output is not a terminal


def minutes(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


class Progress:
    """A progress line that is rewritten on a terminal, and printed every EVERY_SECONDS elsewhere."""

    def __init__(self, label, stream=sys.stdout):
        self.label, self.stream = label, stream
        self.start = self.shown = time.monotonic()
        self.is_terminal = stream.isatty()

    def update(self, done, total):
        now = time.monotonic()
        if now - self.shown < (0.5 if self.is_terminal else EVERY_SECONDS):
            return
        self.shown = now
        elapsed = now - self.start
        left = elapsed / done * (total - done) if done else 0
        text = f"{self.label}: {100 * done // total:3} %  {minutes(elapsed)}, about {minutes(left)} left"
        print(f"\r\033[K{text}" if self.is_terminal else text, end="" if self.is_terminal else "\n", file=self.stream, flush=True)

    def finish(self, text):
        start = "\r\033[K" if self.is_terminal else ""
        print(f"{start}{self.label}: {text} in {minutes(time.monotonic() - self.start)}", file=self.stream, flush=True)


def run(label, command, log, **options):
    """Runs `command`, appends its output to the file `log`, and returns its exit code."""
    progress = Progress(label)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a", encoding="utf-8", errors="replace") as file:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                   text=True, errors="replace", **options)
        for line in process.stdout:
            file.write(line)
            if match := COUNT.match(line):
                progress.update(int(match.group(1)), max(1, int(match.group(2))))
        code = process.wait()
    progress.finish("done" if code == 0 else f"failed (exit code {code})")
    return code


def relevant_lines(log, most=40):
    """Returns the lines of a log that explain a failure: from the first failed step or error, or else the last ones."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    marks = [at for at, line in enumerate(lines) if re.search(r"^FAILED: |\berror: |^CMake Error", line)]
    start = marks[0] if marks else max(0, len(lines) - most)
    return lines[start : start + most]
