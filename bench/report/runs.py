"""The runs of `perdure bench` that a report is made of."""

import json
import pathlib

STORES = {"sqlite": "SQLite", "postgres": "PostgreSQL", "postgresql": "PostgreSQL"}
WORKLOADS = ["noop", "seq", "fan", "children", "signals", "timers", "payload", "stress", "idle"]


class ReportError(Exception):
    """Something that a report needs is missing; the text says what."""


def store_of(run):
    """SQLite or PostgreSQL."""
    scheme = run["store"].split(":", 1)[0]
    if scheme not in STORES:
        raise ReportError(f"a run names the store '{run['store']}', which is neither SQLite nor PostgreSQL")
    return STORES[scheme]


def order_of(run):
    """Where a run stands in a table."""
    workload = run["workload"]
    place = WORKLOADS.index(workload) if workload in WORKLOADS else len(WORKLOADS)
    return (place, -(run.get("delay_ms") or 0), store_of(run) != "SQLite", run["sync"] != "full", run["in_flight"])


def read_runs(folder):
    """All runs in the folder, in the order of the tables."""
    files = sorted(pathlib.Path(folder).glob("*.json"))
    if not files:
        raise ReportError(f"there is no run in {folder}: bench/report/run.sh writes them")
    runs = []
    for file in files:
        try:
            runs.append(json.loads(file.read_text()))
        except ValueError as error:
            raise ReportError(f"{file} is no JSON: {error}") from error
    return sorted(runs, key=order_of)


def sequences(runs):
    """Runs of `seq` by store and durability, each by in-flight: what the plot shows."""
    found = {}
    for run in runs:
        if run["workload"] == "seq":
            found.setdefault((store_of(run), run["sync"]), []).append(run)
    for series in found.values():
        series.sort(key=lambda run: run["in_flight"])
    return found
