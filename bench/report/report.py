"""Writes the tables and the plot of runs of `perdure bench`.

report.py <folder of the runs> --page docs/performance.md [--summary README.md] [--plot docs/in-flight.svg]

The page must have the markers that the tables go between; the summary is left as it is without them.
"""

import argparse
import os
import pathlib
import sys

import plot
import runs
import tables


def write_report(folder, page, summary=None, plot_file=None):
    """Everything is made before anything is written."""
    found = runs.read_runs(folder)
    page = pathlib.Path(page)
    link = os.path.relpath(plot_file, page.parent) if plot_file else None
    texts = {page: tables.replace_block(page.read_text(), tables.page_block(found, link), page)}
    if summary:
        summary = pathlib.Path(summary)
        text = summary.read_text()
        if tables.BEGIN in text or tables.END in text:
            texts[summary] = tables.replace_block(text, tables.summary_block(found), summary)
    if plot_file:
        series = runs.sequences(found)
        if not series:
            raise runs.ReportError(f"there is no run of seq in {folder}, which the plot is made of")
        texts[pathlib.Path(plot_file)] = plot.svg(series)
    for path, text in texts.items():
        path.write_text(text)
        print(f"wrote {path}")


def main(arguments):
    parser = argparse.ArgumentParser(description="Writes the tables and the plot of runs of perdure bench.")
    parser.add_argument("folder")
    parser.add_argument("--page", required=True)
    parser.add_argument("--summary")
    parser.add_argument("--plot")
    options = parser.parse_args(arguments)
    try:
        write_report(options.folder, options.page, options.summary, options.plot)
    except (runs.ReportError, OSError) as error:
        print(f"report: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
