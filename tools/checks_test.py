#!/usr/bin/python3
"""Tests of the checks and of install-deps, each with input that must pass and input that must fail."""

import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import build_docs
import check_docs
import check_format
import check_layers
import check_prose
import check_sizes
import error_codes
import source_tree

sys.path.insert(0, str(source_tree.ROOT / "scripts"))
import progress  # noqa: E402

SCRIPT = source_tree.ROOT / "scripts/install-deps.sh"


class TreeTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def write(self, path, text):
        (self.root / path).parent.mkdir(parents=True, exist_ok=True)
        (self.root / path).write_text(text, encoding="utf-8")


class Layers(TreeTest):
    def troubles(self, path, text):
        self.write(path, text)
        return check_layers.check(self.root)[0]

    def test_lower_level_may_be_included(self):
        self.assertEqual(self.troubles("tutti/comm/a.cc", '#include "tutti/plan/plan.h"\n#include <vector>\n'), [])

    def test_higher_level_may_not(self):
        troubles = self.troubles("tutti/plan/a.cc", '// why\n#include "tutti/comm/communicator.h"\n')
        self.assertEqual(troubles, ["tutti/plan/a.cc:2: plan may not include comm (tutti/comm/communicator.h)"])

    def test_same_level_may_not(self):
        self.assertEqual(len(self.troubles("tutti/sim/a.h", '#include "tutti/comm/work.h"\n')), 1)

    def test_external_libraries_are_confined(self):
        self.assertEqual(self.troubles("tutti/comm/transport/mpi/a.cc", "#include <mpi.h>\n"), [])
        self.assertIn("<mpi.h> may be used only in", self.troubles("tutti/comm/executor.cc", "#include <mpi.h>\n")[0])

    def test_every_external_library_is_refused_in_core(self):
        names = "mpi.h hwloc.h cuda_runtime.h nccl.h simgrid/s4u.hpp torch/torch.h pybind11/pybind11.h gloo/algorithm.h"
        for name in names.split():
            self.assertEqual(len(self.troubles("tutti/core/a.cc", f"#  include <{name}>\n")), 1, name)

    def test_the_page_has_the_table(self):
        row = "| `runs` | the run directory | {} | 2 |\n| `core` | errors | | 0 |\n"
        self.write("ARCHITECTURE.md", row.format("os, core"))
        self.assertEqual(check_layers.check(self.root)[0], [])
        self.write("ARCHITECTURE.md", row.format("topo, core"))
        self.assertEqual(check_layers.check(self.root)[0], ["ARCHITECTURE.md: runs depends on core, os"])

    def test_programs_benchmarks_and_tests_may_include_everything(self):
        for folder in check_layers.FREE:
            self.assertEqual(self.troubles(f"{folder}/a.cc", '#include <mpi.h>\n#include "tutti/sim/a.h"\n'), [])

    def test_private_headers_stay_with_their_owner(self):
        include = '#include "tutti/comm/internal/flags.h"\n'
        self.assertEqual(self.troubles("tutti/comm/a.cc", include), [])
        self.assertIn("private to tutti/comm", self.troubles("bench/a.cc", include)[0])

    def test_unknown_component(self):
        self.assertIn("unknown component misc", self.troubles("tutti/misc/a.cc", "")[0])

    def test_rows_are_per_library(self):
        self.assertEqual(self.troubles("tutti/fusion/a.cc", '#include "tutti/comm/work.h"\n'), [])
        self.assertIn("comm may not include fusion", self.troubles("tutti/comm/a.cc", '#include "tutti/fusion/a.h"\n')[0])

    def test_include_cycles_are_counted_by_unit(self):
        self.write("tutti/plan/a.h", "")
        self.write("tutti/plan/a.cc", '#include "tutti/plan/a.h"\n#include "tutti/plan/b.h"\n')
        self.write("tutti/plan/b.h", '#include "tutti/plan/a.h"\n')
        self.write("tutti/plan/c.h", '#include "tutti/plan/a.h"\n')
        self.assertIn("2 of 3 units", check_layers.check(self.root)[1])
        with unittest.mock.patch.object(check_layers, "MOST_UNITS_IN_CYCLES", 1):
            self.assertIn("include cycle: tutti/plan/a, tutti/plan/b", check_layers.check(self.root)[0])

    def test_headers_are_named_in_full(self):
        self.write("tutti/core/a.h", "")
        self.assertIn("full path", self.troubles("tutti/core/a.cc", '#include "a.h"\n')[0])


