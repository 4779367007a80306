"""Does in an empty directory what the README says: readme.py --root DIR --work DIR

Marks before its code blocks say how:
  <!-- file: NAME -->   what goes into that file
  <!-- run -->          commands that must succeed
  <!-- session -->      '$ command' and, below it, all that it prints. The shell's word for a program that was killed is
                        'Killed'
The caller's environment says where the library is (CMAKE_PREFIX_PATH) and which compiler to use (CXX).
"""

import argparse
import shutil
import signal
import subprocess
import sys
from pathlib import Path

from documents import read_document

TIMEOUT = 300  # seconds; a program that hangs must not hang its test


def run(command, folder):
    """What it printed, and how it ended."""
    outcome = subprocess.run(
        ["bash", "-c", command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=TIMEOUT,
        check=False)
    return outcome.stdout, outcome.returncode


def play(block, folder):
    """Runs a session and says what is not as it is written; empty: everything is."""
    written = block.text.rstrip("\n")
    happened = []
    for line in written.splitlines():
        if not line.startswith("$ "):
            continue
        happened.append(line)
        output, code = run(line[2:], folder)
        happened += output.splitlines()
        if code in (-signal.SIGKILL, 128 + signal.SIGKILL):
            happened.append("Killed")
    if written.splitlines() == happened:
        return ""
    return f"{block.place()}: the session is in truth\n" + "\n".join(happened)


def follow(document, folder):
    files, commands, sessions = 0, 0, 0
    for block in document.blocks:
        if "file" in block.marks:
            (folder / block.marks["file"]).write_text(block.text, encoding="utf-8")
            files += 1
        elif "run" in block.marks:
            for line in block.text.splitlines():
                output, code = run(line, folder)
                print(f"$ {line}\n{output}", end="")
                commands += 1
                if code != 0:
                    return f"{block.place()}: '{line}' ended with {code}"
        elif "session" in block.marks:
            difference = play(block, folder)
            sessions += 1
            if difference:
                return difference
    if not (files and commands and sessions):
        return f"{document.path}: it has {files} files, {commands} commands and {sessions} sessions; some of each are needed"
    print(f"readme: {files} files, {commands} commands, {sessions} sessions")
    return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="is emptied")
    arguments = parser.parse_args()
    shutil.rmtree(arguments.work, ignore_errors=True)
    arguments.work.mkdir(parents=True)
    error = follow(read_document(arguments.root, Path("README.md")), arguments.work)
    if error:
        print(error)
    return 1 if error else 0


if __name__ == "__main__":
    sys.exit(main())
