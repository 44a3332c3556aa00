#!/usr/bin/python3
"""Checks the sizes of files, functions, classes and directories.

  tools/check_sizes.py [ROOT]       prints the largest of each kind on one screen; exit 1 above a limit
  tools/check_sizes.py --all        prints everything above its target
"""

import ast
import collections
import dataclasses
import re
import sys
from pathlib import Path

import source_tree

FILE_CEILING = 500
FUNCTION_CEILING = 80
FILE_AIMS = {".h": 120, ".cc": 300}
FUNCTION_AIM = 30
FOLDER_AIM = 30  # C++ files in one directory, without tests
METHOD_AIM = 15
MEMBER_AIM = 10
PLURALS = {"folder": "folders", "class": "classes", "file": "files", "function": "functions", "core": ""}
SHOWN = 6  # findings of each kind that are printed without --all
CORE = ("core", "topo", "plan", "comm")
CORE_AIM = 17_000  # docs/decisions/0004-core-size-budget.md

# Comments, literals and directives, whose braces are not code. A digit separator (1'000) is not a literal.
NOT_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*
    |R"(?P<mark>[^()\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
NOT_A_FUNCTION = re.compile(r"^\s*(template\s*<.*?>\s*)?(inline\s+)?(namespace|class|struct|union|enum|extern)\b", re.DOTALL)
AFTER_PARAMETERS = ("const", "noexcept", "override", "final", "try", "mutable")


def blanked(text):
    """Returns the text with everything that is not code replaced by blanks, which preserves line numbers."""
    return NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def opens_function(head):
    """Returns whether `{` after this text, at namespace or class level, begins the body of a function."""
    if "(" not in head or NOT_A_FUNCTION.match(head):
        return False
    before_parameters = head[: head.index("(")].replace("operator=", "")
    return "=" not in before_parameters


def is_member_initialiser(head):
    """Returns whether `{` after this text initialises a member, as in `Foo() : count_{0} {`."""
    last_word = re.search(r"(\w+)\s*$", head)
    in_list = re.search(r"\)[\w\s]*:(?!:)", head)
    return bool(in_list and last_word and last_word.group(1) not in AFTER_PARAMETERS)


def cxx_functions(text):
    """Returns (first line, name, lines) of every function that is not nested in another one."""
    code = blanked(text)
    found, head_start, depth_in_function, initialiser_depth, start = [], 0, 0, 0, 0
    for at, char in enumerate(code):
        if char == "{":
            head = code[head_start:at]
            if depth_in_function:
                depth_in_function += 1
            elif initialiser_depth or (opens_function(head) and is_member_initialiser(head)):
                initialiser_depth += 1
            elif opens_function(head):
                depth_in_function, start = 1, head_start + len(head) - len(head.lstrip())
            else:
                head_start = at + 1
        elif char == "}":
            if initialiser_depth:
                initialiser_depth -= 1
            elif depth_in_function > 1:
                depth_in_function -= 1
            else:
                if depth_in_function:
                    depth_in_function = 0
                    name = re.search(r"([~\w:]+|operator\S+)\s*\(", code[start:at])
                    lines = code.count("\n", start, at) + 1
                    found.append((code.count("\n", 0, start) + 1, name.group(1) if name else "?", lines))
                head_start = at + 1
        elif char == ";" and not depth_in_function and not initialiser_depth:
            head_start = at + 1
    return found


def python_functions(text):
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return [(node.lineno, node.name, node.end_lineno - node.lineno + 1) for node in nodes]


def python_programs(root):
    """Returns the Python programs in scripts/ whose names have no suffix."""
    plain = [path for path in source_tree.files(root, "") if path.parts[0] == "scripts" and not path.suffix]
    return [path for path in plain if (root / path).read_text(encoding="utf-8").startswith("#!/usr/bin/python3")]


CLASS = re.compile(r"\b(?:class|struct)\s+(?:alignas\([^)]*\)\s*)?([\w:]+)(?:\s+final)?\s*(?::[^;{]*)?\{")
MEMBER = re.compile(r"\w_\s*(?:\{[^;]*\}|=[^;]*|\[[^;]*\])?\s*$")


def class_body(code, start):
    """Returns the declarations of the class whose `{` is before `start`, without function bodies and nested classes."""
    depth, declarations, current = 1, [], []
    for char in code[start:]:
        if char == "{":
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                break
            if depth == 1 and "(" in "".join(current):  # the body of a function ends its declaration
                declarations.append("".join(current))
                current = []
        elif depth == 1:
            if char == ";":
                declarations.append("".join(current))
                current = []
            else:
                current.append(char)
    return declarations


