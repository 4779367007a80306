"""Throughput and latency against workflows in flight, as SVG. Nothing but text: no library is needed."""

import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 820, 404
PANEL_WIDTH, PANEL_HEIGHT = 320, 250
TOP, LEFT, GAP = 40, 70, 70
COLOURS = {("SQLite", "full"): "#1f77b4", ("SQLite", "normal"): "#7fb8de", ("PostgreSQL", "full"): "#d95f02",
           ("PostgreSQL", "normal"): "#f2a65a"}
GREY = "#888888"


class LogScale:
    """Values of several powers of ten, on a line of that length."""

    def __init__(self, values, length):
        self.low = math.floor(math.log10(min(values)))
        self.high = max(math.ceil(math.log10(max(values))), self.low + 1)
        self.length = length

    def place(self, value):
        return self.length * (math.log10(value) - self.low) / (self.high - self.low)

    def ticks(self):
        return [10.0 ** power for power in range(self.low, self.high + 1)]


def short(value):
    """1000 as 1k."""
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if value >= unit:
            return f"{value / unit:g}{letter}"
    return f"{value:g}"


def text(x, y, words, anchor="middle", extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{extra}>{escape(words)}</text>'


def line(x1, y1, x2, y2, colour, width=1):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"/>'


def panel(left, title, in_flight, curves):
    """One diagram. `curves`: (colour, dashed, [(in flight, value)])."""
    values = [value for _, _, points in curves for _, value in points if value > 0]
    across, up = LogScale(in_flight, PANEL_WIDTH), LogScale(values, PANEL_HEIGHT)
    bottom = TOP + PANEL_HEIGHT
    parts = [text(left + PANEL_WIDTH / 2, TOP - 14, title, extra=' font-weight="bold"')]
    for tick in up.ticks():
        y = bottom - up.place(tick)
        parts += [line(left, y, left + PANEL_WIDTH, y, "#dddddd"), text(left - 6, y + 4, short(tick), "end")]
    for count in in_flight:
        x = left + across.place(count)
        parts += [line(x, bottom, x, bottom + 4, GREY), text(x, bottom + 18, str(count))]
    parts += [line(left, bottom, left + PANEL_WIDTH, bottom, GREY), line(left, TOP, left, bottom, GREY),
              text(left + PANEL_WIDTH / 2, bottom + 36, "workflows in flight")]
    for colour, dashed, points in curves:
        places = [(left + across.place(count), bottom - up.place(value)) for count, value in points if value > 0]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        dashes = ' stroke-dasharray="5 4"' if dashed else ""
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>')
        if not dashed:
            parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
    return parts


def legend(keys):
    parts = []
    x = LEFT
    for store, sync in keys:
        parts += [line(x, HEIGHT - 38, x + 24, HEIGHT - 38, COLOURS[store, sync], 3),
                  text(x + 30, HEIGHT - 34, f"{store}, sync {sync}", "start")]
        x += 190
    parts.append(text(LEFT, HEIGHT - 10, "dashed: left the bare database, right the 99th percentile", "start"))
    return parts


def svg(series):
    """`series`: runs by (store, sync), as runs.sequences() answers."""
    keys = sorted(series, key=list(COLOURS).index)
    in_flight = sorted({run["in_flight"] for runs in series.values() for run in runs})
    if not in_flight:
        raise ValueError("there is no run of seq to plot")

    def curve(key, dashed, field, unit=1.0):
        points = [(run["in_flight"], run[field] / unit) for run in series[key] if run[field]]
        return (COLOURS[key], dashed, points)

    throughput = [curve(key, False, "steps_per_s") for key in keys]
    throughput += [curve(key, True, "ceiling_steps_per_s") for key in keys]
    latency = [curve(key, False, "p50_us", 1000.0) for key in keys]
    latency += [curve(key, True, "p99_us", 1000.0) for key in keys]
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
             'font-size="12" role="img">',
             "<title>Throughput and latency against workflows in flight</title>",
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>']
    parts += panel(LEFT, "steps a second", in_flight, throughput)
    parts += panel(LEFT + PANEL_WIDTH + GAP, "milliseconds a workflow", in_flight, latency)
    parts += legend(keys)
    parts.append("</svg>")
    return "\n".join(parts) + "\n"