class Sizes(TreeTest):
    def test_functions_are_found_with_their_lengths(self):
        text = (
            "namespace a {\nstruct alignas(64) B {\n  int c = 0;\n  B() : c{1} {\n  }\n  bool operator==(const B&) const;\n};\n"
            "const int kTable[] = {f(1), 2};\n// void no() {\n"
            'int d(const char* text = "{") {\n  if (text) {\n    return 1;\n  }\n  return \'{\';\n}\n}\n'
        )
        self.assertEqual(check_sizes.cxx_functions(text), [(4, "B", 2), (10, "d", 6)])

    def test_ceilings(self):
        self.write("tutti/core/long.cc", "int x;\n" * 501)
        self.write("tutti/core/f.cc", "void f() {\n" + "  g();\n" * 80 + "}\n")
        self.write("tools/f.py", "def f():\n" + "    g()\n" * 80)
        errors, _, core = check_sizes.check(self.root)
        self.assertEqual(len(errors), 3)
        self.assertEqual(core, 501 + 82)

    def test_aims_only_warn_and_not_about_tests(self):
        body = "void f() {\n" + "  g();\n" * 40 + "}\n"
        self.write("tutti/core/f.cc", body)
        self.write("tutti/core/f_test.cc", body)
        errors, findings, core = check_sizes.check(self.root)
        self.assertEqual((errors, core), ([], 42))
        self.assertEqual([one.text for one in findings], ["tutti/core/f.cc:1: f has 42 lines; aim at 30"])

    def test_methods_and_members_are_counted(self):
        text = (
            "class A {\n public:\n  A() = default;\n  int f() const { return g(); }\n  void h(int a = 0);\n"
            "  struct B {\n    int inner() { return 1; }\n  };\n private:\n  int x_ = f(1);\n  std::vector<int> y_{};\n};\n"
        )
        self.assertEqual(check_sizes.cxx_classes(text), [(1, "A", 2, 2), (6, "B", 1, 0)])

    def test_large_folders_and_classes_are_reported(self):
        for name in range(31):
            self.write(f"tutti/core/{name}.h", "")
        self.write("tutti/core/x_test.cc", "")
        methods = "".join(f"  void f{name}();\n" for name in range(16))
        self.write("tutti/plan/a.h", f"class A {{\n{methods}}};\n")
        texts = [one.text for one in check_sizes.check(self.root)[1]]
        self.assertEqual(texts, ["tutti/plan/a.h:1: A has 16 methods and 0 members; aim at 15 and 10",
                                 "tutti/core: 31 files; aim at 30"])

    def test_core(self):
        for name in range(34):
            self.write(f"tutti/plan/{name}.h", "int x;  // why\n" * 500)
        self.write("tutti/fusion/apart.h", "int x;\n")
        self.write("tutti/plan/words.h", "// told before it is coded\n\n/* and\n   more */\n")
        self.write("tutti/plan/test_grids.h", "int x;\n")
        _, findings, core = check_sizes.check(self.root)
        self.assertEqual(core, 17_000)
        self.assertNotIn("core", [one.kind for one in findings])
        self.write("tutti/core/one_more.h", "int x;\n")
        self.assertIn("have 17001 lines of code; aim at 17000 together", check_sizes.check(self.root)[1][-1].text)