def cxx_classes(text):
    """Returns (line, name, methods, members) of every class; names of members end with an underscore."""
    code = blanked(text)
    found = []
    for match in CLASS.finditer(code):
        declarations = class_body(code, match.end())
        members = sum(1 for one in declarations if MEMBER.search(one))
        methods = sum(1 for one in declarations if is_method(one))
        found.append((code.count("\n", 0, match.start()) + 1, match.group(1), methods, members))
    return found


def is_method(declaration):
    if "(" not in declaration or MEMBER.search(declaration):
        return False
    return not re.search(r"=\s*(delete|default)\s*$|\b(using|friend|static_assert|typedef)\b", declaration)


@dataclasses.dataclass
class Finding:
    kind: str  # file, function, class, directory
    size: int
    text: str


def measure(root, path):
    """Returns (errors, findings above a target) of one file."""
    text = (root / path).read_text(encoding="utf-8")
    lines = text.count("\n")
    is_test = source_tree.is_test(path)
    is_cxx = path.suffix in source_tree.CXX
    errors, findings = [], []
    if lines > FILE_CEILING:
        errors.append(f"{path}: {lines} lines; the limit is {FILE_CEILING}")
    elif not is_test and lines > FILE_AIMS.get(path.suffix, FILE_CEILING):
        findings.append(Finding("file", lines, f"{path}: {lines} lines; aim at {FILE_AIMS[path.suffix]}"))
    for line, name, length in cxx_functions(text) if is_cxx else python_functions(text):
        if length > FUNCTION_CEILING:
            errors.append(f"{path}:{line}: {name} has {length} lines; the limit is {FUNCTION_CEILING}")
        elif not is_test and length > FUNCTION_AIM:
            findings.append(Finding("function", length, f"{path}:{line}: {name} has {length} lines; aim at {FUNCTION_AIM}"))
    if is_cxx and not is_test:
        for line, name, methods, members in cxx_classes(text):
            if methods > METHOD_AIM or members > MEMBER_AIM:
                counts = f"{methods} methods and {members} members; aim at {METHOD_AIM} and {MEMBER_AIM}"
                findings.append(Finding("class", methods + members, f"{path}:{line}: {name} has {counts}"))
    return errors, findings


def folder_findings(paths):
    counts = collections.Counter(path.parent for path in paths if not source_tree.is_test(path))
    return [Finding("folder", count, f"{folder}: {count} files; aim at {FOLDER_AIM}")
            for folder, count in counts.items() if count > FOLDER_AIM]


def code_lines(text):
    """Returns the number of lines that are neither blank nor only comment."""
    return sum(1 for line in COMMENT.sub("", text).splitlines() if line.strip())


def core_lines(root):
    paths = [path for path in source_tree.files(root, source_tree.CXX) if path.parts[0] == "tutti" and path.parts[1] in CORE]
    return sum(code_lines((root / path).read_text(encoding="utf-8")) for path in paths if not source_tree.is_test(path))


def check(root):
    """Returns (errors, findings above a target, lines of code of the core libraries) of the whole tree."""
    errors, findings = [], []
    cxx = source_tree.files(root, source_tree.CXX)
    for path in cxx + source_tree.files(root, ".py") + python_programs(root):
        more_errors, more_findings = measure(root, path)
        errors += more_errors
        findings += more_findings
    findings += folder_findings(cxx)
    core = core_lines(root)
    if core > CORE_AIM:
        findings.append(Finding("core", core, f"{' + '.join(CORE)} have {core} lines of code; aim at {CORE_AIM} together"))
    return errors, findings, core


def report(findings, shown):
    for kind in ("core", "folder", "class", "file", "function"):
        ordered = sorted((one for one in findings if one.kind == kind), key=lambda one: -one.size)
        for one in ordered[:shown]:
            print(f"warning: {one.text}")
        if len(ordered) > shown:
            print(f"warning: ... and {len(ordered) - shown} more {PLURALS[kind]} above the target (--all lists them)")


def main():
    arguments = [one for one in sys.argv[1:] if one != "--all"]
    errors, findings, core = check(Path(arguments[0]) if arguments else source_tree.ROOT)
    report(findings, len(findings) if "--all" in sys.argv else SHOWN)
    for text in errors:
        print(f"error: {text}")
    counts = collections.Counter(one.kind for one in findings)
    above = ", ".join(f"{counts[kind]} {PLURALS[kind]}" for kind in ("folder", "class", "file", "function"))
    print(f"check_sizes: {len(errors)} above a limit; above the target: {above}; {' + '.join(CORE)}: {core} lines of code")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
