#!/usr/bin/python3
"""`tutti learn` from the command line.

  learn_test.py TUTTI
"""

import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

TUTTI = None


def rows(count, seed):
    draw = random.Random(seed)
    for _ in range(count):
        x = [draw.gauss(0, 1) for _ in range(4)]
        yield int(x[0] + 0.5 * x[1] + 0.3 * draw.gauss(0, 1) > 0), x


def small_files_only():
    """For a process to come: files end at 1000 bytes, as if the disk were full."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


class LearnTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.base = Path(self.folder.name)
        for name, count, seed in (("train.csv", 3000, 1), ("test.csv", 500, 2)):
            lines = [",".join(map(str, [label, *x])) for label, x in rows(count, seed)]
            (self.base / name).write_text("label,a,b,c,d\n" + "\n".join(lines) + "\n")

    def tearDown(self):
        self.folder.cleanup()

    def tutti(self, *arguments, code=0):
        done = subprocess.run([TUTTI, "learn", *map(str, arguments)], capture_output=True, text=True, timeout=60, cwd=self.base)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_trains_and_predicts(self):
        for model in ("logistic", "boosting"):
            text = self.tutti("train", "train.csv", "--model", model, "--out", "m.json", "--test", "test.csv")
            self.assertGreater(float(text.split("on test.csv: accuracy ")[1].split(",")[0]), 0.85)
            text = self.tutti("predict", "m.json", "test.csv", "--out", "p.csv", "--probabilities")
            lines = (self.base / "p.csv").read_text().split()
            self.assertEqual(len(lines), 500)
            self.assertAlmostEqual(sum(map(float, lines[0].split(",")[1:])), 1, places=9)
            self.assertIn("log loss", text)
            self.assertIn(f"model {model}, 4 columns, classes 0 1", self.tutti("info", "m.json"))
        (self.base / "m.json").rename(self.base / "any name")
        self.assertIn("4 columns, classes 0 1", self.tutti("info", "any name"))

    def test_converts_and_streams(self):
        self.tutti("convert", "train.csv", "train.data", "--chunk-rows", "200")
        self.assertIn("15 chunks", self.tutti("info", "train.data"))
        self.tutti("train", "train.csv", "--out", "whole.json", "--tolerance", "1e-12")
        self.tutti("train", "train.data", "--out", "limited.json", "--tolerance", "1e-12", "--memory-limit", "5330KB")
        self.tutti("convert", "test.csv", "test.svm")
        both = [[float(line.split(",")[2]) for line in self.tutti("predict", f"{name}.json", "test.svm", "--probabilities").split()[:500]]
                for name in ("whole", "limited")]
        self.assertLess(max(abs(a - b) for a, b in zip(*both)), 1e-4)

    def test_trees_grow_within_a_limit(self):
        self.tutti("convert", "train.csv", "train.data", "--chunk-rows", "200")
        self.tutti("train", "train.csv", "--model", "forest", "--trees", 5, "--out", "whole.json")
        self.tutti("train", "train.data", "--model", "forest", "--trees", 5, "--out", "limited.json", "--memory-limit", "400MB")
        both = [(self.base / f"{name}.json").read_text() for name in ("whole", "limited")]
        self.assertEqual(*both)
        self.assertIn("DDL-9-27", self.tutti("train", "train.data", "--model", "tree", "--out", "m.json", "--memory-limit", "1MB", code=2))
        exact = self.tutti("train", "train.csv", "--model", "tree", "--exact-splits", "--out", "m.json")
        self.assertIn("on the training data: accuracy 1.0000", exact)

    def test_strings_are_categories(self):
        draw = random.Random(3)
        lines = [(town, "yes" if (town in ("Rome", "Oslo")) == (draw.random() < 0.9) else "no", draw.random())
                 for town in draw.choices(["Bonn", "Rome", "Oslo", "Nice"], k=1000)]
        (self.base / "w.csv").write_text("town,buys,x\n" + "".join(f"{a},{b},{c}\n" for a, b, c in lines))
        (self.base / "q.csv").write_text("town,buys,x\nRome,yes,0.5\nBonn,no,0.5\nParis,no,0.5\n")
        for model in ("boosting", "logistic", "hinge"):
            text = self.tutti("train", "w.csv", "--label", "buys", "--model", model, "--out", "m.json", "--test", "w.csv")
            self.assertIn("categorical columns, counted from 0: 0", text)
            self.assertGreater(float(text.split("on w.csv: accuracy ")[1].split()[0].strip(",")), 0.85)
            self.assertIn("classes no yes", self.tutti("info", "m.json"))
            found = self.tutti("predict", "m.json", "q.csv", "--label", "buys").split()
            self.assertEqual(found[:2], ["yes", "no"])
        self.assertIn("5 nonzero weights", self.tutti("info", "m.json"))
        self.assertIn("predicts numbers", self.tutti("train", "w.csv", "--label", "buys", "--model", "squared", "--out", "m.json", code=2))
        text = self.tutti("info", "w.csv", "--label", "buys")
        self.assertIn("column 0: 4 categories, codes from 0: Bonn, Nice, Oslo, Rome", text)
        self.assertIn("labels: 2 categories, codes from 0: no, yes", text)
        self.assertIn("column 0: 4 categories", self.tutti("convert", "w.csv", "w.svm", "--label", "buys"))
        self.assertIn("1000 rows, 2 columns", self.tutti("info", "w.svm"))
        self.tutti("convert", "w.csv", "again.csv", "--label", "buys")
        self.assertIn("column 0: 4 categories, codes from 0: Bonn", self.tutti("info", "again.csv"))
        self.tutti("convert", "w.csv", "w.data", "--label", "buys", "--one-hot")
        self.assertIn("1000 rows, 5 columns", self.tutti("info", "w.data"))
        text = self.tutti("convert", "w.csv", "w.old", "--label", "buys", "--spread-words", "--to-format", "own")
        self.assertIn("option '--spread-words' is deprecated; use '--one-hot'", text)
        self.assertIn("file format 'own' is deprecated; use 'tutti'", text)
        self.assertEqual((self.base / "w.old").read_bytes(), (self.base / "w.data").read_bytes())
        self.assertNotIn("--spread-words", self.tutti("convert", "--help"))
        self.tutti("train", "w.csv", "--label", "town", "--out", "m.json")  # multinomial, with a categorical column
        self.assertIn("classes Bonn Nice Oslo Rome", self.tutti("info", "m.json"))

    def test_deprecated_choices_are_accepted(self):
        for old, new, *arguments in (("solver=interior", "solver=interior_point", "--model", "hinge", "--solver"),
                                     ("task=classes", "task=classification", "--model", "tree", "--task"),
                                     ("task=numbers", "task=regression", "--model", "tree", "--task")):
            for name, choice in (("old.json", old), ("new.json", new)):
                text = self.tutti("train", "train.csv", *arguments, choice.split("=")[1], "--out", name)
                self.assertEqual(f"option '{old}' is deprecated; use '{new}'" in text, choice == old)
            self.assertEqual((self.base / "old.json").read_text(), (self.base / "new.json").read_text())

    def test_several_classes_with_l1(self):
        draw = random.Random(4)
        lines = []
        for _ in range(600):
            x = [draw.gauss(0, 1) for _ in range(6)]
            lines.append(",".join(map(str, [max(range(3), key=lambda k: x[k] + 0.2 * draw.gauss(0, 1)), *x])))
        (self.base / "c.csv").write_text("\n".join(lines) + "\n")
        self.tutti("train", "c.csv", "--l1", 40, "--l2", 0, "--f64", "--out", "m.json")
        self.assertIn("classes 0 1 2", self.tutti("info", "m.json"))
        self.assertIn('"link":"softmax"', (self.base / "m.json").read_text().replace(" ", ""))
        self.assertIn("600 rows, 6 columns, dense, f64", self.tutti("info", "c.csv", "--f64"))
        text = self.tutti("train", "c.csv", "--l1", 40, "--l2", 0, "--tolerance", "1e-14", "--out", "m.json")  # f32 has not so many digits
        self.assertIn("above --tolerance 1e-14", text)

    def test_limits_of_memory_are_read_as_elsewhere(self):
        self.tutti("convert", "train.csv", "train.data")
        for right in ("1000000000", "1GB", "1G", "0.5GiB"):
            self.tutti("train", "train.data", "--memory-limit", right, "--out", "m.json")
        self.assertIn("is not a number of bytes", self.tutti("train", "train.data", "--memory-limit", "much", "--out", "m.json", code=2))

    def test_errors_name_file_and_line(self):
        (self.base / "bad.csv").write_text("1,2\n1,x\n")
        self.assertIn("bad.csv:2: column 1: 'x' is not a number", self.tutti("train", "bad.csv", "--out", "m.json", code=1))
        self.assertFalse((self.base / "m.json").exists())
        (self.base / "slip.csv").write_text((self.base / "train.csv").read_text() + "1,2,n/a,1,1\n")
        for model in ("logistic", "tree"):
            self.assertIn("Column 1 is numeric but contains 'n/a'", self.tutti("train", "slip.csv", "--model", model, "--out", "m.json", code=2))
        self.assertIn("Option model cannot be 'magic'", self.tutti("train", "train.csv", "--model", "magic", "--out", "m.json", code=2))
        self.assertIn("cannot open", self.tutti("info", "nothing.csv", code=1))
        (self.base / "empty.svm").write_text("")
        self.assertIn("DDL-9-03 empty.svm: the file has no rows.", self.tutti("info", "empty.svm", code=1))
        self.tutti("train", code=2)

    def test_looks_first_whether_results_can_be_written(self):
        self.tutti("train", "train.csv", "--out", "m.json")
        (self.base / "folder").mkdir()
        before = sorted(self.base.iterdir())
        for out, why in (("none/x", "No such file or directory"), ("train.csv/x", "Not a directory"), ("folder", "Is a directory")):
            # The data is missing as well: that is found out later.
            for command in (("train", "missing.csv", "--out", out), ("predict", "m.json", "missing.csv", "--out", out),
                            ("convert", "missing.csv", out, "--to-format", "svmlight")):
                self.assertIn(f"DDL-9-02 {out}: cannot write the file: {why}.", self.tutti(*command, code=1))
        self.assertEqual(sorted(self.base.iterdir()), before)

    def test_a_full_disk_keeps_the_old_model(self):
        self.tutti("train", "train.csv", "--out", "m.json")
        names = ("old.json", "old.txt", "old.svm", "old.csv", "old.data", "old.snap")
        for name in names:
            (self.base / name).write_text("as it was")
        before = sorted(self.base.iterdir())
        for command in (("train", "train.csv", "--model", "tree", "--out", "old.json"), ("predict", "m.json", "train.csv", "--out", "old.txt"),
                        *(("convert", "train.csv", name) for name in names[2:])):
            done = subprocess.run([TUTTI, "learn", *command], capture_output=True, text=True, timeout=60, cwd=self.base, preexec_fn=small_files_only)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn("cannot write", done.stderr)
        self.assertEqual([(self.base / name).read_text() for name in names], ["as it was"] * len(names))
        self.assertEqual(sorted(self.base.iterdir()), before)

    def test_links_and_permissions_stay(self):
        (self.base / "real.json").write_text("")
        (self.base / "real.json").chmod(0o640)
        (self.base / "link.json").symlink_to("real.json")
        self.tutti("train", "train.csv", "--out", "link.json")
        self.assertTrue((self.base / "link.json").is_symlink())
        self.assertIn("tutti-model", (self.base / "real.json").read_text())
        self.assertEqual((self.base / "real.json").stat().st_mode & 0o777, 0o640)
        self.assertEqual(len(self.tutti("predict", "link.json", "test.csv", "--out", "/dev/stdout").split("\n")), 500 + 2)

    def test_a_fit_is_not_lost_with_its_folder(self):
        (self.base / "gone").mkdir()
        running = subprocess.Popen([TUTTI, "learn", "train", "train.csv", "--model", "forest", "--trees", "1000000", "--out", "gone/m.json"],
                                   cwd=self.base, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(self.base)})
        self.assertIn("tree", running.stderr.readline())
        (self.base / "gone").rmdir()
        running.send_signal(signal.SIGINT)
        _, text = running.communicate(timeout=60)
        self.assertEqual(running.returncode, 1)
        self.assertIn("DDL-9-02 gone/m.json: cannot write the model. It was saved to ", text)
        self.assertIn("model forest", self.tutti("info", text.split("It was saved to ")[1].split(" instead.")[0]))

    def test_refuses_to_measure_on_rows_without_labels(self):
        header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 4), }".ljust(117).encode() + b"\n"
        (self.base / "bare.npy").write_bytes(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(64))
        self.assertIn("DDL-9-05 bare.npy has no labels. Evaluation needs labels.", self.tutti("train", "train.csv", "--test", "bare.npy", "--out", "m.json", code=2))

    def test_an_interrupted_fit_keeps_the_old_model(self):
        for model, step in (("boosting", "round"), ("forest", "tree"), ("extra_trees", "tree")):
            with self.subTest(model):
                running = subprocess.Popen([TUTTI, "learn", "train", "train.csv", "--model", model, "--trees", "1000000", "--out", "m.json"],
                                           cwd=self.base, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                self.assertIn(step, running.stderr.readline())  # it has begun
                running.send_signal(signal.SIGINT)
                out, _ = running.communicate(timeout=60)
                self.assertEqual(running.returncode, 0)
                self.assertIn("interrupted: the model is the last iterate", out)
                self.assertIn("trees", self.tutti("info", "m.json"))


if __name__ == "__main__":
    TUTTI = sys.argv.pop()
    unittest.main()