class Site(TreeTest):
    def test_comments_of_headers_are_marked_for_doxygen(self):
        header = "// Of the file.\n#pragma once\n// Of f: <T>.\nint f();\nint count = 0;  // elements\n"
        self.assertEqual(build_docs.filtered(header),
                         "/// @file\n/// Of the file.\n\n/// Of f: \\<T\\>.\nint f();\nint count = 0;  ///< elements\n")
        self.assertEqual(build_docs.filtered("/* Of the file. */\nint f(void); /* of f */\n"),
                         "/** @file\n Of the file. */\nint f(void); /**< of f */\n")

    def test_navigation_follows_the_index(self):
        self.write("docs/README.md", "# D\n\n## Use\n- [A](use/a.md): a\n- [B](../B.md)\n\n## Formats\n- [C](formats/c.md)\n")
        self.assertEqual(list(build_docs.sections(self.root)), [("Use", ["docs/use/a", "B"]), ("Formats", ["docs/formats/c"])])

    def test_links_to_directories_become_text_and_files_are_copied(self):
        self.write("examples/x.py", "")
        text = "[src](examples) [x](examples/x.py) [p](p.md)\n```sh\n[src](examples)\n```\n"
        self.assertEqual(build_docs.with_pages_only(self.root, Path("README.md"), text, self.root / "staged"),
                         "src [x](examples/x.py) [p](p.md)\n```sh\n[src](examples)\n```\n")
        self.assertTrue((self.root / "staged/examples/x.py").exists())


class LongLines(TreeTest):
    def test_prose_is_limited_but_not_tables_and_code(self):
        long = "x" * 121
        self.write("docs/use/a.md", f"# A\n{long}\n| {long} |\n```sh\n{long}\n```\n")
        self.assertEqual(list(check_docs.badly_wrapped_lines(self.root, Path("docs/use/a.md"))),
                         ["docs/use/a.md:2: 121 columns; at most 120 in prose"])

    def test_stray_line_breaks_of_prose_are_found(self):
        full = "word " * 20 + "end"
        self.write("docs/use/a.md", f"# A\nText: (`ddl`,\n`pyddl`)\n\n{full}\nword\n- a\n- b\n  ```\n  a\n  b\n  ```\n| a |\n")
        self.assertEqual(list(check_docs.badly_wrapped_lines(self.root, Path("docs/use/a.md"))),
                         ["docs/use/a.md:2: a stray line break"])


class LongComments(TreeTest):
    def test_comments_are_limited_but_not_code(self):
        self.write("a.cc", f"// {'x' * 118}\n// {'x' * 117}\n  int {'x' * 120};\n")
        self.assertEqual(list(check_format.long_comments(self.root, ["a.cc"])), ["a.cc:1: a comment of 121 columns; at most 120"])


class InstallDeps(TreeTest):
    """scripts/install-deps.sh with a dpkg-query that reports only some packages as installed."""

    def check(self, known, *options):
        lines = "".join(f"echo {package} {state}\n" for package, state in known.items())
        self.write("dpkg-query", f"#!/bin/sh\n{lines}exit 1\n")
        (self.root / "dpkg-query").chmod(0o755)
        environment = {"PATH": f"{self.root}:/usr/sbin:/usr/bin:/sbin:/bin"}
        return subprocess.run([SCRIPT, "--check", *options], env=environment, capture_output=True, text=True)

    def setUp(self):
        super().setUp()
        listed = subprocess.run([SCRIPT, "--list"], capture_output=True, text=True, check=True).stdout
        self.all = {line.split()[0]: "installed" for line in listed.splitlines()}

    def test_silent_when_nothing_is_missing(self):
        done = self.check(self.all)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_names_missing_and_removed_packages(self):
        known = {**self.all, "cmake": "config-files"}
        del known["libhwy-dev"]
        done = self.check(known)
        self.assertEqual(done.returncode, 1)
        self.assertIn("missing: cmake libhwy-dev\n", done.stderr)
        self.assertIn("apt-get install -y --no-install-recommends cmake libhwy-dev", done.stderr)

    def test_nothing_at_all_is_installed(self):
        self.assertEqual(self.check({}).returncode, 1)

    def test_a_build_does_not_need_test_packages(self):
        del self.all["slurmctld"]
        self.assertEqual(self.check(self.all, "--for", "build").returncode, 0)
        self.assertIn("missing: slurmctld\n", self.check(self.all, "--for", "test").stderr)


