"""Tests of the report, with runs that nobody has run. `ctest -R bench.report`."""

import json
import pathlib
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import plot
import report
import runs
import tables


def a_run(**changes):
    run = {
        "workload": "seq", "store": "sqlite:build/bench/store.db", "sync": "full", "in_flight": 1, "steps_per_workflow": 5,
        "width": None, "bytes": None, "delay_ms": None, "operation": "activity", "workflows_per_s": 150.4,
        "steps_per_s": 752.0, "operations_per_s": 752.0, "p50_us": 6612.5, "p99_us": 123456.0, "step_p50_us": 512.25,
        "cpu_us_per_operation": 571.0, "commits_per_operation": 1.6, "floor_commit_p50_us": 198.5,
        "ceiling_steps_per_s": 3427.0, "ratio_to_floor": 2.58, "ratio_to_ceiling": 0.219}
    run.update(changes)
    return run


def an_idle_run():
    return {"workload": "idle", "store": "sqlite:x", "sync": "full", "in_flight": 1, "instances": 1000,
            "idle_cpu_percent": 0.424, "store_calls_per_s": 0.2, "rss_mb": 16.4, "rss_kb_per_instance": 9.04}


def sequence_runs():
    found = []
    for store in ("sqlite:x", "postgresql://postgres@/postgres"):
        for in_flight in (1, 8, 64, 256):
            found.append(a_run(store=store, in_flight=in_flight, steps_per_s=700.0 * in_flight))
    return found


class Folder:
    """Runs and pages in a folder that goes with the test."""

    def __init__(self, test, files):
        folder = tempfile.TemporaryDirectory()
        test.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        for number, content in enumerate(files):
            (self.path / f"{number}.json").write_text(json.dumps(content))

    def page(self, name, text):
        (self.path / name).write_text(text)
        return self.path / name


class Tables(unittest.TestCase):
    def test_a_run_is_a_row(self):
        row = tables.load_table([a_run()]).splitlines()[2]
        self.assertEqual(
            row, "| seq, 5 steps | SQLite | full | 1 | 150 | 752 activity | 6.61 | 123 | 512 | 571 | 1.60 | 198 | 2.6 | "
                 "3,427 | 22 % |")

    def test_what_does_not_apply_is_empty(self):
        run = a_run(workload="signals", operation="signal", workflows_per_s=None, ratio_to_floor=None,
                    ratio_to_ceiling=None, step_p50_us=None)
        cells = tables.load_table([run]).splitlines()[2].split("|")
        self.assertEqual([cells[1].strip(), cells[5].strip(), cells[9].strip(), cells[15].strip()],
                         ["signals", "", "", ""])

    def test_all_rows_have_as_many_cells_as_titles(self):
        block = tables.page_block(sequence_runs() + [an_idle_run()], "in-flight.svg")
        for table in block.split("\n\n")[:2]:
            counts = {line.count("|") for line in table.splitlines()}
            self.assertEqual(len(counts), 1, table)

    def test_idle_has_a_table_of_its_own(self):
        self.assertNotIn("idle", tables.load_table([a_run(), an_idle_run()]))
        self.assertIn("| 1,000 | SQLite | full | 0.42 % | 0.2 | 16 | 9.0 |", tables.idle_table([an_idle_run()]))
        self.assertEqual(tables.idle_table([a_run()]), "")

    def test_the_summary_has_durable_runs_only(self):
        summary = tables.summary_block([a_run(), a_run(sync="normal"), a_run(workload="noop")])
        self.assertEqual(len(summary.splitlines()), 3)

    def test_the_block_goes_between_the_markers(self):
        page = f"before\n{tables.BEGIN}\nold\n{tables.END}\nafter\n"
        self.assertEqual(tables.replace_block(page, "new", "page"),
                         f"before\n{tables.BEGIN}\nnew\n{tables.END}\nafter\n")

    def test_a_missing_or_doubled_marker_is_an_error(self):
        for page in ("nothing", tables.BEGIN, tables.END, tables.END + tables.BEGIN,
                     tables.BEGIN + tables.BEGIN + tables.END):
            with self.assertRaisesRegex(runs.ReportError, "page"):
                tables.replace_block(page, "new", "page")


