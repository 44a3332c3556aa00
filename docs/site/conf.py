"""Sphinx configuration of the documentation site. tools/build_docs.py stages the sources and runs sphinx-build."""

import logging
import os
import re
import sys
import warnings

from sphinx.domains.cpp import CPPDomain

sys.path.insert(0, os.path.join(os.environ["TUTTI_ROOT"], "python"))
warnings.filterwarnings("ignore")

project = "Tutti"
author = "the Tutti authors"
copyright = "the Tutti authors, Apache-2.0"
version = release = os.environ["TUTTI_VERSION"]

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "breathe"]
root_doc = "README"
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # READMEs of one line under a heading

html_theme = "sphinx_rtd_theme"
html_theme_options = {"collapse_navigation": True, "navigation_depth": 3}
html_show_sphinx = False
html_copy_source = False
html_css_files = ["tutti.css"]
html_static_path = ["_static"]
highlight_language = "text"  # of blocks without a language: program output
pygments_style = "friendly"

# The compiled modules are not needed to read docstrings and signatures.
autodoc_mock_imports = ["tutti._comm", "tutti._learn", "tutti._model", "tutti._torch", "tutti._tree",
                        "tutti._tune"]
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "undoc-members": True}
autodoc_inherit_docstrings = False
autodoc_preserve_defaults = True

breathe_projects = {"tutti": os.environ["TUTTI_DOXYGEN"]}
breathe_default_project = "tutti"
breathe_default_members = ("members", "undoc-members")
breathe_show_include = False


def markdown_to_rst(app, what, name, obj, options, lines):
    """Docstrings use Markdown's backticks and indented code, which reStructuredText writes in another way."""
    result, is_code = [], False
    is_numpy_style = any(re.match(r"\s*-{4,}$", line) for line in lines)
    for i, line in enumerate(lines):
        is_indented = line.startswith("    ") and not is_numpy_style
        if is_indented and not is_code and (i == 0 or not lines[i - 1].strip()):
            result += ["::", ""]
            is_code = True
        elif line.strip() and not is_indented:
            is_code = False
        is_literal = line.lstrip().startswith((">>>", "...")) or re.match(r"\s*[\w, *]+ : ", line)  # doctests, parameters
        if is_code or is_literal:
            result.append(line)
            continue
        parts = re.split(r"`([^`]*)`", line)
        parts[::2] = [re.sub(r"(\*|\||\w_\b)", lambda m: m[0][:-1] + "\\" + m[0][-1], part) for part in parts[::2]]
        parts[1::2] = [f"``{part}``" for part in parts[1::2]]
        result.append("".join(parts))
    lines[:] = result


def is_no_repeated_namespace(record):
    """Every page of a header declares its namespaces, which Sphinx reports as duplicate declarations."""
    return not re.search(r"Duplicate C\+\+ declaration.*\nDeclaration is '.. cpp:type:: [a-z_]+'", record.getMessage())


all_cpp_objects = CPPDomain.get_objects


def cpp_objects_without_parameters(domain):
    """Parameters would fill the results of a search for a function."""
    return (row for row in all_cpp_objects(domain) if row[2] not in ("functionParam", "templateParam"))


def setup(app):
    CPPDomain.get_objects = cpp_objects_without_parameters
    logging.getLogger("sphinx.sphinx.domains.cpp").addFilter(is_no_repeated_namespace)
    app.connect("autodoc-process-docstring", markdown_to_rst, priority=400)  # before napoleon