class Prose(TreeTest):
    RULES = """
skipped = ["b/"]
[[rule]]
find = 'pictures?'
write = "image"
[[rule]]
find = 'anew'
write = "again"
error = false
[[rule]]
find = '^// What'
write = "a noun phrase"
"""

    def found(self):
        self.write("rules.toml", self.RULES)
        return [(path.name, line, words, fails) for path, line, _, words, fails in check_prose.check(self.root, self.root / "rules.toml")]

    def test_comments_and_strings_but_not_code(self):
        self.write("a/x.cc", 'int picture = 0;  // a picture\nconst char* text = "no picture";\n// What it is.\n')
        self.assertEqual(self.found(), [("x.cc", 1, "picture", True), ("x.cc", 2, "picture", True), ("x.cc", 3, "// What", True)])

    def test_python(self):
        self.write("a/x.py", 'picture = 1  # a picture\ndef f():\n    """Shows\n    the pictures."""\n')
        self.assertEqual(self.found(), [("x.py", 1, "picture", True), ("x.py", 4, "pictures", True)])

    def test_documents_without_their_code(self):
        self.write("a/x.md", "A picture.\n```sh\npicture\n```\nA `picture`, anew.\n")
        self.assertEqual(self.found(), [("x.md", 1, "picture", True), ("x.md", 5, "anew", False)])

    def test_scripts_have_comments_after_a_hash(self):
        self.write("a/x.sh", "#!/bin/picture\n# A picture.\necho picture#picture  # pictures\n")
        self.write("a/CMakeLists.txt", "set(picture)  # a picture\n")
        self.assertEqual(self.found(), [("CMakeLists.txt", 1, "picture", True), ("x.sh", 2, "picture", True), ("x.sh", 3, "pictures", True)])

    def test_skipped_paths(self):
        self.write("b/x.md", "A picture.\n")
        self.assertEqual(self.found(), [])


class BuildLogs(TreeTest):
    def test_the_failed_step_is_shown_not_the_beginning(self):
        steps = "".join(f"[{step}/90] Building\n" for step in range(80))
        self.write("log.txt", f"ninja: Entering directory `build'\n{steps}FAILED: a.o\na.cc:1:2: error: no\n")
        self.assertEqual(progress.relevant_lines(self.root / "log.txt"), ["FAILED: a.o", "a.cc:1:2: error: no"])

    def test_without_an_error_the_last_lines_are_shown(self):
        self.write("log.txt", "".join(f"{line}\n" for line in range(50)))
        self.assertEqual(progress.relevant_lines(self.root / "log.txt", most=2), ["48", "49"])


class Docs(TreeTest):
    def test_links(self):
        self.write("docs/a.md", "# A title, here\n[b](../b.md) [no](c.md) [out](https://example.org/x) [top](#a-title-here)\n")
        self.write("b.md", "[there](docs/a.md#a-title-here) [gone](docs/a.md#gone)\n```sh\necho [x](y)\n```\n")
        self.assertEqual(len(list(check_docs.broken_links(self.root, Path("docs/a.md")))), 1)
        self.assertEqual(list(check_docs.broken_links(self.root, Path("b.md"))),
                         ["b.md: the link docs/a.md#gone refers to a heading that does not exist"])

    def test_every_page_is_in_the_index(self):
        self.write("docs/README.md", "[a](use/a.md)\n")
        self.write("docs/use/a.md", "")
        self.write("docs/use/b.md", "")
        self.assertEqual(list(check_docs.pages_not_in_index(self.root)), ["docs/use/b.md: not linked from docs/README.md"])

    def test_only_marked_blocks_are_run(self):
        self.write("a.md", "x\n```sh\nfalse\n```\n```sh test\ntrue\n```\n```sh test namespaces\ntrue\n```\n")
        self.assertEqual([(line, needs) for _, line, needs, _ in check_docs.commands(self.root)], [(5, False), (8, True)])


