"""Checks what the documents point at: references.py --root DIR [--perdure PROGRAM]

Relative links lead to a file that is there, and their fragment to a heading of it. Every `make X` is a target, and every
`perdure X --option` a command with that option, whether it stands in the prose or in a block of commands. `perdure X | Y`
names two commands.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

from documents import all_documents, read_document

MAKE = re.compile(r"^(?:\$ )?make ([a-z][a-z0-9_-]*)")
# Not of build/mutation, which is another program: it has planted faults and commands for them.
PERDURE = re.compile(r"^(?:\$ )?(?:\S+=\S+ )*(?:build/release/bin/)?perdure ([a-z][a-z-]*(?: \| [a-z][a-z-]*)*)((?: .*)?)$")
LONG_OPTION = re.compile(r"(?<=\s)(--[a-z][a-z-]*)")


def broken_links(root, document):
    errors = []
    for line, target in document.links:
        if re.match(r"^[a-z][a-z0-9+.-]*:", target):
            continue
        path, _, fragment = target.partition("#")
        file = (root / document.path).parent / path if path else root / document.path
        if not file.exists():
            errors.append(f"{document.path}:{line}: the link leads to {path}, which does not exist")
        elif fragment and file.suffix == ".md":
            anchors = read_document(root, file.resolve().relative_to(root.resolve())).anchors
            if fragment not in anchors:
                errors.append(f"{document.path}:{line}: {path or 'this document'} has no heading '#{fragment}'")
    return errors


def commands(document):
    """(place, command line) of everything that somebody may type: code in the prose, and lines of blocks of commands."""
    for line, span in document.spans:
        yield f"{document.path}:{line}", span
    for block in document.blocks:
        if block.language in ("", "sh", "text", "console"):
            for offset, line in enumerate(block.text.splitlines()):
                if block.language != "console" or line.startswith("$ "):  # the other lines there are output
                    yield f"{block.path}:{block.line + offset}", line.strip()


class Programs:
    """What make and perdure know; each is asked once."""

    def __init__(self, root, perdure):
        self.root = root
        self.perdure = perdure
        self.targets = {}
        self.helps = {}

    def has_target(self, target):
        if target not in self.targets:
            command = ["make", "-n", target]
            self.targets[target] = subprocess.run(command, cwd=self.root, capture_output=True, check=False).returncode == 0
        return self.targets[target]

    def help_of(self, command):
        """What it prints for --help; nothing: there is no such command."""
        if command not in self.helps:
            outcome = subprocess.run([self.perdure, *command.split(), "--help"], capture_output=True, text=True, check=False)
            # Behind a command that it does not know, --help is the program's own.
            unknown = outcome.returncode != 0 or (command and outcome.stdout == self.help_of(""))
            self.helps[command] = None if unknown else outcome.stdout
        return self.helps[command]


def unknown_commands(document, programs):
    errors = []
    for place, line in commands(document):
        make = MAKE.match(line)
        if make and not programs.has_target(make[1]):
            errors.append(f"{place}: there is no target '{make[1]}' in the Makefile")
        perdure = PERDURE.match(line)
        if not perdure or programs.perdure is None:
            continue
        for name in perdure[1].split(" | "):
            known = programs.help_of(name)
            if known is None:
                errors.append(f"{place}: there is no command 'perdure {name}'")
                continue
            for option in LONG_OPTION.findall(perdure[2]):
                if not re.search(rf"{option}\b", known + (programs.help_of("") or "")):
                    errors.append(f"{place}: 'perdure {name}' has no option {option}")
    return errors


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--perdure", help="the program; without it its commands are not checked")
    arguments = parser.parse_args()
    programs = Programs(arguments.root, arguments.perdure)
    errors = []
    for document in all_documents(arguments.root):
        errors += broken_links(arguments.root, document) + unknown_commands(document, programs)
    for error in errors:
        print(error)
    print(f"references: {len(programs.targets)} targets and {len(programs.helps)} commands are named; {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