class Plot(unittest.TestCase):
    def test_is_xml_with_a_curve_for_each_store_in_both_panels(self):
        picture = xml.etree.ElementTree.fromstring(plot.svg(runs.sequences(sequence_runs())))
        lines = picture.findall("{http://www.w3.org/2000/svg}polyline")
        self.assertEqual(len(lines), 8)  # two stores, their bare databases, p50 and p99
        for each in lines:
            self.assertEqual(len(each.get("points").split()), 4)

    def test_more_is_higher_and_stays_inside(self):
        picture = xml.etree.ElementTree.fromstring(plot.svg(runs.sequences(sequence_runs())))
        first = picture.find("{http://www.w3.org/2000/svg}polyline")
        places = [tuple(map(float, place.split(","))) for place in first.get("points").split()]
        self.assertEqual(places, sorted(places, key=lambda place: (place[0], -place[1])))
        for x, y in places:
            self.assertTrue(plot.LEFT <= x <= plot.LEFT + plot.PANEL_WIDTH)
            self.assertTrue(plot.TOP <= y <= plot.TOP + plot.PANEL_HEIGHT)

    def test_without_a_sequence_there_is_none(self):
        with self.assertRaises(ValueError):
            plot.svg({})


class Report(unittest.TestCase):
    PAGE = f"# What it costs\n{tables.BEGIN}\n{tables.END}\nThe rest.\n"

    def test_writes_page_summary_and_plot(self):
        folder = Folder(self, sequence_runs() + [an_idle_run()])
        page, summary = folder.page("page.md", self.PAGE), folder.page("README.md", self.PAGE)
        drawing = folder.path / "in-flight.svg"
        self.assertEqual(
            report.main([str(folder.path), "--page", str(page), "--summary", str(summary), "--plot", str(drawing)]), 0)
        self.assertIn("PostgreSQL", page.read_text())
        self.assertIn("(in-flight.svg)", page.read_text())
        self.assertTrue(page.read_text().endswith("The rest.\n"))
        self.assertIn("of the bare database", summary.read_text())
        self.assertTrue(drawing.read_text().startswith("<svg"))

    def test_a_summary_without_markers_is_left_alone(self):
        folder = Folder(self, [a_run()])
        page, summary = folder.page("page.md", self.PAGE), folder.page("README.md", "mine")
        self.assertEqual(report.main([str(folder.path), "--page", str(page), "--summary", str(summary)]), 0)
        self.assertEqual(summary.read_text(), "mine")

    def test_nothing_is_written_when_something_is_missing(self):
        folder = Folder(self, [an_idle_run()])
        page = folder.page("page.md", self.PAGE)
        drawing = folder.path / "in-flight.svg"
        self.assertEqual(report.main([str(folder.path), "--page", str(page), "--plot", str(drawing)]), 1)
        self.assertEqual(page.read_text(), self.PAGE)
        self.assertFalse(drawing.exists())
        unmarked = folder.page("unmarked.md", "no markers")
        self.assertEqual(report.main([str(folder.path), "--page", str(unmarked)]), 1)
        self.assertEqual(unmarked.read_text(), "no markers")

    def test_a_folder_without_runs_or_with_rubbish_is_an_error(self):
        folder = Folder(self, [])
        with self.assertRaisesRegex(runs.ReportError, "there is no run"):
            runs.read_runs(folder.path)
        folder.page("x.json", "{")
        with self.assertRaisesRegex(runs.ReportError, "is no JSON"):
            runs.read_runs(folder.path)

    def test_runs_stand_in_the_order_of_the_workloads(self):
        folder = Folder(self, [a_run(workload="stress", delay_ms=0), a_run(in_flight=8), a_run(),
                               a_run(workload="stress", delay_ms=10), a_run(workload="noop"), a_run(sync="normal")])
        found = [(run["workload"], run["delay_ms"], run["sync"], run["in_flight"]) for run in runs.read_runs(folder.path)]
        self.assertEqual(found, [("noop", None, "full", 1), ("seq", None, "full", 1), ("seq", None, "full", 8),
                                 ("seq", None, "normal", 1), ("stress", 10, "full", 1), ("stress", 0, "full", 1)])


if __name__ == "__main__":
    unittest.main()
