#!/usr/bin/python3
"""Files with the names, shapes and types of the published data sets, without the additional fields of generated files.

  published_files_test.py TUTTI
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import h5py
import numpy as np

TUTTI = None


class PublishedFilesTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.base = Path(folder.name)
        self.random = np.random.default_rng(1)

    def write(self, name, **data_sets):
        path = self.base / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with h5py.File(path, "w") as file:
            for key, values in data_sets.items():
                file[key.replace("__", "/")] = values

    def train(self, case, *settings):
        """Two steps by two ranks, then predictions of the first test file: what was printed, and the rows."""
        options = [f"data={self.base}/data", f"runs={self.base}/runs", "steps=2", "batch=2", *settings]
        environment = {**os.environ, "XDG_CACHE_HOME": str(self.base / "cache"), "TUTTI_TUNING_CACHE": "none"}

        def tutti(*arguments):
            done = subprocess.run([TUTTI, *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=200)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            return done.stdout

        output = tutti("train", case, "--size", "tiny", "--ranks", 2, *(word for option in options for word in ("--set", option)))
        self.assertFalse((self.base / "cache/tutti").exists(), "nothing had to be made")
        run = output.split("run: ")[1].split("\n")[0]
        test = sorted((self.base / "data").rglob("test*5"))[0]
        tutti("predict", run, test, "-o", self.base / "rows.csv")
        return output, (self.base / "rows.csv").read_text().split()[1:]

    def test_hep(self):
        for name, events in (("train_0.h5", 16), ("test_0.h5", 20)):
            label = np.arange(events) % 2
            # Signal has towers everywhere, background few.
            towers = self.random.random((events, 3, 32, 32)) < np.where(label, 0.3, 0.05)[:, None, None, None]
            self.write(name, data=np.float32(towers * self.random.exponential(10, towers.shape)), label=np.int32(label),
                       weight=np.float64(np.where(label, 0.5, 3)), normweight=np.ones(events), psr=label % 4 == 1)
        output, rows = self.train("hep")
        # All of the signal and none of the background pass; the weights of both are those of the files.
        self.assertIn("The cuts keep 100.0 ", output)
        self.assertIn("(0.00 ", output)
        self.assertEqual(len(rows), 20)

    def test_climate_segment(self):
        for name in ("train/data-1996-06-01-01-1.h5", "train/data-1996-06-01-04-1.h5", "test/data-1997-01-01-01-1.h5"):
            data = np.float32(self.random.normal(100, 5, (32, 48, 16)))
            labels = np.zeros((32, 48), np.int64)
            labels[4:8, 4:8] = 1
            labels[20:24, :30] = 2
            values = data.reshape(-1, 16)
            stats = np.stack([values.mean(0), values.max(0), values.min(0), values.std(0)], 1)
            self.write(name, climate__data=data, climate__labels_0=labels, climate__labels_1=labels, climate__stats=stats)
        (self.base / "data/test/test.h5").hardlink_to(self.base / "data/test/data-1997-01-01-01-1.h5")
        output, rows = self.train("climate-segment", "batch=1")
        self.assertIn("Intersection over union with the labels", output)
        self.assertNotIn("as they were put", output)
        self.assertEqual(len(rows), 1)

    def test_climate_detect(self):
        for name, frames in (("train_1979.h5", 5), ("test_1981.h5", 3)):
            boxes = np.full((frames, 15, 5), -1, np.int32)
            boxes[:, 0] = (3, 5, 9, 14, 1)
            boxes[:, 1] = (12, 20, 30, 44, 3)
            self.write(name, images=np.float32(self.random.normal(50, 3, (frames, 16, 32, 48))), boxes=boxes)
        output, rows = self.train("climate-detect", "labelled=1")
        self.assertIn("mAP at 0.1", output)
        self.assertEqual(len(rows), 3)

    def test_cosmoflow(self):
        for name in ("train_21668969.hdf5", "test_21688988.hdf5"):
            self.write(name, full=np.int16(self.random.poisson(1, (64, 64, 64, 4))), unitPar=self.random.uniform(-1, 1, 4),
                       physPar=np.array([0.3, 0.8, 0.96, 0.7]), namePar=np.array([b"Omega_m", b"sigma_8", b"N_spec", b"H_0"]))
        output, rows = self.train("cosmoflow", "variant=mlperf")
        self.assertIn("the target of MLPerf HPC is 0.124", output)
        self.assertEqual(len(rows), 8)  # cubes of 32^3

    def test_gan3d(self):
        for name, showers in (("train_Ele.h5", 8), ("test_Ele.h5", 4)):
            energies = self.random.uniform(10, 510, showers)
            cells = self.random.exponential(1, (showers, 25, 25, 25))
            cells *= (0.02 * energies / cells.sum((1, 2, 3)))[:, None, None, None]
            self.write(name, ECAL=cells, target=np.stack([np.full(showers, 11.0), energies, *np.zeros((3, showers))], 1))
        output, rows = self.train("gan3d")
        self.assertIn("A shower takes the network", output)
        self.assertEqual(len(rows), 4)


if __name__ == "__main__":
    TUTTI = sys.argv.pop(1)
    unittest.main()
