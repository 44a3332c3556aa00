#!/usr/bin/python3
"""Builds the documentation as a site: the Markdown pages, the public C++ headers and the Python modules, with search.

  tools/build_docs.py [OUTPUT]           builds into OUTPUT/html (default: build/docs); warnings are errors
  tools/build_docs.py --filter HEADER    prints a header with its comments marked for Doxygen (called by Doxygen)

Needs the packages of `scripts/install-deps.sh --for docs`, but no compiled module and no network. The pages are staged
into OUTPUT/source with the layout of the repository, so links between them work unchanged.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import check_docs
import source_tree

SITE = Path("docs/site")
PYTHON_MODULES = ("ddl", "pyddl", "tutti.torch", "tutti.torch.hooks", "tutti.horovod.torch", "tutti.horovod.torch.elastic",
                  "tutti.learn.linear", "tutti.learn.tree", "tutti.learn.data", "tutti.learn.model", "snap_ml",
                  "snap_ml_mpi", "snap_ml_mpi.Loaders", "snap_ml_mpi.Metrics", "tutti.tune", "tutti.tune.studies",
                  "tutti.tune.study", "tutti.tune.trial", "tutti.tune.distributions", "tutti.tune.samplers",
                  "tutti.tune.pruners", "tutti.tune.importance", "tutti.tune.optuna_files", "tutti.tune.storages",
                  "tutti.tune.exceptions", "tutti.tune.logging")
DOXYGEN = """
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
XML_OUTPUT = {output}
STRIP_FROM_PATH = {root}
FULL_PATH_NAMES = YES
EXTRACT_ALL = YES
JAVADOC_AUTOBRIEF = YES
HIDE_FRIEND_COMPOUNDS = YES
EXCLUDE_SYMBOLS = *internal* tutti::DTypeOf*
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = DDL_API= DDL_DEFAULT(x)= __cplusplus TUTTI_THREAD_ANNOTATION(x)=
PREDEFINED += TUTTI_GUARDED_BY(x)= TUTTI_REQUIRES(x)= TUTTI_ACQUIRE(x)= TUTTI_RELEASE(x)=
PREDEFINED += TUTTI_NO_THREAD_SAFETY_ANALYSIS=
INPUT_FILTER = "{python} {tool} --filter"
INPUT = {headers}
QUIET = YES
WARN_IF_UNDOCUMENTED = NO
WARN_AS_ERROR = FAIL_ON_WARNINGS
"""

INDEX = '<!DOCTYPE html>\n<title>Tutti</title>\n<meta http-equiv="refresh" content="0; url=README.html">\n'


def filtered(text):
    """Returns the header with its comments marked for Doxygen: `///` before a declaration, `///<` after one."""

    def escaped(comment):  # Doxygen treats <name> as HTML, and @ and \\ as commands
        parts = re.split(r"(`[^`]*`)", comment)
        parts[::2] = [re.sub(r"([<>@\\#])", r"\\\1", part) for part in parts[::2]]
        return "".join(parts)

    text = re.sub(r"^/\*(?!\*)", "/** @file\n", text)  # the first comment describes the file
    text = re.sub(r"^(\s+|)/\*(?!\*)", r"\1/**", text, flags=re.MULTILINE)
    text = re.sub(r"([;,])( +)/\*(?!\*)", r"\1\2/**<", text)
    lines = ["/// @file"] if text.startswith("//") else []
    for line in text.splitlines():
        if line.startswith("#pragma once"):
            lines.append("")
        elif match := re.match(r"(\s*)// ?(.*)$", line):
            lines.append(f"{match[1]}/// {escaped(match[2])}")
        elif match := re.match(r"(\s*[^\s/#].*?[;,{])  // (.*)$", line):
            is_member = not match[1].endswith("{")
            lines.append(f"{match[1]}  ///< {escaped(match[2])}" if is_member else match[1])
        else:
            lines.append(line)
    return "\n".join(lines) + "\n"


def headers(root):
    """Returns the public C++ headers: those that are installed."""
    text = (root / "cmake/public_headers.cmake").read_text(encoding="utf-8")
    return ["tutti/comm/c_api/ddl.h"] + re.findall(r"^  (tutti/\S+\.h)$", text, re.MULTILINE)


def with_pages_only(root, path, text, staged):
    """Returns the text with links to directories as plain text, and copies other linked files for download."""

    def replace(match):
        link = match[1] or match[2]
        name = link.partition("#")[0]
        target = root / path.parent / name
        if re.match(r"[a-z]+:", link) or not name or name.endswith(".md"):
            return match[0]
        if target.is_dir():
            return re.match(r"!?\[([^\]]*)\]", match[0])[1]
        copy = staged / path.parent / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(target, copy)
        return match[0]

    parts = re.split(f"({check_docs.BLOCK.pattern})", text, flags=check_docs.BLOCK.flags)
    width = check_docs.BLOCK.groups + 2  # text, whole block, groups of the block
    return "".join(check_docs.LINK.sub(replace, part) if i % width == 0 else part
                   for i, part in enumerate(parts) if i % width < 2)


def toctree(caption, pages):
    return "\n".join(["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""])


def sections(root):
    """Returns the (heading, pages) pairs of docs/README.md; pages without their suffix."""
    text = (root / "docs/README.md").read_text(encoding="utf-8")
    for heading, body in re.findall(r"^## ([^\n]*)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL):
        links = re.findall(r"\]\(([^)#]+)\.md\)", body)
        yield heading, [os.path.normpath(f"docs/{link}") for link in links]


def stage(root, staged):
    """Copies all Markdown pages, and writes the navigation and the pages of the API reference."""
    pages = [path for path in source_tree.files(root, ".md") if not path.is_relative_to(SITE)]
    for path in pages:
        copy = staged / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = (root / path).read_text(encoding="utf-8")
        copy.write_text(with_pages_only(root, path, text, staged), encoding="utf-8")
    navigation = "".join(toctree(heading, pages) for heading, pages in sections(root))
    navigation += toctree("API", stage_cpp(root, staged) + stage_python(staged))
    listed = {page for _, listed_pages in sections(root) for page in listed_pages} | {"README"}
    others = [str(path.with_suffix("")) for path in pages if str(path.with_suffix("")) not in listed]
    navigation += toctree("Examples", [page for page in others if page.startswith("examples/")])
    navigation += toctree("Project", [page for page in others if "/" not in page] + ["docs/README"])
    navigation += toctree("Sources", [page for page in others if "/" in page and not page.startswith(("examples/", "docs/"))])
    with open(staged / "README.md", "a", encoding="utf-8") as file:
        file.write(navigation)


def stage_cpp(root, staged):
    (staged / "api/cpp").mkdir(parents=True, exist_ok=True)
    names = []
    for path in headers(root):
        names.append(path.replace("/", "-").removesuffix(".h"))
        title = path.removeprefix("tutti/")
        (staged / f"api/cpp/{names[-1]}.rst").write_text(
            f"{title}\n{'=' * len(title)}\n.. doxygenfile:: {path}\n", encoding="utf-8")
    text = "C++\n===\n.. toctree::\n   :maxdepth: 1\n\n" + "".join(f"   cpp/{name}\n" for name in names)
    (staged / "api/cpp.rst").write_text(text, encoding="utf-8")
    return ["api/cpp"]


def stage_python(staged):
    (staged / "api/python").mkdir(parents=True, exist_ok=True)
    for name in PYTHON_MODULES:
        # The classes of snap_ml are also in tutti.learn, those of tutti.tune in its modules.
        options = "   :noindex:\n" if name.startswith("snap_ml") or name == "tutti.tune" else ""
        options += "   :imported-members:\n" if name.startswith("tutti.horovod") else ""  # packages without __all__
        text = f"{name}\n{'=' * len(name)}\n.. automodule:: {name}\n{options}"
        (staged / f"api/python/{name}.rst").write_text(text, encoding="utf-8")
    text = "Python\n======\n.. toctree::\n   :maxdepth: 1\n\n" + "".join(f"   python/{name}\n" for name in PYTHON_MODULES)
    (staged / "api/python.rst").write_text(text, encoding="utf-8")
    return ["api/python"]


def run_doxygen(root, output):
    configuration = DOXYGEN.format(output=output, root=root, python=sys.executable, tool=Path(__file__).resolve(),
                                   headers=" ".join(str(root / path) for path in headers(root)))
    return subprocess.run(["doxygen", "-"], input=configuration, text=True, cwd=root).returncode


def version(root):
    match = re.search(r"project\(tutti VERSION ([\d.]+)", (root / "CMakeLists.txt").read_text(encoding="utf-8"), re.IGNORECASE)
    return match[1] if match else ""


def build(root, output):
    missing = [program for program in ("doxygen", "sphinx-build") if not shutil.which(program)]
    if missing:
        print(f"build_docs: missing {', '.join(missing)}. Run: scripts/install-deps.sh --for docs", file=sys.stderr)
        return 2
    staged, doxygen = output / "source", output / "doxygen"
    for folder in (staged, doxygen, output / "doctrees", output / "html"):
        shutil.rmtree(folder, ignore_errors=True)
    staged.mkdir(parents=True)
    doxygen.mkdir()
    stage(root, staged)
    if code := run_doxygen(root, doxygen):
        return code
    environment = {**os.environ, "TUTTI_ROOT": str(root), "TUTTI_VERSION": version(root), "TUTTI_DOXYGEN": str(doxygen)}
    command = ["sphinx-build", "-W", "--keep-going", "-q", "-c", str(root / SITE), "-d", str(output / "doctrees"),
               str(staged), str(output / "html")]
    code = subprocess.run(command, env=environment).returncode
    if code == 0:
        (output / "html/index.html").write_text(INDEX, encoding="utf-8")
        print(f"site: {output}/html/index.html")
    return code


def main(arguments):
    if arguments[:1] == ["--filter"]:
        print(filtered(Path(arguments[1]).read_text(encoding="utf-8")), end="")
        return 0
    output = Path(arguments[0] if arguments else source_tree.ROOT / "build/docs").resolve()
    return build(source_tree.ROOT, output)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
