"""Runs as Markdown tables, and their place in a page."""

from runs import ReportError, store_of

BEGIN = "<!-- bench:begin -->"
END = "<!-- bench:end -->"
# The runs that the README shows.
SUMMARY_IN_FLIGHT = (1, 64)


def number(value, digits=0):
    """1234.5 as 1,234; nothing as an empty cell."""
    return "" if value is None else f"{value:,.{digits}f}"


def milliseconds(microseconds):
    if microseconds is None:
        return ""
    value = microseconds / 1000
    return number(value, 2 if value < 10 else 1 if value < 100 else 0)


def percent(ratio):
    return "" if ratio is None else f"{100 * ratio:.0f} %"


def times(ratio):
    return "" if ratio is None else f"{ratio:.1f}"


def name_of(run):
    """What was run, with the arguments that matter."""
    workload = run["workload"]
    parts = {
        "seq": ("steps_per_workflow", "{} steps"),
        "fan": ("width", "{} at once"),
        "children": ("width", "{} at once"),
        "timers": ("delay_ms", "{} ms each"),
        "payload": ("bytes", "{:,} bytes"),
        "stress": ("delay_ms", "{} ms each"),
    }
    if workload not in parts:
        return workload
    field, text = parts[workload]
    return f"{workload}, {text.format(run[field])}"


def of_the_ceiling(run):
    """Empty for what waits on purpose: its speed says nothing of the engine's."""
    return "" if run["workload"] == "stress" and run["delay_ms"] else percent(run["ratio_to_ceiling"])


def markdown(titles, rows):
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def load_table(runs):
    titles = ["workload", "store", "sync", "in flight", "workflows/s", "operations/s", "p50, ms", "p99, ms", "step p50, us",
              "CPU, us", "commits", "bare commit p50, us", "step against it", "bare steps/s", "steps against them"]
    rows = []
    for run in runs:
        if run["workload"] == "idle":
            continue
        rows.append([
            name_of(run), store_of(run), run["sync"], number(run["in_flight"]), number(run["workflows_per_s"]),
            f"{number(run['operations_per_s'])} {run['operation']}", milliseconds(run["p50_us"]),
            milliseconds(run["p99_us"]), number(run["step_p50_us"]), number(run["cpu_us_per_operation"]),
            number(run["commits_per_operation"], 2), number(run["floor_commit_p50_us"]), times(run["ratio_to_floor"]),
            number(run["ceiling_steps_per_s"]), of_the_ceiling(run)])
    return markdown(titles, rows)


def idle_table(runs):
    rows = [[number(run["instances"]), store_of(run), run["sync"], f"{run['idle_cpu_percent']:.2f} %",
             number(run["store_calls_per_s"], 1), number(run["rss_mb"]), number(run["rss_kb_per_instance"], 1)]
            for run in runs if run["workload"] == "idle"]
    titles = ["waiting instances", "store", "sync", "CPU of one core", "store calls/s", "memory, MB", "KB an instance"]
    return markdown(titles, rows) if rows else ""


def page_block(runs, plot):
    """What docs/performance.md shows."""
    parts = [load_table(runs), idle_table(runs)]
    if plot:
        parts.append(f"![Throughput and latency against workflows in flight]({plot})")
    return "\n\n".join(part for part in parts if part)


def summary_block(runs):
    """The few lines of the README: one workflow at a time, and many, on each durable store."""
    rows = [[name_of(run), store_of(run), number(run["in_flight"]), number(run["steps_per_s"]),
             milliseconds(run["p50_us"]), milliseconds(run["p99_us"]), of_the_ceiling(run)]
            for run in runs
            if run["workload"] == "seq" and run["sync"] == "full" and run["in_flight"] in SUMMARY_IN_FLIGHT]
    return markdown(["workload", "store", "in flight", "steps/s", "p50, ms", "p99, ms", "of the bare database"], rows)


def replace_block(text, block, where):
    """The text with this block between the markers. Each marker must be there once, in order."""
    for marker in (BEGIN, END):
        if text.count(marker) != 1:
            raise ReportError(f"{where} must have one line '{marker}', and has {text.count(marker)}")
    begin = text.index(BEGIN) + len(BEGIN)
    end = text.index(END)
    if end < begin:
        raise ReportError(f"{where}: '{END}' stands before '{BEGIN}'")
    return text[:begin] + "\n" + block + "\n" + text[end:]
