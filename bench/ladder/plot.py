"""Draws a ladder as SVG. The upper panel shows the cumulative speed-up over the naive kernel, with the vendor's library as a dashed
line. The lower panel shows each step's own factor. Both axes are logarithmic, so that equal heights are equal factors. summary.py
calls draw()."""
import math
from xml.sax.saxutils import escape

WIDTH, LEFT, RIGHT, TOP = 980, 66, 194, 62
UPPER, GAP, LOWER = 300, 30, 140  # heights of the two panels and of the gap between them
COLOURS = ("#1b5e9e", "#c0501a", "#2f7d4f", "#76489b", "#8a6d1b", "#555555")  # distinct for colour-blind readers, too
INK, FAINT, GRID = "#222222", "#6b6b6b", "#e4e4e4"
END_GAP = 12  # from the panels to the labels at the curves' ends
CHAR, BOLD = 0.62, 1.1  # an average character's width per font size, and how much wider a bold one is
STEP_TEXT, LABEL, SMALL = 11.5, 12.5, 10.5


class Axis:
    """A logarithmic scale from low at the panel's bottom to high at its top."""

    def __init__(self, low, high, top, height):
        self.low, self.high, self.top, self.height = low, high, top, height

    def y(self, value):
        return self.top + self.height * (1 - math.log(value / self.low) / math.log(self.high / self.low))

    def ticks(self):
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        found = [m * 10.0 ** k for k in decades for m in (1, 2, 5) if self.low <= m * 10.0 ** k <= self.high]
        return found if len(found) < 9 else [v for v in found if abs(math.log10(v) - round(math.log10(v))) < 1e-9]


def factor(value):
    return f"{value:.0f}×" if value >= 99.5 else f"{value:.1f}×" if value >= 9.995 else f"{value:.2f}×"


def tick(value):
    return f"{value:g}"


def text(x, y, words, size=SMALL, colour=INK, anchor="start", more=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}"{more}>{escape(words)}</text>'


def line(x1, y1, x2, y2, colour, more=""):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}"{more}/>'


def space_out(wanted, gap, low, high):
    """Positions as near to the wanted ones as possible, at least gap apart, and within low..high if there is room."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    groups = []  # [sum of (wanted - offset), members]: neighbours that touch move together
    for i in order:
        groups.append([wanted[i], [i]])
        while len(groups) > 1 and start(groups[-2]) + gap * len(groups[-2][1]) > start(groups[-1]):
            total, members = groups.pop()
            groups[-1][0] += total - gap * len(groups[-1][1]) * len(members)
            groups[-1][1] += members
    at = [0.0] * len(wanted)
    for group in groups:
        for k, i in enumerate(group[1]):
            at[i] = start(group) + gap * k
    for k, i in enumerate(order):
        at[i] = max(at[i], low + gap * k)
    for k, i in enumerate(reversed(order)):
        at[i] = min(at[i], high - gap * k)
    return at


def start(group):
    return group[0] / len(group[1])


def beside(levels, top):
    """Baselines for a line of text near each level. No level or other text crosses the text, and it is not above top."""
    places = []
    for level in levels:
        for y in (level + d for k in range(len(levels) + 1) for d in (-5 - 14 * k, 14 + 14 * k)):
            if y > top and all(not y - 10 < other < y + 3 for other in levels) and all(abs(y - other) >= 13 for other in places):
                break
        places.append(y)
    return places


class Series:
    """One input size: its speed-up at each step (None where it has none), and the library's."""

    def __init__(self, size, rows, steps, colour):
        self.size, self.colour = size, colour
        self.at = [None] * len(steps)
        self.final = None
        with_library = [row for row in rows if row.get("library_ratio") and row.get("speedup")]
        for row in rows:
            if row.get("speedup"):
                self.at[steps.index((row["step"], row["checkpoint"]))] = row["speedup"]
            if row.get("final"):
                self.final = row
        best = self.final if self.final in with_library else with_library[-1] if with_library else None
        self.ratio = best["library_ratio"] if best else None
        self.library = best["speedup"] / best["library_ratio"] if best else None

    def known(self):
        return [(i, v) for i, v in enumerate(self.at) if v]

    def steps(self):
        """(step, factor over the last earlier step that has a figure)"""
        known = self.known()
        return [(i, v / known[k][1]) for k, (i, v) in enumerate(known[1:])]


