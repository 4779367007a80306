"""Compiles every C++ block of the documents: blocks.py --root DIR --work DIR -- COMPILER FLAG...

All blocks of a document are one translation unit, in their order, so that a block sees what stands above it. A comment
before the block says what it is:

  (none), <!-- compile: declarations -->   functions, types and variables
  <!-- compile: apart -->                  the same in a namespace of its own, whose names later blocks do not see
  <!-- compile: statements -->             the body of a function
  <!-- compile: orchestration -->          the body of an orchestration, with its ctx
  <!-- compile: program -->                a whole source file, compiled alone
  <!-- quoted from: PATH -->               a source of this repository, word for word; the build compiles that
  <!-- does not compile: WORDS -->         declarations that the compiler must refuse with these words
  <!-- not compiled: REASON -->            no C++ of this library

<!-- prelude: NAME --> at the head of a document puts tests/docs/preludes/NAME.h in front of it: the names that its prose
takes for granted. Nothing is ever linked, so `extern` declarations will do.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

from documents import all_documents

KINDS = ("declarations", "apart", "statements", "orchestration", "program")
# What may stand in a fence without being C++.
OTHER_LANGUAGES = ("text", "sh", "cmake", "make", "sql", "json", "yaml", "ini", "dockerfile", "console", "diff", "prometheus")
LOOKS_LIKE_CPP = re.compile(r"(;|\) \{)\s*(//.*)?$")

HEADERS = (
    "chrono", "cstdint", "fstream", "iostream", "map", "memory", "stdexcept", "string", "thread", "vector",
    "gmock/gmock.h", "gtest/gtest.h", "perdure/perdure.h", "perdure/json.h", "perdure/history_check.h",
    "perdure/history_text.h", "perdure/postgres_provider.h", "perdure/testing/determinism_guard.h",
    "perdure/testing/gtest.h", "perdure/testing/provider_validation.h", "perdure/testing/replayer.h",
    "perdure/testing/simulate.h", "perdure/testing/test_environment.h",
)  # fmt: skip


class Unit:
    """One translation unit; its lines are known to the compiler by the places they come from."""

    def __init__(self, prelude):
        self.includes = []
        self.text = f'#include "{prelude}"\n' if prelude else ""

    def add(self, block, kind, number):
        code = []
        for line in block.text.splitlines():
            if re.match(r"\s*#\s*include\b", line):
                self.includes.append(line.strip())
                line = ""
            code.append(line)
        opening, closing = {
            "declarations": ("", ""),
            "apart": (f"namespace apart_{number} {{", "}"),
            "statements": (f"void statements_{number}() {{", "}"),
            "orchestration": (
                f"perdure::Orchestration<void> orchestration_{number}(perdure::OrchestrationContext ctx) {{",
                "co_return; }",
            ),
        }[kind]
        source = "\n".join(code)
        self.text += f'{opening}\n#line {block.line} "{block.path}"\n{source}\n{closing}\n'

    def source(self):
        return "\n".join(dict.fromkeys(self.includes)) + "\n" + self.text


class Compiler:
    def __init__(self, command, work):
        self.command = [part for part in command if part != "-fsyntax-only"]
        self.work = work
        work.mkdir(parents=True, exist_ok=True)
        self.headers = None

    def precompile(self):
        """Reading the headers takes longer than everything else, so it is done once."""
        self.headers = self.work / "headers.h"
        self.headers.write_text("".join(f"#include <{name}>\n" for name in HEADERS))
        extension = ".pch" if "clang" in Path(self.command[0]).name else ".gch"
        compiled = f"{self.headers}{extension}"
        outcome = self.run("-x", "c++-header", str(self.headers), "-o", compiled)
        if outcome.returncode != 0:
            sys.exit(f"blocks: the headers of the library cannot be compiled\n{outcome.stderr}")

    def run(self, *arguments):
        return subprocess.run([*self.command, *arguments], capture_output=True, text=True, check=False)

    def check(self, name, source, alone=False):
        """What the compiler says against the source; empty if it accepts it."""
        path = self.work / f"{name}.cpp"
        path.write_text(source)
        if not alone and self.headers is None:
            self.precompile()
        with_headers = [] if alone else ["-include", str(self.headers)]
        outcome = self.run("-fsyntax-only", *with_headers, str(path))
        if outcome.returncode == 0:
            return ""
        return outcome.stderr or f"the compiler ended with {outcome.returncode} and said nothing"


class Checker:
    def __init__(self, root, compiler, preludes):
        self.root = root
        self.compiler = compiler
        self.preludes = preludes
        self.errors = []
        self.counts = {}

    def check(self, document):
        prelude = None
        name = document.marks.get("prelude") or next(
            (block.marks["prelude"] for block in document.blocks if "prelude" in block.marks), None)
        if name is not None:
            prelude = self.preludes / f"{name}.h"
            if not prelude.exists():
                self.errors.append(f"{document.path}: there is no prelude '{name}' ({prelude})")
                return
        unit = Unit(prelude)
        used = False
        for number, block in enumerate(document.blocks):
            used = self.take(document, unit, block, number) or used
        if used:
            self.compile(unit_name(document), unit.source(), document.path)

    def take(self, document, unit, block, number):
        """Checks a block, or puts it into the unit of its document; true: it is there."""
        marks = block.marks
        if "not compiled" in marks:
            if not marks["not compiled"]:
                self.errors.append(f"{block.place()}: 'not compiled' needs a reason")
            self.count("left out, with a reason")
            return False
        if block.language != "cpp":
            self.refuse_hidden_code(block)
            return False
        if "quoted from" in marks:
            self.compare(block, marks["quoted from"])
            return False
        name = f"{unit_name(document)}_{block.line}"
        if "does not compile" in marks:
            self.must_fail(unit, block, number, name)
            return False
        kind = marks.get("compile", "declarations")
        if kind not in KINDS:
            self.errors.append(f"{block.place()}: cannot compile as '{kind}'; it is one of {', '.join(KINDS)}")
            return False
        self.count(kind)
        if kind == "program":
            self.compile(name, f'#line {block.line} "{block.path}"\n{block.text}', block.place(), alone=True)
            return False
        unit.add(block, kind, number)
        return True

    def refuse_hidden_code(self, block):
        if not block.indented and block.language not in OTHER_LANGUAGES:
            named = f"the language '{block.language}'" if block.language else "no language"
            self.errors.append(f"{block.place()}: a code block with {named}; name one of cpp, {', '.join(OTHER_LANGUAGES)}")
        if block.indented and any(LOOKS_LIKE_CPP.search(line) for line in block.text.splitlines()):
            self.errors.append(
                f"{block.place()}: this looks like C++ that nobody compiles; put it between ```cpp and ```, or say "
                "<!-- not compiled: why --> before it")

    def compare(self, block, path):
        self.count("quoted from a source")
        source = self.root / path
        if not source.exists():
            self.errors.append(f"{block.place()}: quotes {path}, which does not exist")
        elif block.text.rstrip("\n") != source.read_text(encoding="utf-8").rstrip("\n"):
            self.errors.append(f"{block.place()}: is no longer what {path} says; copy that into the block")

    def must_fail(self, unit, block, number, name):
        self.count("refused by the compiler")
        words = block.marks["does not compile"]
        wrong = Unit(None)
        wrong.includes = list(unit.includes)
        wrong.text = unit.text
        wrong.add(block, "declarations", number)
        said = self.compiler.check(name, wrong.source())
        if not said:
            self.errors.append(f"{block.place()}: the compiler accepts what the text says it refuses")
        elif words not in " ".join(said.split()):
            self.errors.append(f"{block.place()}: the compiler does not say '{words}':\n{said}")

    def compile(self, name, source, place, alone=False):
        said = self.compiler.check(name, source, alone)
        if said:
            self.errors.append(
                f"{place}: does not compile. (Statements need <!-- compile: statements --> before their block; see "
                f"tests/docs/blocks.py)\n{said}")

    def count(self, what):
        self.counts[what] = self.counts.get(what, 0) + 1


def unit_name(document):
    return re.sub(r"\W", "_", str(document.path.with_suffix("")))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--preludes", type=Path, default=Path(__file__).parent / "preludes")
    parser.add_argument("--only", help="a part of the path of the documents to look at")
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    checker = Checker(arguments.root, Compiler(arguments.command, arguments.work), arguments.preludes.resolve())
    for document in all_documents(arguments.root):
        if not arguments.only or arguments.only in str(document.path):
            checker.check(document)
    for error in checker.errors:
        print(error)
    print("blocks: " + ", ".join(f"{number} {what}" for what, number in sorted(checker.counts.items())))
    return 1 if checker.errors or not checker.counts else 0


if __name__ == "__main__":
    sys.exit(main())
