#!/usr/bin/python3
"""Training from the command line to the result, with a rank that is killed on the way.

  train_test.py TUTTI
"""

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import h5py

TUTTI = None
TINY = ["--size", "tiny", "--ranks", "2"]


NETWORK = """
import sys, torch
from torch import nn
torch.manual_seed(1)
class Log(nn.Module):
    def forward(self, x):
        return torch.log1p(x)
network = nn.Sequential(Log(), nn.Conv2d(3, 8, 3, stride=2), nn.BatchNorm2d(8), nn.ReLU(), nn.AdaptiveAvgPool2d(4),
                        nn.Flatten(), nn.Dropout(0.1), nn.Linear(128, 2))
torch.jit.script(network).save(sys.argv[1])
"""

MASKS_CHECK = """
import sys, h5py, numpy, torch
case, script, masks, *files = sys.argv[1:]
if case == "climate-segment":
    rows = [h5py.File(file)["climate/data"][:].transpose(2, 0, 1) for file in files]
else:
    rows = [h5py.File(file)["data"][0] for file in files]
x, network = torch.tensor(numpy.stack(rows)), torch.jit.load(script)
y = network(x)
assert len(y) == 2 and (y[0] - y[1]).abs().max() > 0
assert torch.allclose(network(x[1:])[0], y[1], 1e-3, 1e-4)
likely, best = y[0].max(0)
marked = best if case == "climate-segment" else torch.where(likely > 0.5, torch.tensor([1, 2, 4])[best], 0)
agrees = (marked == torch.tensor(h5py.File(masks)["labels"][0]).long()).float().mean()
assert agrees > 0.999, f"{agrees} of the pixels"  # between two classes rounding decides
"""


class TrainTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.base = Path(cls.folder.name)
        cls.environment = {**os.environ, "XDG_CACHE_HOME": str(cls.base / "cache"), "TUTTI_TUNING_CACHE": "none"}

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def tutti(self, *arguments, code=0):
        done = subprocess.run([TUTTI, *map(str, arguments)], env=self.environment, capture_output=True, text=True, timeout=200)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def run_of(self, output):
        return Path(output.split("run: ")[1].split("\n")[0])

    def started(self, *arguments):
        process = subprocess.Popen([TUTTI, *arguments], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for line in process.stdout:
            if line.startswith("run: "):
                return process, self.run_of(line)
        self.fail("it ended before its first step")

    def rows_of(self, run):
        with (run / "metrics.csv").open() as file:
            return list(csv.DictReader(file))

    def test_from_events_to_result(self):
        output = self.tutti("train", "hep", *TINY, "--set", f"runs={self.base}/runs", "--set", "epochs=12", "--set", "learning_rate=0.01")
        self.assertIn("At the same background the network keeps", output)
        run = self.run_of(output)
        losses = [float(row["loss"]) for row in self.rows_of(run)]
        self.assertLess(sum(losses[-9:]), 0.95 * sum(losses[:9]))
        for name in ("config.toml", "result.json", "plots/loss.svg", "plots/roc.svg", "plots/validation.svg", "checkpoints/best.ckpt"):
            self.assertTrue((run / name).exists(), name)
        self.assertEqual(json.loads((run / "result.json").read_text())["ranks"], 2)
        self.assertRegex(self.tutti("runs", self.base / "runs"), run.name + ".* ratio ")
        self.assertIn("false_rate", self.tutti("evaluate", run, "--ranks", "1"))
        data = next((self.base / "cache/tutti").iterdir()) / "test-000.h5"
        self.tutti("predict", run, data, "-o", self.base / "scores.csv")
        scores = (self.base / "scores.csv").read_text().split()
        self.assertEqual(scores[0], "signal")
        self.assertTrue(all(0 <= float(score) <= 1 for score in scores[1:]))
        self.tutti("export", run, "-o", self.base / "model.pt")
        self.assertGreater((self.base / "model.pt").stat().st_size, 1000)

    def test_killed_and_resumed_is_as_if_never_killed(self):
        settings = [*TINY, "--set", f"runs={self.base}/killed", "--set", "checkpoint_steps=4", "--set", "epochs=6"]
        whole = self.run_of(self.tutti("train", "hep", *settings))
        process, run = self.started("train", "hep", *settings)
        deadline = time.monotonic() + 100
        while len(list(run.glob("checkpoints/step-*.ckpt"))) < 1 and time.monotonic() < deadline:
            time.sleep(0.01)
        ranks = subprocess.run(["pgrep", "-P", str(process.pid)], capture_output=True, text=True).stdout.split()
        os.kill(int(ranks[1]), signal.SIGKILL)
        output = process.communicate(timeout=60)[0]
        self.assertNotEqual(process.returncode, 0)
        self.assertIn(f"tutti train --resume {run}\n", output)
        self.tutti("train", "--resume", run, "--ranks", "2")
        last = sorted(path.name for path in whole.glob("checkpoints/step-*.ckpt"))[-1]
        self.assertEqual((whole / "checkpoints" / last).read_bytes(), (run / "checkpoints" / last).read_bytes())
        steps = [row["step"] for row in self.rows_of(run)]
        self.assertEqual(steps, [str(i + 1) for i in range(len(steps))])

    def test_interrupted_it_loses_nothing(self):
        settings = [*TINY, "--set", f"runs={self.base}/stopped", "--set", "checkpoint_seconds=0", "--set", "epochs=40"]
        whole = self.run_of(self.tutti("train", "hep", *settings))
        process, run = self.started("train", "hep", *settings)
        deadline = time.monotonic() + 100
        while len(self.rows_of(run) if (run / "metrics.csv").exists() else []) < 3 and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        output = process.communicate(timeout=60)[0]
        self.assertEqual(process.returncode, 130, output)
        self.assertIn(f"tutti train --resume {run}", output)
        done = len(self.rows_of(run))
        self.assertIn(f"Stopped after step {done}", output)
        self.tutti("train", "--resume", run, "--ranks", "2")
        self.assertGreater(len(self.rows_of(run)), done)
        self.assertEqual((whole / "checkpoints/best.ckpt").read_bytes(), (run / "checkpoints/best.ckpt").read_bytes())

    def test_stopped_and_resumed_by_more_and_by_fewer_ranks(self):
        process, run = self.started("train", "hep", *TINY, "--set", f"runs={self.base}/other", "--set", "epochs=120", "--set", "batch=16",
                                    "--set", "schedule=polynomial", "--set", "warmup=0",
                                    "--set", "evaluate_every=100")
        for ranks in ("1", "3"):
            deadline = time.monotonic() + 100
            before = len(self.rows_of(run)) if (run / "metrics.csv").exists() else 0
            while len(self.rows_of(run) if (run / "metrics.csv").exists() else []) < before + 3 and time.monotonic() < deadline:
                time.sleep(0.01)
            process.send_signal(signal.SIGTERM)
            self.assertIn("Stopped after step", process.communicate(timeout=60)[0])
            process, _ = self.started("train", "--resume", str(run), "--ranks", ranks, "--set", "threads=1")
        output = process.communicate(timeout=150)[0]
        self.assertEqual(process.returncode, 0, output)
        rows = self.rows_of(run)
        self.assertEqual([int(row["step"]) for row in rows], list(range(1, len(rows) + 1)))
        self.assertEqual(float(rows[-1]["epoch"]), 120)
        for before, after in zip(rows, rows[1:]):  # 300 samples: a step of 48 is a sixth of an epoch, and so are the samples that an epoch drops
            self.assertLess(float(before["epoch"]), float(after["epoch"]))
            self.assertLess(float(after["epoch"]) - float(before["epoch"]), 0.34)
            self.assertLessEqual(float(after["learning_rate"]), float(before["learning_rate"]))
            self.assertLess(float(before["learning_rate"]) - float(after["learning_rate"]), 0.34 / 120 * float(rows[0]["learning_rate"]))

    def test_validation_files_choose_the_weights(self):
        run = self.run_of(self.tutti("train", "hep", *TINY, "--set", f"runs={self.base}/chosen", "--set", "val_events=0"))
        self.assertIn("selected on the same samples", self.tutti("evaluate", run, "--ranks", "1"))
        data = self.base / "data"
        shutil.copytree(self.base / "cache/tutti/hep-v2-32-300-300", data, ignore=shutil.ignore_patterns("val*"))
        shutil.copy(data / "train-000.h5", data / "val.h5")
        run = self.run_of(self.tutti("train", "hep", *TINY, "--set", f"runs={self.base}/chosen", "--set", f"data={data}", "--set", "epochs=3"))
        output = self.tutti("evaluate", run, "--ranks", "1")
        self.assertNotIn("selected on the same samples", output)
        area = json.loads((run / "result.json").read_text())["metrics"]["area"]
        self.assertAlmostEqual(float(output.split("\narea")[1].split()[0]), area, 3)
        with (run / "validation.csv").open() as file:
            self.assertNotIn(f"{area:.7g}", [row["area"] for row in csv.DictReader(file)])
        self.assertTrue((run / "plots/roc.svg").exists())

    def test_every_case_makes_samples_to_choose_by(self):
        cache = self.base / "made"
        self.environment["XDG_CACHE_HOME"] = str(cache)
        self.addCleanup(self.environment.__setitem__, "XDG_CACHE_HOME", str(self.base / "cache"))
        for case, fewer in (("hep", "train_events=300"), ("climate-detect", "train_frames=8"), ("climate-segment", "train_frames=8"),
                            ("resnet", "train_images=200"), ("cosmoflow", "train_universes=32"), ("unet3d", "train_scans=8"),
                            ("gan3d", "train_showers=16")):
            train = ["train", case, *TINY, "--set", f"runs={self.base}/made-runs", "--set", fewer, "--set", "steps=2"]
            output = self.tutti(*train)
            run = self.run_of(output)
            self.assertIn("with the weights of step 2, the best on the validation set", output)
            files = {kind: sorted(cache.glob(f"tutti/*/{kind}-*.h5")) for kind in ("train", "test", "val")}
            contents = [path.read_bytes() for paths in files.values() for path in paths]
            self.assertTrue(all(files.values()), case)
            self.assertEqual(len(set(contents)), len(contents), f"{case}: no file is like another")
            with (run / "validation.csv").open() as file:
                chosen = list(csv.DictReader(file))[-1]
            result = json.loads((run / "result.json").read_text())["metrics"]
            self.assertTrue(any(abs(float(chosen[name]) - value) > 1e-3 * abs(value) for name, value in result.items()
                                if name in chosen and not name.endswith("_ms")), f"{case}: other samples give other numbers")
            output = self.tutti("evaluate", run, "--ranks", "2")
            self.assertNotIn("selected on the same samples", output)
            again = dict(line.split() for line in output.split("\n") if len(line.split()) == 2)
            for name, value in result.items():
                if not name.endswith("_ms"):
                    self.assertAlmostEqual(float(again[name]), value, delta=1e-3 * abs(value) + 1e-6, msg=f"{case}: {name}")
            # A directory of an earlier release has no validation files; only these are generated.
            others = {path: path.stat().st_mtime_ns for path in files["train"] + files["test"]}
            for path in files["val"]:
                path.unlink()
            self.tutti(*train)
            self.assertTrue(all(path.exists() for path in files["val"]), case)
            self.assertEqual({path: path.stat().st_mtime_ns for path in others}, others)
            shutil.rmtree(cache)

    def test_data_larger_than_memory_is_reported_before_generating(self):
        cache = {path.name for path in (self.base / "cache/tutti").glob("*")}
        output = self.tutti("train", "hep", "--size", "paper", "--ranks", "2", "--set", "batch=1000000",
                            "--set", f"runs={self.base}/memory", code=2)
        self.assertIn("DDL-1-74", output)
        self.assertRegex(output, r"--set batch=\d+ would fit")
        self.assertEqual(output.count("DDL-1-74"), 1)
        self.assertEqual({path.name for path in (self.base / "cache/tutti").glob("*")}, cache)
        self.assertEqual(list((self.base / "memory").glob("*")), [])

    def test_large_model_support_is_bitwise_identical(self):
        arguments = ["train", "unet3d", *TINY, "--set", "batch=8", "--set", "steps=4", "--set", "epochs=4", "--set", f"runs={self.base}/lms"]
        weights = []
        for options in [], ["--lms", "44MiB"], ["--lms", "44MiB", "--set", "lms_mode=full"]:
            output = self.tutti(*arguments, *options)
            self.assertEqual("budget 22.0 MiB, peak 22.0 MiB" in output, bool(options), output)
            run = self.run_of(output)
            weights.append((run / "checkpoints/best.ckpt").read_bytes())
            self.assertEqual((run / "lms.json").exists(), bool(options))
            self.assertEqual((run / "plots/memory.svg").exists(), bool(options))
        self.assertEqual(json.loads((run / "lms.json").read_text())["steps"], 4)
        self.assertTrue(weights[0] == weights[1] == weights[2])
        self.assertIn("DDL-1-02", self.tutti(*arguments, "--lms", "much", code=2))
        self.assertIn("DDL-5-70", self.tutti(*arguments, "--lms", "4MiB", code=1))

    def test_tiles_of_large_model_support_do_not_depend_on_the_budget(self):
        arguments = ["train", "unet3d", *TINY, "--set", "batch=8", "--set", "steps=2", "--set", "epochs=2", "--set", f"runs={self.base}/tiles",
                     "--set", "lms_tiling=256KiB"]
        weights = []
        for budget in "800MiB", "36MiB":
            output = self.tutti(*arguments, "--lms", budget)
            weights.append((self.run_of(output) / "checkpoints/best.ckpt").read_bytes())
        self.assertTrue(weights[0] == weights[1])

    def test_making_data_can_be_interrupted(self):
        arguments = ["train", "hep", *TINY, "--set", f"runs={self.base}/making", "--set", "train_events=2000000"]
        process = subprocess.Popen([TUTTI, *arguments], env=self.environment, stdout=subprocess.PIPE, text=True)
        made = self.base / "cache/tutti/hep-v2-32-2000000-300"
        line = next(line for line in process.stdout if line.startswith("generating"))
        self.assertIn("of 65 files per rank", line)  # of 64 to train on, 64 to test and 2 to choose by
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=60)[0]
        self.assertEqual(process.returncode, 130, output)
        self.assertIn("the same command generates the others", output)
        self.assertTrue(made.exists())
        shutil.rmtree(made)
        self.assertEqual(list((self.base / "making").glob("*")), [])

    def test_a_network_from_python(self):
        self.tutti("train", "hep", *TINY, "--set", f"runs={self.base}/events")
        script = self.base / "network.py"
        script.write_text(NETWORK)
        subprocess.run(["/usr/bin/python3", script, self.base / "network.pt"], check=True, env=self.environment)
        data = next((self.base / "cache/tutti").iterdir())
        (self.base / "mine.toml").write_text(f'data = "{data}"\nloss = "cross_entropy"\nepochs = 6\nbatch = 16\n')
        output = self.tutti("train", self.base / "mine.toml", "--model", self.base / "network.pt", "--ranks", "2",
                            "--set", f"runs={self.base}/own", "--set", f"staging_dir={self.base}/local")
        self.assertIn("accuracy", output)
        self.assertTrue((self.base / "local/train-000.h5").exists())
        run = self.run_of(output)
        losses = [float(row["loss"]) for row in self.rows_of(run)]
        self.assertLess(sum(losses[-5:]), 0.95 * sum(losses[:5]))
        self.tutti("export", run, "-o", self.base / "trained.pt")
        check = "import sys, torch; m = torch.jit.load(sys.argv[1]); print(m(torch.zeros(2, 3, 32, 32)).shape)"
        done = subprocess.run(["/usr/bin/python3", "-c", check, self.base / "trained.pt"], capture_output=True, text=True)
        self.assertIn("[2, 2]", done.stdout, done.stderr)
        self.tutti("predict", run, data / "test-000.h5", "-o", self.base / "outputs.csv")
        self.assertTrue((self.base / "outputs.csv").read_text().startswith("output0,output1\n"))
        (self.base / "bad.pt").write_text("nothing")
        self.assertIn("DDL-7-90", self.tutti("train", "--model", self.base / "bad.pt", "--ranks", "1", "--set",
                                             f"runs={self.base}/own", code=1))

    def test_masks_as_a_file(self):
        for case, side in (("climate-segment", (32, 48)), ("unet3d", (16, 16, 16))):
            run = self.run_of(self.tutti("train", case, *TINY, "--set", f"runs={self.base}/masks", "--set", "steps=2"))
            data = next(self.base.glob(f"cache/tutti/{case}*/test-00000.h5"))
            self.tutti("predict", run, data, "-o", self.base / "masks.h5")
            with h5py.File(self.base / "masks.h5") as file:
                masks = file["labels"][:]
            self.assertEqual(masks.shape[1:], side)
            self.tutti("predict", run, data, "-o", self.base / "masks.csv")
            with (self.base / "masks.csv").open() as file:
                row = list(map(float, next(csv.DictReader(file)).values()))
            self.tutti("export", run, "-o", self.base / "masks.pt")
            # Samples of the case's own files, in their units: what the script marks is what was predicted, one by one or together.
            files = sorted(data.parent.glob("test-*.h5"))[:2]
            subprocess.run(["/usr/bin/python3", "-c", MASKS_CHECK, case, self.base / "masks.pt", self.base / "masks.h5", *files], check=True)
            marked = (masks[0] == 1).mean() if case == "climate-segment" else (masks[0] > 0).sum()
            self.assertAlmostEqual(row[0], marked, 5)

    def test_trains_a_gan(self):
        output = self.tutti("train", "gan3d", *TINY, "--set", f"runs={self.base}/gan", "--set", "steps=2", "--set", "batch=2",
                            "--set", "train_showers=8", "--set", "test_showers=4")
        self.assertIn("A shower takes the network", output)
        run = self.run_of(output)
        self.assertLessEqual({"loss", "loss_real", "loss_generated", "loss_generator"}, set(self.rows_of(run)[0]))
        for row in self.rows_of(run):  # deprecated names
            self.assertEqual((row["loss_true"], row["loss_made"]), (row["loss_real"], row["loss_generated"]))
        energies = self.base / "cache/tutti/gan3d-8-4/test-00000.h5"
        self.tutti("predict", run, energies, "-o", self.base / "showers.h5")
        self.tutti("predict", run, self.base / "showers.h5", "-o", self.base / "scores-of-showers.csv")
        self.assertTrue((self.base / "scores-of-showers.csv").read_text().startswith("real,energy,true\n"))
        self.tutti("export", run, "-o", self.base / "generator.pt")

    def test_a_run_of_an_earlier_release_is_resumed(self):
        """Its config.toml has the old names of options; its checkpoints are the same."""
        train = ["train", "hep", *TINY, "--set", f"runs={self.base}/earlier", "--set", "steps=4"]
        output = self.tutti(*train, "--set", "average_decay=0.5", "--set", "update=slice")
        self.assertIn("option 'average_decay' is deprecated; use 'ema_decay'", output)
        self.assertIn("option 'update=slice' is deprecated; use 'update=sharded'", output)
        run = self.run_of(output)
        config = (run / "config.toml").read_text()
        self.assertIn("\nema_decay = 0.5\n", config)
        old_names = {"ema_decay": "average_decay", "staging_dir": "stage", "lr_milestones": "step_at", "lr_gamma": "step_factor"}
        for name, old_name in old_names.items():
            config = config.replace(f"\n{name} = ", f"\n{old_name} = ")
        (run / "config.toml").write_text(config.replace('"sharded"', '"slice"'))
        self.assertNotIn("deprecated", self.tutti("evaluate", run, "--ranks", "1"))
        self.assertNotIn("deprecated", self.tutti("train", "--resume", run, "--ranks", 2, "--set", "steps=6"))
        self.assertEqual([row["step"] for row in self.rows_of(run)], list("123456"))
        self.assertIn("\nema_decay = 0.5\n", (run / "config.toml").read_text())
        result = json.loads((run / "result.json").read_text())
        self.assertEqual(result["evaluated_step"], result["judged_step"])

    def test_a_wrong_resume_leaves_the_run_as_it_was(self):
        train = ["train", "hep", "--size", "tiny", "--ranks", 2, "--set", f"runs={self.base}/resumed"]
        run = self.run_of(self.tutti(*train))
        result = json.loads((run / "result.json").read_text())
        self.assertIn("DDL-7-62", self.tutti("train", "--ranks", 2, "--resume", run, "--set", "filters=24", code=1))
        self.assertIn("were taken before", self.tutti("train", "--ranks", 2, "--resume", run))
        self.assertEqual(json.loads((run / "result.json").read_text()), result)

    @unittest.skipUnless("avx512dq" in Path("/proc/cpuinfo").read_text(), "the processor has no AVX-512")
    def test_openblas_uses_the_vectors_of_the_processor(self):
        self.addCleanup(setattr, type(self), "environment", self.environment)
        type(self).environment = {**self.environment, "OPENBLAS_VERBOSE": "2"}
        self.environment.pop("OPENBLAS_CORETYPE", None)  # the user's choice would take precedence
        train = ["train", "hep", "--size", "tiny", "--ranks", 1, "--set", "steps=1", "--set", f"runs={self.base}/vectors"]
        self.assertIn("Core: SkylakeX", self.tutti(*train))

    def test_mistakes_are_reported_once(self):
        self.assertIn("DDL-1-85", self.tutti("train", "nothing", code=2))
        self.assertIn("learning_rate", self.tutti("train", "hep", "--set", "learning_rat=1", code=2))
        for command in (["train", "--resume"], ["evaluate"], ["export"], ["plot"]):
            self.assertEqual(self.tutti(*command, self.base, code=2).count("DDL-1-70"), 1)
        runs = self.base / "mistakes"
        for code, arguments in (("DDL-7-90", ["--model", self.base / "none.pt"]),
                                ("DDL-7-99", ["hep", "--set", "data=/none"]),
                                ("DDL-1-84", ["hep", "--size", "tiny", "--set", "strategy=hybrid"])):
            output = self.tutti("train", *arguments, "--ranks", 2, "--set", f"runs={runs}", code=2 if code.startswith("DDL-1") else 1)
            self.assertEqual(output.count(code), 1, output)
            self.assertNotIn("rank 1", output)
            self.assertEqual(list(runs.glob("*")), [], "nothing is left")

    def test_mistakes_are_reported_once_under_a_launcher(self):
        launched = {**self.environment, "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2", "TUTTI_JOB": f"mistakes-{os.getpid()}"}
        runs = self.base / "launched"
        arguments = [TUTTI, "train", "hep", "--set", f"runs={runs}", "--set", "data=/none"]
        ranks = [subprocess.Popen(arguments, env={**launched, "RANK": rank, "LOCAL_RANK": rank}, stderr=subprocess.PIPE, text=True)
                 for rank in "01"]
        errors = [process.communicate(timeout=100)[1] for process in ranks]
        self.assertIn("DDL-7-99", errors[0])
        self.assertNotIn("DDL-", errors[1])
        self.assertEqual([process.returncode for process in ranks], [1, 1])
        self.assertEqual(list(runs.iterdir()), [])


if __name__ == "__main__":
    TUTTI = sys.argv.pop(1)
    unittest.main()