class Chart:
    def __init__(self, result, size_of):
        self.result, rows = result, result["rows"]
        self.steps = list(dict.fromkeys((row["step"], row["checkpoint"]) for row in rows))
        sizes = [s for s in dict.fromkeys(size_of(row) for row in rows) if s]
        self.series = [Series(s, [row for row in rows if size_of(row) == s], self.steps, COLOURS[i % len(COLOURS)])
                       for i, s in enumerate(sizes)]
        self.series = [s for s in self.series if s.known()]
        self.library = result.get("library", "the vendor's library")
        self.each = (WIDTH - LEFT - RIGHT) / max(1, len(self.steps))
        self.right = WIDTH - RIGHT
        values = [v for s in self.series for _, v in s.known()] + [s.library for s in self.series if s.library] + [1.0]
        self.up = Axis(min(values) * 0.8, max(values) * 1.45, TOP, UPPER)
        factors = [f for s in self.series for _, f in s.steps()] + [1.0]
        room = max(max(factors) / min(factors), 1.5) ** 0.2  # space for the figures on the bars
        self.down = Axis(min(factors) / room, max(max(factors), 1.2) * room, TOP + UPPER + GAP, LOWER)
        self.out = []

    def x(self, step):
        return LEFT + self.each * (step + 0.5)

    def axes(self, axis, title):
        for value in axis.ticks():
            y = axis.y(value)
            self.out.append(line(LEFT, y, self.right, y, "#9a9a9a" if value == 1 else GRID))
            self.out.append(text(LEFT - 8, y + 3.8, tick(value) + "×", SMALL, FAINT, "end"))
        middle = axis.top + axis.height / 2
        self.out.append(text(18, middle, title, SMALL + 0.5, INK, "middle", f' transform="rotate(-90 18 {middle:.1f})"'))

    def libraries(self):
        """The dashed lines, named at the left, where the curves are low. Each name has the nearest place that no line crosses."""
        shown = sorted((s for s in self.series if s.library), key=lambda s: -s.library)
        levels = [self.up.y(s.library) for s in shown]
        for level, s in zip(levels, shown):
            self.out.append(line(LEFT, level, self.right, level, s.colour,
                                 ' stroke-width="1.2" stroke-dasharray="6 4" stroke-opacity="0.8"'))
        for y, s in zip(beside(levels, TOP + 2), shown):
            self.out.append(text(LEFT + 6, y, f"{self.library}, {s.size}: {factor(s.library)}", SMALL, s.colour, more=HALO))

    def curves(self):
        for s in self.series:
            points = " ".join(f"{self.x(i):.1f},{self.up.y(v):.1f}" for i, v in s.known())
            self.out.append(f'<polyline points="{points}" fill="none" stroke="{s.colour}" stroke-width="2.2" stroke-linejoin="round"/>')
            for i, v in s.known():
                last = s.final is not None and v == s.final["speedup"] and (s.final["step"], s.final["checkpoint"]) == self.steps[i]
                self.out.append(f'<circle cx="{self.x(i):.1f}" cy="{self.up.y(v):.1f}" r="{5 if last else 3.6}" fill="{s.colour}" '
                                f'stroke="#ffffff" stroke-width="1.4"/>')

    def end_lines(self, series, value):
        """The label at a curve's end: name and last figure, in one line if there is room, and below them its share of the
        library."""
        head, below = f"{series.size}: {factor(value)}", []
        if len(head) * CHAR * BOLD * LABEL > RIGHT - END_GAP:
            head, below = factor(value), [series.size]
        return [head] + below + ([f"{100 * series.ratio:.1f} % of {self.library}'s speed"] if series.ratio else [])

    def ends(self):
        labels = [self.end_lines(s, s.known()[-1][1]) for s in self.series]
        height = 4 + 15 * max((len(lines) for lines in labels), default=1)
        wanted = [self.up.y(s.known()[-1][1]) for s in self.series]
        for s, lines, y in zip(self.series, labels, space_out(wanted, height, TOP + 6, TOP + UPPER - height + 20)):
            i, value = s.known()[-1]
            x = self.right + END_GAP
            self.out.append(line(self.x(i) + 7, self.up.y(value), x - 3, y, s.colour, ' stroke-width="0.8" stroke-opacity="0.6"'))
            self.out.append(text(x, y + 4, lines[0], LABEL, s.colour, more=' font-weight="bold"' + HALO))
            for k, words in enumerate(lines[1:]):
                self.out.append(text(x, y + 18 + 13 * k, words, SMALL, s.colour, more=HALO))

    def bars(self):
        count = max(1, len(self.series))
        width = min(40.0, self.each * 0.86 / count)
        size = min(SMALL, width / (CHAR * 5.2))
        for k, s in enumerate(self.series):
            for i, value in s.steps():
                x = self.x(i) + width * (k - count / 2)
                one, y = self.down.y(1), self.down.y(value)
                self.out.append(f'<rect x="{x + 1:.1f}" y="{min(one, y):.1f}" width="{width - 2:.1f}" height="{abs(one - y):.1f}" '
                                f'fill="{s.colour}" fill-opacity="{1 if value >= 1 else 0.5}"/>')
                if size >= 7.5:
                    self.out.append(text(x + width / 2, y - 4 if value >= 1 else y + size + 2, factor(value), f"{size:.1f}", INK,
                                         "middle", HALO))

    def names(self):
        y = TOP + UPPER + GAP + LOWER + 18
        level = all(len(name) * CHAR * STEP_TEXT < self.each * 0.95 for name, _ in self.steps)
        for i, (name, _) in enumerate(self.steps):
            x = self.x(i)
            if level:
                self.out.append(text(x, y, name, STEP_TEXT, INK, "middle"))
            else:
                self.out.append(text(x + 5, y - 2, name, STEP_TEXT, INK, "end",
                                     f' transform="rotate(-32 {x + 5:.1f} {y - 2:.1f})"'))
        longest = max((len(name) for name, _ in self.steps), default=0)
        return y + (10 if level else 0.53 * longest * CHAR * STEP_TEXT + 12)

    def heading(self):
        context = next((row["context"] for row in self.result["rows"]), "")
        device = self.result["device"].rsplit(" (", 1)[0]
        runs = sorted({s.final["runs_count"] for s in self.series if s.final})
        fresh = f"; last step: median of {runs[-1]} fresh processes" if runs else ""
        self.out.append(text(LEFT, 24, f"{context} on {device}", 15, INK, more=' font-weight="bold"'))
        self.out.append(text(LEFT, 43,
                             f"time of the naive kernel / time, cold last-level cache, each step tuned and validated{fresh}", 11,
                             FAINT))

    def draw(self):
        self.heading()
        self.axes(self.up, "speed-up over the naive kernel")
        self.axes(self.down, "step by step")
        self.libraries()
        self.curves()
        self.ends()
        self.bars()
        height = self.names() + 8
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:.0f}" viewBox="0 0 {WIDTH} {height:.0f}" '
                f'font-family="Helvetica, Arial, \'DejaVu Sans\', sans-serif">')
        return "\n".join([head, f'<rect width="{WIDTH}" height="{height:.0f}" fill="#ffffff"/>'] + self.out + ["</svg>", ""])


HALO = ' stroke="#ffffff" stroke-width="3" paint-order="stroke" stroke-linejoin="round"'


def draw(result, size_of):
    """result: as summary.py writes it; size_of(row): the row's input size as text, None for a row without times."""
    return Chart(result, size_of).draw()
