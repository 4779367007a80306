"""The documents of the repository: their code blocks, the marks before these, and their links.

A mark is an HTML comment on a line of its own, such as <!-- compile: statements -->. Marks that stand before a code block,
with nothing but blank lines between, belong to the block; the others to the whole document.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

MARK = re.compile(r"^<!--\s*([a-z][a-z ]*?)\s*(?::\s*(.*?))?\s*-->$")
FENCE = re.compile(r"^(\s*)(`{3,})\s*([A-Za-z0-9+_-]*)\s*$")
INLINE_LINK = re.compile(r"\[[^\]\[]*\]\(\s*<?([^)\s>]+)>?\s*\)")
REFERENCE_LINK = re.compile(r"^\s{0,3}\[[^\]]+\]:\s+(\S+)")
CODE_SPAN = re.compile(r"(`+)(.+?)\1")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
LIST_ITEM = re.compile(r"^\s*([-*+]|\d+[.)])\s")


@dataclass
class Block:
    path: Path  # of the document, relative to the repository
    line: int  # of its first line of code
    language: str  # empty: none was named, or the block is indented
    text: str
    indented: bool = False
    marks: dict = field(default_factory=dict)

    def place(self):
        return f"{self.path}:{self.line}"


@dataclass
class Document:
    path: Path
    blocks: list
    marks: dict  # of the document as a whole
    links: list  # (line, target)
    spans: list  # (line, text): what is written as `code` in the prose
    anchors: set  # of its headings, as they are addressed behind a '#'


def anchor(heading):
    """The fragment that a heading is addressed by."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


class Reader:
    def __init__(self, path):
        self.document = Document(path, [], {}, [], [], set())
        self.pending = {}  # marks that may belong to the next block
        self.fence = None
        self.block = None
        self.in_list = False
        self.after_blank = True

    def read(self, lines):
        for number, line in enumerate(lines, 1):
            self.read_line(number, line.rstrip("\n"))
        if self.fence:
            raise ValueError(f"{self.document.path}:{self.block.line}: this code block is never closed")
        self.end_block()
        self.document.marks.update(self.pending)
        return self.document

    def read_line(self, number, line):
        if self.fence is not None:
            if line.strip() == self.fence[1]:
                self.fence = None
                self.end_block()
            else:
                self.block.text += line[len(self.fence[0]):] + "\n"
            return
        opening = FENCE.match(line)
        if opening:
            self.end_block()
            self.fence = (opening[1], opening[2])
            self.begin_block(number + 1, opening[3], False)
            return
        # Four blanks begin a code block only behind a blank line, and inside of a list they are its text.
        is_code = line.startswith("    ") and (self.block is not None or (self.after_blank and not self.in_list))
        if is_code:
            if self.block is None:
                self.begin_block(number, "", True)
            self.block.text += line[4:] + "\n"
            return
        if not line.strip():
            if self.block is not None:
                self.block.text += "\n"
            self.after_blank = True
            return
        self.end_block()
        self.after_blank = self.read_mark(line)  # a comment ends a paragraph as a blank line does
        if not self.after_blank:
            self.read_prose(number, line)

    def read_mark(self, line):
        mark = MARK.match(line.strip())
        if mark:
            self.pending[mark[1]] = mark[2] or ""
        return mark is not None

    def read_prose(self, number, line):
        self.document.marks.update(self.pending)
        self.pending = {}
        heading = HEADING.match(line)
        if heading:
            self.document.anchors.add(anchor(heading[1]))
            self.in_list = False
        elif LIST_ITEM.match(line):
            self.in_list = True
        elif not line.startswith(" "):
            self.in_list = False
        self.document.spans += [(number, span[1]) for span in CODE_SPAN.findall(line)]
        prose = CODE_SPAN.sub("code", line)
        self.document.links += [(number, target) for target in INLINE_LINK.findall(prose)]
        reference = REFERENCE_LINK.match(line)
        if reference:
            self.document.links.append((number, reference[1]))

    def begin_block(self, line, language, indented):
        self.block = Block(self.document.path, line, language, "", indented, self.pending)
        self.pending = {}

    def end_block(self):
        if self.block is not None:
            self.block.text = self.block.text.rstrip("\n") + "\n"
            self.document.blocks.append(self.block)
            self.block = None


def read_document(root, path):
    with open(root / path, encoding="utf-8") as file:
        return Reader(path).read(file)


def all_documents(root):
    """README.md and CONTRIBUTING.md first, then those of docs and examples."""
    paths = [Path("README.md"), Path("CONTRIBUTING.md")]
    for folder in ("docs", "examples"):
        paths += sorted(path.relative_to(root) for path in (root / folder).rglob("*.md"))
    return [read_document(root, path) for path in paths if (root / path).exists()]
