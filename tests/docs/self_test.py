"""The tests of the documents, on planted ones: what is wrong in a document must be found."""

import tempfile
import unittest
from pathlib import Path

import blocks
import readme
import references
from documents import all_documents, read_document


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)

    def write(self, text, name="README.md"):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return read_document(self.root, Path(name))


class FakeCompiler:
    """Refuses a source with the word 'wrong' in it."""

    def __init__(self):
        self.sources = []

    def check(self, _name, source, alone=False):
        self.sources.append((alone, source))
        return "error: a wrong word" if "wrong" in source else ""


class Blocks(Folder):
    def check(self, text):
        self.compiler = FakeCompiler()
        checker = blocks.Checker(self.root, self.compiler, self.root)
        checker.check(self.write(text))
        return checker.errors

    def test_blocks_of_a_document_are_one_unit_in_their_order(self):
        self.assertEqual([], self.check("```cpp\n#include <map>\nint a;\n```\n\n```cpp\nint b = a;\n```\n"))
        ((alone, source),) = self.compiler.sources
        self.assertFalse(alone)
        self.assertTrue(source.startswith("#include <map>\n"))
        self.assertLess(source.index("int a;"), source.index("int b = a;"))
        self.assertIn('#line 7 "README.md"', source)

    def test_statements_and_programs(self):
        self.check("<!-- compile: statements -->\n```cpp\nrun();\n```\n<!-- compile: program -->\n```cpp\nint main() {}\n```\n")
        self.assertIn("void statements_0() {", self.compiler.sources[1][1])
        self.assertTrue(self.compiler.sources[0][0])

    def test_code_that_does_not_compile(self):
        self.assertIn("README.md: does not compile", self.check("```cpp\nwrong\n```\n")[0])
        self.assertIn("README.md:3: does not compile", self.check("<!-- compile: program -->\n```cpp\nwrong\n```\n")[0])

    def test_code_that_must_not_compile(self):
        self.assertEqual([], self.check("<!-- does not compile: a wrong word -->\n```cpp\nwrong\n```\n"))
        self.assertIn("does not say", self.check("<!-- does not compile: other words -->\n```cpp\nwrong\n```\n")[0])
        self.assertIn("accepts", self.check("<!-- does not compile: a wrong word -->\n```cpp\nright\n```\n")[0])

    def test_nothing_is_left_out_in_silence(self):
        self.assertIn("with no language", self.check("```\nx\n```\n")[0])
        self.assertIn("the language 'c++'", self.check("```c++\nx\n```\n")[0])
        self.assertIn("looks like C++", self.check("Text\n\n    int a = 5;  // five\n")[0])
        self.assertIn("cannot compile as 'poem'", self.check("<!-- compile: poem -->\n```cpp\nx\n```\n")[0])
        self.assertIn("needs a reason", self.check("<!-- not compiled: -->\n```cpp\nx\n```\n")[0])
        self.assertIn("no prelude 'absent'", self.check("<!-- prelude: absent -->\n\nText\n\n```cpp\nx\n```\n")[0])
        self.assertEqual([], self.check("<!-- not compiled: output -->\n```cpp\nwrong\n```\n"))

    def test_quotations(self):
        (self.root / "a.cpp").write_text("int a;\n")
        self.assertEqual([], self.check("<!-- quoted from: a.cpp -->\n```cpp\nint a;\n```\n"))
        self.assertIn("no longer", self.check("<!-- quoted from: a.cpp -->\n```cpp\nint b;\n```\n")[0])
        self.assertIn("does not exist", self.check("<!-- quoted from: b.cpp -->\n```cpp\nint b;\n```\n")[0])


class FakePrograms(references.Programs):
    def __init__(self, root):
        super().__init__(root, "perdure")
        self.helps = {"": "--version", "list": "--status TEXT", "gone": None}
        self.targets = {"test": True, "gone": False}


class References(Folder):
    def test_links(self):
        self.write("# A heading, with `code`\n", "docs/a.md")
        good = self.write("[a](docs/a.md), [b](docs/a.md#a-heading-with-code), [c](https://example.org/x), `[d](e)`\n")
        self.assertEqual([], references.broken_links(self.root, good))
        bad = self.write("[a](docs/b.md)\n[b](docs/a.md#other)\n[c](#nowhere)\n")
        self.assertEqual(3, len(references.broken_links(self.root, bad)))

    def unknown(self, text):
        return references.unknown_commands(self.write(text), FakePrograms(self.root))

    def test_commands(self):
        self.assertEqual([], self.unknown("`make test`, `perdure list --status failed`\n\n    make test   # text\n"))
        self.assertIn("no target 'gone'", self.unknown("`make gone`\n")[0])
        self.assertIn("README.md:3: there is no command 'perdure gone'", self.unknown("Text\n\n    perdure gone\n")[0])
        self.assertIn("no command 'perdure gone'", self.unknown("    perdure list | gone   # text\n")[0])
        self.assertIn("no option --colour", self.unknown("```sh\nperdure list --colour red\n```\n")[0])
        self.assertEqual(1, len(self.unknown("```console\n$ perdure list --colour red\nperdure gone\n```\n")))

    def test_a_program_that_answers_unknown_commands_with_its_own_help(self):
        program = self.root / "program"
        program.write_text("#!/bin/sh\nif [ \"$1\" = list ]; then echo of list; else echo of the program; fi\n")
        program.chmod(0o755)
        programs = references.Programs(self.root, str(program))
        self.assertEqual("of list\n", programs.help_of("list"))
        self.assertIsNone(programs.help_of("gone"))

    def test_the_documents_are_found(self):
        for name in ("README.md", "CONTRIBUTING.md", "docs/a.md", "examples/README.md"):
            self.write("# Title\n", name)
        self.assertEqual(4, len(all_documents(self.root)))


class Readme(Folder):
    def follow(self, session):
        text = f"<!-- file: a.txt -->\n```text\nhello\n```\n<!-- run -->\n```sh\ntest -f a.txt\n```\n<!-- session -->\n```text\n{session}\n```\n"
        return readme.follow(self.write(text), self.root)

    def test_a_session_that_is_true(self):
        self.assertEqual("", self.follow("$ cat a.txt; kill -9 $$\nhello\nKilled\n$ echo done\ndone"))

    def test_a_session_that_is_not(self):
        self.assertIn("in truth\n$ cat a.txt\nhello", self.follow("$ cat a.txt\ngoodbye"))

    def test_a_command_that_fails(self):
        self.assertIn("ended with 3", readme.follow(self.write("<!-- run -->\n```sh\nexit 3\n```\n"), self.root))

    def test_a_readme_without_all_of_these(self):
        self.assertIn("some of each are needed", readme.follow(self.write("# Nothing\n"), self.root))


if __name__ == "__main__":
    unittest.main()
