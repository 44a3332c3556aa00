#!/usr/bin/python3
"""Tests `tutti tune` as a user runs it.

  tune_test.py TUTTI
"""

import json
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

TUTTI = str(Path(sys.argv.pop()).resolve())

CONDITIONAL = """
command = ["sh", "-c", 'echo "loss=$1"', "sh", "{rate}", "--momentum={momentum}"]
metric = "loss"
trials = 12
[space]
rate = "log:1e-4..1e-1"
optimizer = ["sgd", "adam"]
momentum = { range = "0.0..0.99", if = { optimizer = "sgd" } }
"""


class Tune(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name)
        self.study = self.path / "study"

    def tune(self, *words, code=0):
        done = subprocess.run([TUTTI, "tune", *map(str, words)], capture_output=True, text=True, timeout=300, cwd=self.path)
        self.assertEqual(done.returncode, code, done.stderr + done.stdout)
        return done.stdout if code == 0 else done.stderr

    def trials(self):
        return json.loads(self.tune("export", self.study))["trials"]

    def test_program_with_a_command_line(self):
        output = self.tune("--space", "x=-2.0..2.0", "--space", "n=1..4", "--metric", "loss", "--trials", "8", "--parallel", "2",
                           "--dir", self.study, "--", "sh", "-c", "for i in 1 2; do echo step=$i loss={x}; done; echo loss={n}")
        self.assertIn("8 complete. Best: trial", output)
        for trial in self.trials():
            self.assertEqual(trial["values"], [trial["parameters"]["n"]])
            self.assertEqual([report["step"] for report in trial["reports"]], [1, 2, 3])
        self.assertTrue((self.study / "plots/history.svg").read_text().startswith("<svg"))
        self.assertTrue((self.study / "plots/steps.svg").exists())
        self.assertIn(">n<", (self.study / "plots/importance.svg").read_text())
        self.assertEqual(len(self.tune("show", self.study).splitlines()), 10)

    def test_conditions_in_toml(self):
        (self.path / "study.toml").write_text(CONDITIONAL)
        self.tune("study.toml", "--dir", self.study, "--quiet")
        for trial in self.trials():
            self.assertEqual("momentum" in trial["parameters"], trial["parameters"]["optimizer"] == "sgd")

    def test_interrupted_search_continues(self):
        script = "test -e done || sleep 600; echo loss={x}"
        search = subprocess.Popen([TUTTI, "tune", "--space", "x=0.0..1.0", "--metric", "loss", "--trials", "3", "--dir", self.study,
                                   "--", "sh", "-c", script], stdout=subprocess.PIPE, text=True, cwd=self.path)
        while not (self.study / "trials/0000/config.json").exists():
            self.assertIsNone(search.poll())
            time.sleep(0.02)
        self.tune("show", self.study)  # works meanwhile
        self.assertIn("DDL-10-20", self.tune("--resume", self.study, code=2))
        search.send_signal(signal.SIGINT)
        output = search.communicate(timeout=60)[0]
        self.assertEqual(search.returncode, 130)
        self.assertIn(f"tutti tune --resume {self.study}", output)
        before = self.trials()
        self.assertEqual([trial["state"] for trial in before], ["waiting"])
        (self.study / "trials/0000/done").touch()
        search = subprocess.Popen([TUTTI, "tune", "--resume", self.study, "--trials", "1"], stdout=subprocess.PIPE, text=True)
        search.communicate(timeout=60)
        after = self.trials()
        self.assertEqual([trial["state"] for trial in after], ["complete"])
        self.assertEqual(after[0]["parameters"], before[0]["parameters"])

    def test_search_request(self):
        request = {"algoDef": {"algorithm": "ExperimentGridSearch", "maxJobNum": 4, "maxParalleJobNum": 2, "objectiveMetric": "accuracy",
                               "objective": "maximize"},
                   "hyperParams": [{"name": "hidden", "type": "Range", "dataType": "int", "minIntVal": 1, "maxIntVal": 3},
                                   {"name": "optimizer", "type": "Discrete", "dataType": "str", "discreteStrVal": ["Adam"]}]}
        (self.path / "request.json").write_text(json.dumps(request))
        program = """
import json, os
values = json.load(open("config.json"))
rows = [{"step": step, "accuracy": values["hidden"] * step} for step in (1, 2)]
json.dump(rows, open(os.environ["RESULT_DIR"] + "/val_dict_list.json", "w"))
"""
        (self.path / "main.py").write_text(program)
        output = self.tune("--from", "request.json", "--dir", self.study, "--", "/usr/bin/python3", self.path / "main.py")
        self.assertIn("3 complete. Best: trial", output)
        self.assertEqual(max(trial["values"][0] for trial in self.trials()), 6)

    def test_several_metrics_give_a_front(self):
        output = self.tune("--space", "x=0.0..1.0", "--metric", "loss,seconds", "--direction", "minimize,minimize", "--trials", "6",
                           "--dir", self.study, "--", "sh", "-c", 'echo "{\\"loss\\": {x}, \\"seconds\\": 1}"')
        self.assertIn("Pareto front:", output)

    def test_case_of_tutti_train(self):
        output = self.tune("hep", "--set", "size=tiny", "--set", "runs=ignored", "--space", "learning_rate", "--trials", "1", "--dir",
                           self.study)
        self.assertIn("1 complete. Best: trial 0", output)
        self.assertTrue(list((self.study / "trials/0000").glob("hep-*/config.toml")))

    def test_errors_say_what_to_do(self):
        cases = {
            ("--space", "x=3..1", "--metric", "loss", "--", "true"): "DDL-10-01",
            ("--space", "x=log:0..1", "--metric", "loss", "--", "true"): "DDL-10-01",
            ("--space", "x", "--metric", "loss", "--", "true"): "DDL-10-03",
            ("--space", "x=1..2", "--", "true"): "no metric",
            ("--space", "x=1..2", "--metric", "loss"): "no program",
            ("--space", "x=1..2", "--metric", "loss", "--", "echo", "{y}"): "DDL-10-33",
            ("hep", "--space", "learnig_rate=0.1..0.2"): "Did you mean learning_rate?",
            ("hep", "--space", "momentum=0.5..1.5"): "DDL-1-03",
            ("hep", "--space", "optimizer=adam,adagrad"): "DDL-1-03",
            ("help", "--space", "learning_rate"): "DDL-1-85",
            ("--space", "x=1..2", "--metric", "loss", "--algorithm", "annealing", "--", "true"): "DDL-1-03",
            ("--resume", "nowhere"): "DDL-10-21",
            ("show", "nowhere"): "DDL-10-21",
            ("nowhere.toml",): "DDL-10-30",
        }
        for words, expected in cases.items():
            with self.subTest(words=words):
                done = subprocess.run([TUTTI, "tune", *words], capture_output=True, text=True, timeout=60, cwd=self.path)
                self.assertIn(done.returncode, (1, 2))
                self.assertIn(expected, done.stderr)

    def test_metric_that_never_arrives(self):
        message = self.tune("--space", "x=0.0..1.0", "--metric", "loss", "--retries", "0", "--dir", self.study, "--", "echo", "accuracy=1",
                            code=2)
        self.assertIn("DDL-10-35", message)
        self.assertIn("reported no value of loss", message)
        self.assertEqual([trial["state"] for trial in self.trials()], ["failed"] * 3)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
