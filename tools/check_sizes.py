#!/usr/bin/python3
"""Small files, small functions, a heart that can be read in one afternoon.

  tools/check_sizes.py [ROOT]       warns above the aims, exit 1 above a ceiling
"""

import ast
import re
import sys
from pathlib import Path

import source_tree

FILE_CEILING = 500
FUNCTION_CEILING = 80
AIMS = {".h": 90, ".cc": 150}
FUNCTION_AIM = 30
HEART = ("core", "topo", "plan", "comm")
HEART_AIM = 17_000  # docs/decisions/0004-size-of-the-heart.md
NOT_HEART = "tutti/comm/fusion"  # stands on comm, as learn does

# Comments, literals and directives, whose braces mean nothing. A digit separator (1'000) is no literal.
NOT_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*
    |R"(?P<mark>[^()\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
NOT_A_FUNCTION = re.compile(r"^\s*(template\s*<.*?>\s*)?(inline\s+)?(namespace|class|struct|union|enum|extern)\b", re.DOTALL)
AFTER_PARAMETERS = ("const", "noexcept", "override", "final", "try", "mutable")


def blanked(text):
    """The text with everything that is not code replaced by blanks; lines stay where they are."""
    return NOT_CODE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def opens_function(head):
    """Whether `{` after this text, at namespace or class level, begins the body of a function."""
    if "(" not in head or NOT_A_FUNCTION.match(head):
        return False
    before_parameters = head[: head.index("(")].replace("operator=", "")
    return "=" not in before_parameters


def is_member_initialiser(head):
    """Whether `{` after this text initialises a member, as in `Foo() : count_{0} {`."""
    last_word = re.search(r"(\w+)\s*$", head)
    in_list = re.search(r"\)[\w\s]*:(?!:)", head)
    return bool(in_list and last_word and last_word.group(1) not in AFTER_PARAMETERS)


def cxx_functions(text):
    """(first line, name, lines) of every function body outside of other functions."""
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
    """Programs in scripts/ that go by a name without a suffix."""
    plain = [path for path in source_tree.files(root, "") if path.parts[0] == "scripts" and not path.suffix]
    return [path for path in plain if (root / path).read_text(encoding="utf-8").startswith("#!/usr/bin/python3")]


def measure(root, path):
    """(errors, warnings) of one file."""
    text = (root / path).read_text(encoding="utf-8")
    lines = text.count("\n")
    is_test = source_tree.is_test(path)
    errors, warnings = [], []
    if lines > FILE_CEILING:
        errors.append(f"{path}: {lines} lines; no file has more than {FILE_CEILING}")
    elif not is_test and lines > AIMS.get(path.suffix, FILE_CEILING):
        warnings.append(f"{path}: {lines} lines; aim at {AIMS[path.suffix]}")
    functions = cxx_functions(text) if path.suffix in source_tree.CXX else python_functions(text)
    for line, name, length in functions:
        if length > FUNCTION_CEILING:
            errors.append(f"{path}:{line}: {name} has {length} lines; no function has more than {FUNCTION_CEILING}")
        elif not is_test and length > FUNCTION_AIM:
            warnings.append(f"{path}:{line}: {name} has {length} lines; aim at {FUNCTION_AIM}")
    return errors, warnings


def code_lines(text):
    """Lines that are neither blank nor only comment: contracts and narratives cost the reader nothing."""
    return sum(1 for line in COMMENT.sub("", text).splitlines() if line.strip())


def heart_lines(root):
    paths = [path for path in source_tree.files(root, source_tree.CXX) if path.parts[0] == "tutti" and path.parts[1] in HEART and not path.is_relative_to(NOT_HEART)]
    return sum(code_lines((root / path).read_text(encoding="utf-8")) for path in paths if not source_tree.is_test(path))


def check(root):
    """(errors, warnings, lines of code of the heart) of the whole tree."""
    errors, warnings = [], []
    for path in source_tree.files(root, (*source_tree.CXX, ".py")) + python_programs(root):
        more_errors, more_warnings = measure(root, path)
        errors += more_errors
        warnings += more_warnings
    heart = heart_lines(root)
    if heart > HEART_AIM:
        warnings.append(f"{' + '.join(HEART)} have {heart} lines of code; aim at {HEART_AIM} together")
    return errors, warnings, heart


def main():
    errors, warnings, heart = check(Path(sys.argv[1]) if len(sys.argv) > 1 else source_tree.ROOT)
    for text in warnings:
        print(f"warning: {text}")
    for text in errors:
        print(f"error: {text}")
    print(f"check_sizes: {len(errors)} above a ceiling, {len(warnings)} above an aim; {' + '.join(HEART)}: {heart} lines of code")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
