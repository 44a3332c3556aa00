#!/usr/bin/python3
"""Checks comments, strings and documents for words and phrases that are not the usual technical English.

  tools/check_prose.py              prints the errors; exit 1 if there are any
  tools/check_prose.py --all        also prints the warnings
  tools/check_prose.py --count      prints the hits per path and rule

tools/prose_rules.toml lists the expressions, each with the words to use instead.
"""

import argparse
import collections
import io
import re
import sys
import tokenize
import tomllib
from pathlib import Path

import source_tree

RULES = Path(__file__).resolve().parent / "prose_rules.toml"
CXX_PROSE = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:[^"\\\n]|\\.)*"', re.S)
BLANKED = re.compile(r"[^\n]+")
FENCE = re.compile(r"^```.*?^```", re.S | re.M)
HASH_COMMENT = re.compile(r"(?:^|(?<=\s))#(?!!)[^\n]*", re.M)


def keep_lines(text, spans):
    """The spans of `text`, everything else blanked, so that line numbers stay."""
    kept, last = [], 0
    for begin, end in spans:
        kept += [BLANKED.sub(" ", text[last:begin]), text[begin:end]]
        last = end
    return "".join(kept)


def cxx_prose(text):
    lines = [line if not line.startswith("#include") else "" for line in text.split("\n")]
    text = "\n".join(lines)
    return keep_lines(text, (match.span() for match in CXX_PROSE.finditer(text)))


def python_prose(text):
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    spans = [(starts[token.start[0] - 1] + token.start[1], starts[token.end[0] - 1] + token.end[1])
             for token in tokenize.generate_tokens(io.StringIO(text).readline)
             if token.type in (tokenize.COMMENT, tokenize.STRING)]
    return keep_lines(text, spans)


def markdown_prose(text):
    return FENCE.sub(lambda match: "\n" * match.group().count("\n"), re.sub(r"`[^`\n]*`", "``", text))


def script_prose(text):
    return keep_lines(text, (match.span() for match in HASH_COMMENT.finditer(text)))


PROSE = {".h": cxx_prose, ".cc": cxx_prose, ".c": cxx_prose, ".py": python_prose, ".pyi": python_prose, ".md": markdown_prose,
         ".sh": script_prose, ".cmake": script_prose, "CMakeLists.txt": script_prose, "Makefile": script_prose,
         "error_codes.toml": lambda text: text}


def prose_of(root, path):
    text = (root / path).read_text(encoding="utf-8")
    return PROSE[path.name if path.name in PROSE else path.suffix](text)


class Rule:
    def __init__(self, row):
        self.name, self.instead, self.is_error = row["find"], row["write"], row.get("error", True)
        self.expression = re.compile(row["find"], re.M)
        self.except_in = tuple(row.get("except_in", ()))


def hits(root, path, rules, any_rule):
    text = prose_of(root, path)
    for rule in rules if any_rule.search(text) else ():
        if path.as_posix().startswith(rule.except_in or ("\0",)):
            continue
        for match in rule.expression.finditer(text):
            yield rule, text.count("\n", 0, match.start()) + 1, " ".join(match.group().split())


def check(root, rules_path=RULES):
    """Yields all hits as (path, line, rule, words, whether it fails the check)."""
    table = tomllib.loads(rules_path.read_text(encoding="utf-8"))
    rules = [Rule(row) for row in table["rule"]]
    any_rule = re.compile("|".join(f"(?:{rule.name})" for rule in rules), re.M)
    skipped = tuple(table.get("skipped", ()))
    for path in source_tree.files(root, tuple(PROSE)):
        name = path.as_posix()
        if name.startswith(skipped or ("\0",)):
            continue
        for rule, line, words in hits(root, path, rules, any_rule):
            yield path, line, rule, words, rule.is_error


def main():
    parser = argparse.ArgumentParser(description="Checks the English of comments, strings and documents.")
    parser.add_argument("--all", action="store_true", help="also print warnings")
    parser.add_argument("--count", action="store_true", help="print only the number of hits of each path and rule")
    arguments = parser.parse_args()
    found = list(check(source_tree.ROOT))
    failures = [hit for hit in found if hit[4]]
    if arguments.count:
        for kind in (lambda hit: "/".join(hit[0].parts[:2]), lambda hit: hit[2].name):
            for key, count in collections.Counter(map(kind, found)).most_common():
                print(f"{count:6} {key}")
    for path, line, rule, words, fails in found if arguments.all else failures:
        if not arguments.count:
            print(f"{'error' if fails else 'warning'}: {path}:{line}: \"{words}\": write {rule.instead}")
    print(f"check_prose: {len(failures)} errors, {len(found) - len(failures)} warnings")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
