#!/usr/bin/python3
"""Networks and data of the user: common mistakes, and runs that outlive the files they were started with.

  train_own_network_test.py TUTTI
"""

import csv
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import h5py
import numpy

TUTTI = None
NOBODY = 65534

NETWORKS = """
import sys, torch
from torch import nn
torch.manual_seed(1)
def save(name, network):
    torch.jit.script(network).save(f"{sys.argv[1]}/{name}.pt")
def dense(outputs):
    return nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, outputs))
class NoForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)
    @torch.jit.export
    def other(self, x):
        return self.layer(x)
class Buffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 3)
        self.register_buffer("order", torch.arange(4))
        self.register_buffer("count", torch.tensor(2 ** 40 + 1))
        self.register_buffer("scale", torch.full((4,), 1 / 3, dtype=torch.float64))
    def forward(self, x):
        if self.training:
            self.count.add_(1)
        return self.layer((x * self.scale)[:, self.order].float())
for outputs in (1, 2, 3):
    save(f"dense{outputs}", dense(outputs))
save("double", dense(3).double())
save("pixels", nn.Conv2d(1, 2, 3, padding=1))
save("no_forward", NoForward())
save("buffers", Buffers())
torch.save(dense(3).state_dict(), f"{sys.argv[1]}/weights.pt")
"""


class OwnNetworkTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.base = Path(cls.folder.name)
        cls.base.chmod(0o755)
        cls.environment = {**os.environ, "XDG_CACHE_HOME": str(cls.base / "cache"), "TUTTI_TUNING_CACHE": "none"}
        (cls.base / "networks.py").write_text(NETWORKS)  # TorchScript reads the source of classes
        subprocess.run(["/usr/bin/python3", cls.base / "networks.py", cls.base], check=True)
        cls.x = numpy.random.default_rng(1).normal(size=(96, 4)).astype("f4")
        cls.y = (cls.x[:, 0] > 0).astype("i8") + (cls.x[:, 1] > 0)
        cls.write("good", cls.x, cls.y)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def write(cls, name, inputs, targets):
        """A directory of samples: 64 to train on, 16 for validation, 16 to test."""
        folder = cls.base / name
        folder.mkdir()
        for kind, rows in (("train", slice(0, 64)), ("val", slice(64, 80)), ("test", slice(80, 96))):
            with h5py.File(folder / f"{kind}.h5", "w") as file:
                file["data"], file["label"] = inputs[rows], targets[rows]
        return folder

    def tutti(self, *arguments, code=0, cwd=None, before=()):
        done = subprocess.run([*before, TUTTI, *map(str, arguments)], env=self.environment, capture_output=True, text=True,
                              timeout=100, cwd=cwd)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def train(self, network, data, *settings, code=0, ranks=2, **others):
        settings = [word for setting in ("batch=8", "epochs=2", f"runs={self.base}/runs", *settings) for word in ("--set", setting)]
        return self.tutti("train", "--model", self.base / f"{network}.pt", "--ranks", ranks, "--set", f"data={data}", *settings,
                          code=code, **others)

    def run_of(self, output):
        return Path(output.split("run: ")[1].split("\n")[0])

    def rejects(self, network, data, settings, *parts, code=1):
        """The run ends with all `parts` in one message, not in one per rank, and leaves no directory."""
        output = self.train(network, data, *settings, f"runs={self.base}/refused", code=code)
        for part in parts:
            self.assertIn(part, output)
        self.assertEqual(output.count("DDL-"), 1, output)
        self.assertEqual(list((self.base / "refused").glob("*")), [])

    def test_targets_that_do_not_fit_the_loss(self):
        x, y = self.x, self.y
        binary = ["loss=binary_cross_entropy"]
        self.rejects("dense3", self.write("numbers", x, x[:, 0] % 1), [], "numbers/train.h5: row 0 ", "'label'", "mean_squared")
        self.rejects("dense3", self.write("from_1", x, y + 1), [], f"from_1/train.h5: row {list(y).index(2)} ", "from 0 to 2")
        late = y.copy()
        late[90] = -1
        self.rejects("dense3", self.write("late", x, late), [], "late/test.h5: row 10 (from 0)", "is -1")
        self.rejects("dense1", self.write("signs", x, numpy.where(y > 0, 1, -1)), binary, "signs/train.h5: row ", "is -1")
        self.rejects("dense1", self.write("twos", x, 2 * (y > 0)), binary, "twos/train.h5: row ", "is 2")
        self.rejects("dense3", self.write("column", x, y[:, None]), [], "column/train.h5", "shape (1)", "labels[:, 0]")
        self.rejects("dense3", self.write("one_hot", x, numpy.eye(3)[y]), [], "one_hot/train.h5", "shape (3)", "numpy.argmax")
        self.rejects("dense3", self.write("words", x, numpy.array([b"a", b"b", b"c"])[y]), [], "words/train.h5", "text")
        self.rejects("dense1", self.base / "good", [], "at least 2", code=2)
        self.rejects("dense2", self.write("three", x, x[:, :3]), ["loss=mean_squared"], "shape (3)", "needs (2)")

    def test_inputs_that_do_not_fit(self):
        self.rejects("dense3", self.write("narrow", self.x[:, :3], self.y), [], "narrow/train.h5", "'data'", "(2, 3)", "(8, 4)", code=2)
        for row, place in ((7, "train.h5: row 7 "), (65, "val.h5: row 1 "), (95, "test.h5: row 15 ")):
            bad = self.x.copy()
            bad[row, 2] = numpy.nan
            self.rejects("dense3", self.write(f"nan{row}", bad, self.y), [], f"nan{row}/{place}", "'data'", "nan")
        self.rejects("dense3", self.base / "none", [], f"{self.base}/none: No such file or directory")
        self.rejects("no_forward", self.base / "good", [], "no method `forward`", code=2)
        self.rejects("weights", self.base / "good", [], "torch.save", "torch.jit.script")

    def test_metrics_are_of_each_output(self):
        images = numpy.random.default_rng(2).normal(size=(96, 1, 6, 6)).astype("f4")
        output = self.train("pixels", self.write("pixels", images, images[:, 0] > 0), ranks=1)
        self.assertLessEqual(float(output.split("On the test set:  accuracy ")[1].split()[0]), 1)
        output = self.train("dense2", self.write("two", self.x, self.x[:, :2] + (1000, 0)), "loss=mean_squared")
        self.assertRegex(output, r"explained \S+  loss \S+  explained_0 \S+  explained_1 ")

    def test_a_run_outlives_the_files_it_was_started_with(self):
        work = self.base / "work"
        work.mkdir()
        shutil.copy(self.base / "dense3.pt", work / "net.pt")
        (work / "mine.toml").write_text('case = "script"\nmodel = "net.pt"\ndata = "../good"\nbatch = 8\nepochs = 2\nruns = "runs"\n')
        run = work / self.run_of(self.tutti("train", "mine.toml", "--ranks", 2, cwd=work))
        before = self.tutti("evaluate", run, "--ranks", 1, cwd="/")
        shutil.copy(self.base / "pixels.pt", work / "net.pt")  # saved again, as another network
        self.assertEqual(self.tutti("evaluate", run, "--ranks", 1, cwd="/"), before)
        (work / "net.pt").unlink()
        self.assertEqual(self.tutti("evaluate", run, "--ranks", 1, cwd="/"), before)
        self.tutti("export", run, "-o", work / "trained.pt", cwd="/")
        self.tutti("train", "--resume", run, "--ranks", 2, "--set", "epochs=3", cwd="/")
        shutil.move(run, work / "moved")
        self.tutti("predict", work / "moved", self.base / "good/test.h5", "-o", work / "out.csv", cwd="/")
        self.assertIn("DDL-1-77", self.tutti("train", "--resume", work / "moved", "--model", self.base / "dense3.pt", code=2))

    def test_predictions_are_those_of_the_exported_network(self):
        run = self.run_of(self.train("buffers", self.base / "good", "precision=bf16"))
        self.tutti("export", run, "-o", self.base / "buffers_trained.pt")
        self.tutti("predict", run, self.base / "good/test.h5", "-o", self.base / "buffers.csv")
        check = ("import sys, csv, h5py, torch; m = torch.jit.load(sys.argv[1]).eval();"
                 "y = m(torch.tensor(h5py.File(sys.argv[2])['data'][:]));"
                 "rows = list(csv.reader(open(sys.argv[3])))[1:];"
                 "assert torch.allclose(y, torch.tensor([[float(v) for v in r] for r in rows]), 1e-5, 1e-5);"
                 "assert m.scale.dtype == torch.float64 and (m.scale == 1 / 3).all(), m.scale;"
                 "assert m.order.tolist() == [0, 1, 2, 3], m.order;"
                 "assert m.count.item() > 2 ** 40 + 1 and m.count.item() <= 2 ** 40 + 9, m.count")
        subprocess.run(["/usr/bin/python3", "-c", check, self.base / "buffers_trained.pt", self.base / "good/test.h5",
                        self.base / "buffers.csv"], check=True)
        self.train("double", self.base / "good")  # becomes f32

    def test_a_full_disk_leaves_no_file(self):
        run = self.run_of(self.train("dense3", self.base / "good", ranks=1))
        self.assertIn("No space left on device", self.tutti("export", run, "-o", "/dev/full", code=1))
        self.assertIn("No space left on device", self.tutti("predict", run, self.base / "good/test.h5", "-o", "/dev/full", code=1))
        if subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True).returncode != 0:
            self.skipTest("mounts are not allowed here")
        script = ('mount -t tmpfs -o size=8k none /mnt && head -c 4096 /dev/zero >/mnt/full && "$1" export "$2" -o /mnt/net.pt; '
                  'echo "code $?"; ls /mnt')
        done = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", TUTTI, run], env=self.environment, capture_output=True, text=True)
        self.assertIn("No space left on device", done.stderr)
        self.assertEqual(done.stdout.split(), ["code", "1", "full"])

    def test_folders_of_other_users(self):
        if os.getuid() != 0:
            self.skipTest("only root can become another user")
        run = self.run_of(self.train("dense3", self.base / "good", ranks=1))
        other = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--"]
        before = sorted(path.stat().st_mtime_ns for path in run.rglob("*"))
        self.assertIn("accuracy", self.tutti("evaluate", run, "--ranks", 1, before=other))
        self.assertEqual(sorted(path.stat().st_mtime_ns for path in run.rglob("*")), before)
        self.assertIn("Permission denied", self.tutti("train", "--resume", run, "--ranks", 1, before=other, code=1))
        for path in (self.base / "good/train.h5", self.base / "good", run / "checkpoints/best.ckpt", run / "config.toml"):
            mode = path.stat().st_mode
            path.chmod(0)
            output = subprocess.run([*other, TUTTI, "evaluate", run, "--ranks", "1"], env=self.environment, capture_output=True, text=True)
            path.chmod(mode)
            self.assertNotEqual(output.returncode, 0)
            self.assertIn("Permission denied", output.stderr, path)
            self.assertIn(str(path), output.stderr)

    def test_two_runs_fill_an_empty_cache(self):
        arguments = [TUTTI, "train", "hep", "--size", "tiny", "--ranks", "2", "--set", "steps=1", "--set", f"runs={self.base}/array"]
        jobs = [subprocess.Popen(arguments, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                for _ in range(3)]
        for job in jobs:
            output = job.communicate(timeout=100)[0]
            self.assertEqual(job.returncode, 0, output)
        self.assertEqual(list(self.base.glob("cache/tutti/*/*.part")), [])

    def test_one_process_trains_a_run(self):
        arguments = [TUTTI, "train", "--model", str(self.base / "dense3.pt"), "--ranks", "1", "--set", f"data={self.base}/good",
                     "--set", "epochs=1e6", "--set", "evaluate_every=1000000", "--set", f"runs={self.base}/locked"]
        first = subprocess.Popen(arguments, env=self.environment, stdout=subprocess.PIPE, text=True)
        run = next(self.run_of(line) for line in first.stdout if line.startswith("run: "))
        output = self.tutti("train", "--resume", run, "--ranks", 1, code=1)
        self.assertIn("DDL-7-97", output)
        self.assertIn(f"process {first.pid} on ", output)
        first.terminate()
        first.communicate(timeout=60)
        with (run / "metrics.csv").open() as file:
            steps = [int(row["step"]) for row in csv.DictReader(file)]
        self.assertEqual(steps, list(range(1, len(steps) + 1)))


if __name__ == "__main__":
    TUTTI = sys.argv.pop(1)
    unittest.main()