class ErrorCodes(TreeTest):
    """A source tree with one part, two codes in the sources, and their reference page."""

    def setUp(self):
        super().setUp()
        self.write("tutti/core/a.cc", 'throw ConfigError("DDL-1-01", "http://a // b"); /* DDL-1-97 */ // DDL-1-98\n')
        self.write("python/a.py", 'raise ValueError("DDL-1-20 # Wrong.")  # DDL-1-99\n')
        self.write_table('DDL-1-01 = ["Unknown name.", "Use another."]', 'DDL-1-20 = ["Wrong value.", "See `--help`."]')
        self.write("docs/reference/errors.md", error_codes.page(error_codes.read_table(self.root)))

    def write_table(self, *rows):
        head = '[part.1]\nname = "Options"\nthrown = "`ConfigError`"\npages = "[a](a.md)"\n[part.1.codes]\n'
        self.write(error_codes.TABLE, head + "\n".join(rows) + "\n")

    def test_codes_in_comments_and_tests_need_no_row(self):
        self.write("tutti/core/a_test.cc", '"DDL-1-95"')
        self.write("python/tests/ranks/b.py", '"DDL-1-96"')
        self.write("docs/a.md", "DDL-1-01 and DDL-1-20\n")
        self.assertEqual(error_codes.check(self.root), [])

    def test_code_without_a_row(self):
        self.write("bench/b.cc", '\nthrow IoError("DDL-1-02", "");')
        self.write("scripts/tool", '#!/usr/bin/python3\nprint("DDL-1-03")\n')
        self.write("docs/a.md", "DDL-1-04\n")
        missing = [f"docs/a.md:1: DDL-1-04 has no row in {error_codes.TABLE}",
                   f"bench/b.cc:2: DDL-1-02 has no row in {error_codes.TABLE}",
                   f"scripts/tool:2: DDL-1-03 has no row in {error_codes.TABLE}"]
        self.assertEqual(error_codes.check(self.root), missing)

    def test_row_without_a_code(self):
        self.write("tutti/core/a.cc", "// DDL-1-01\n")
        self.assertEqual(error_codes.check(self.root), [f"{error_codes.TABLE}: DDL-1-01 is not used in the sources; remove its row"])

    def test_page_differs_until_it_is_written(self):
        self.write_table('DDL-1-01 = ["Unknown type.", "Use another."]', 'DDL-1-20 = ["Wrong value.", "See `--help`."]')
        self.assertIn("error_codes.py --write", error_codes.check(self.root)[0])
        self.assertEqual(error_codes.write(self.root) + error_codes.check(self.root), [])
        self.assertIn("| DDL-1-01 | Unknown type. | Use another. |", (self.root / error_codes.PAGE).read_text(encoding="utf-8"))
        self.assertIn("(#ddl-1-options)", (self.root / error_codes.PAGE).read_text(encoding="utf-8"))

    def test_malformed_rows(self):
        good = 'DDL-1-01 = ["Unknown name.", "Use another."]'
        for row, words in (('DDL-1-20 = ["Wrong value.", ""]', "period"), ('DDL-1-20 = "Wrong."', "period"),
                           ('DDL-1-20 = ["a | b.", "c."]', "Markdown"), ('DDL-2-20 = ["a.", "b."]', "of part 1"),
                           ('DDL-1-x = ["a.", "b."]', "of part 1")):
            self.write_table(good, row)
            self.assertIn(words, error_codes.write(self.root)[0], row)
        self.write_table('DDL-1-20 = ["a.", "b."]', good)
        self.assertIn("DDL-1-01 is not in the order", error_codes.write(self.root)[0])

    def test_next_free_code_counts_table_and_sources(self):
        self.assertEqual(error_codes.next_free(self.root, 1), "DDL-1-21")
        self.write("apps/b.cc", '"DDL-1-99"')
        self.assertEqual(error_codes.next_free(self.root, 1), "DDL-1-100")
        self.assertEqual(error_codes.next_free(self.root, 2), "DDL-2-01")


if __name__ == "__main__":
    unittest.main()
