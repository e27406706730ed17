#!/usr/bin/env python3
"""Trials of a storage server, measured by Brickyard: {{nature}}the table, its types, and a first plot.

    python3 trials.py [PICTURE]        draws into PICTURE; or, in Python: from trials import trials

It needs pandas, and matplotlib for the plot, and reads no other file. `trials` is a data frame, a
row a trial. Sizes are in bytes, times in ns, rates per second (see UNITS); NA is what a trial does
not have. A figure is the device's only where `origin` is "device", or where nothing was read.
"""

import io
import math
import statistics
import sys

HINT = "hint: apt-get install python3-pandas python3-matplotlib; or pip install pandas matplotlib"

try:
    import pandas
except ImportError as why:
    sys.exit(f"error: cannot load the trials: {why}\n{HINT}")

CAMPAIGN = {{campaign}}

# The unit of each column that has one.
UNITS = {{units}}

# What the words of a column can be, in the order of their levels; the table has their numbers.
LEVELS = {{levels}}

COLUMNS = {{columns}}
INTEGERS = {{integers}}
SWITCHES = {{switches}}

TABLE = """
{{table}}"""

# Student's t: the 0.975 quantile for 1, 2, ... degrees of freedom.
STUDENT = {{student}}


def load():
    """The table, typed: categories in order of level, whole numbers and switches with NA."""
    types = {name: "float64" for name in COLUMNS}
    # Of 64 bits without a sign, as sizes and counts can be.
    types.update({name: "UInt64" for name in INTEGERS})
    types.update({name: "Int64" for name in [*SWITCHES, *LEVELS]})
    table = pandas.read_csv(
        io.StringIO(TABLE), header=None, names=COLUMNS, dtype=types, float_precision="round_trip"
    )
    for name in SWITCHES:
        table[name] = table[name].astype("boolean")
    for name in INTEGERS:
        # Signed where they fit, so that they can be subtracted.
        if not (table[name] > 2**63 - 1).any():
            table[name] = table[name].astype("Int64")
    for name, levels in LEVELS.items():
        codes = table[name].fillna(0).astype(int) - 1
        table[name] = pandas.Categorical.from_codes(codes, levels, ordered=True)
    return table


def student(freedom):
    """The 0.975 quantile of Student's t; by Cornish and Fisher's expansion beyond the table."""
    if freedom <= len(STUDENT):
        return STUDENT[freedom - 1]
    z = statistics.NormalDist().inv_cdf(0.975)
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    return z + first / freedom + second / freedom**2


def mean_interval(values):
    """The mean of replicates, with half of Student's 95 % interval: none for a single one.

    Where all repeats share an error, such as whole blocks in a window, the report's is wider.
    This is of each cell's own spread: where cells scatter alike the report pools theirs, and is
    mostly narrower.
    """
    n = len(values)
    half = student(n - 1) * statistics.stdev(values) / math.sqrt(n) if n > 1 else math.nan
    return statistics.fmean(values), half


def level_label(value, name):
    """Sizes as people write them; all else as it is."""
    if pandas.isna(value):
        return "NA"
    if UNITS.get(name) == "bytes" and not isinstance(value, str):
        for unit in ["B", "KiB", "MiB", "GiB", "TiB"]:
            if value < 1024 or value % 1024 != 0 or unit == "TiB":
                return f"{value} {unit}"
            value //= 1024
    return str(value)


def literal(text):
    """A text in which matplotlib sees no formula and no control character."""
    shown = "".join(c if c.isprintable() else " " for c in text)
    return shown.replace("\\", "\\\\").replace("$", r"\$")


def cells(trials):
    """The cells of the plot: its line, its level on the axis, mean, half an interval, origin."""
    group, also = {{plot_group}}, {{plot_also}}
    axis, figure = {{plot_axis}}, {{plot_figure}}
    lines = {{plot_lines}}
    if figure is None:
        return []
    of_group = trials["group"].eq(group) | trials["trial"].isin(also)
    shown = trials[of_group & trials["outcome"].eq("done") & trials[figure].notna()]
    found = {}
    for _, trial in shown.iterrows():
        told = [f"{name.replace('_', ' ')} {level_label(trial[name], name)}" for name in lines]
        key = (", ".join(told), trial[axis or "trial"])
        values, origins = found.setdefault(key, ([], []))
        values.append(trial[figure] * {{plot_scale}})
        origins.append("" if pandas.isna(trial["origin"]) else trial["origin"])
    told = []
    for (line, level), (values, origins) in found.items():
        mean, half = mean_interval(values)
        origin = origins[0] if len(set(origins)) == 1 else "differs"
        told.append((line, level, mean, half, origin))
    return told


# The first chart of the report, where it has one: what each bar is of.
BARS = list(zip({{bar_panels}}, {{bar_labels}}, {{bar_columns}}, {{bar_scales}}, {{bar_trials}}))


def draw_bars(trials, pyplot):
    """The core set: bars of means, lines for 95 % intervals, circles for single runs."""
    panels = list(dict.fromkeys(bar[0] for bar in BARS))
    counts = [sum(bar[0] == panel for bar in BARS) for panel in panels]
    figure, axes = pyplot.subplots(
        len(panels), 1, figsize=(8, 1.2 + 0.5 * len(BARS)), dpi=160, squeeze=False,
        gridspec_kw={"height_ratios": counts}, layout="constrained",
    )
    for plot, panel in zip(axes[:, 0], panels):
        shown = [bar for bar in BARS if bar[0] == panel]
        for place, (_, _, column, scale, numbers) in enumerate(shown):
            of_bar = trials["trial"].isin([int(number) for number in numbers.split()])
            values = [float(value) * scale for value in trials[of_bar][column].dropna()]
            if not values:
                continue
            mean, half = mean_interval(values)
            colour = "#e08a52" if "write" in shown[place][1] else "#5b9bc9"
            plot.barh(place, mean, height=0.6, color=colour)
            if not math.isnan(half):
                plot.errorbar(mean, place, xerr=half, color="black", capsize=3)
            plot.plot(values, [place] * len(values), "o", mfc="white", mec="black", ms=4, ls="")
        plot.set_yticks(range(len(shown)), [literal(bar[1]) for bar in shown])
        plot.invert_yaxis()
        plot.set_xlim(left=0)
        plot.set_title(literal(panel), loc="left", fontsize="medium")
    return figure


def draw(trials, picture):
    """The first chart of the report; or the plot of its first group: mean and 95 % interval over
    replicates, a line for each level of other factors."""
    try:
        import matplotlib

        if not hasattr(sys, "ps1"):
            matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError as why:
        sys.exit(f"error: cannot draw: {why}\n{HINT}")
    if BARS:
        finish(draw_bars(trials, pyplot), picture, pyplot)
        return
    foreign = dict(zip({{plot_foreign}}, {{plot_meanings}}))
    found = cells(trials)
    if not found:
        print("nothing to draw: no trial of this campaign has a figure", file=sys.stderr)
        return
    axis = {{plot_axis}}
    column = trials[axis or "trial"]
    numeric = pandas.api.types.is_numeric_dtype(column) and column.dtype != "boolean"
    levels = list({cell[1] for cell in found if not pandas.isna(cell[1])})
    order = list(column.cat.categories).index if hasattr(column, "cat") else None
    levels.sort(key=order)
    if any(pandas.isna(cell[1]) for cell in found):
        numeric = False
    place = (lambda level: level) if numeric else (
        lambda level: len(levels) if pandas.isna(level) else levels.index(level)
    )
    names = list(dict.fromkeys(cell[0] for cell in found))
    many = 8
    if len(names) > many:
        print(f"{len(names) - many} more lines are left out", file=sys.stderr)
    figure, plot = pyplot.subplots(figsize=(10, 6.9), dpi=160, layout="constrained")
    handles, seen = [], {}
    for number, name in enumerate(names[:many]):
        line = sorted((cell for cell in found if cell[0] == name), key=lambda cell: place(cell[1]))
        x, y = [place(cell[1]) for cell in line], [cell[2] for cell in line]
        (drawn,) = plot.plot(x, y, color=f"C{number}", linewidth=1)
        for at, cell in zip(x, line):
            # What is not the device's is grey and open.
            other = cell[4] in foreign
            colour = "#767676" if other else f"C{number}"
            fill = "white" if other else colour
            half = None if math.isnan(cell[3]) else cell[3]
            bar = plot.errorbar(at, cell[2], half, fmt="o", color=colour, mfc=fill, capsize=3)
            if other:
                seen[foreign[cell[4]]] = bar
            drawn = drawn if other else bar
        if len(names) > 1:
            handles.append((drawn, literal(name)))
    handles += [(bar, meaning) for meaning, bar in seen.items()]
    ticks = [place(level) for level in levels]
    # Levels over several octaves are put at equal distances by their logarithm.
    if numeric and min(ticks) > 0 and max(ticks) >= 8 * min(ticks):
        plot.set_xscale("log")
    labels = [literal(level_label(level, axis)) for level in levels]
    if len(ticks) <= 16:
        plot.set_xticks(ticks, labels)
        plot.minorticks_off()
    plot.set_ylim(bottom=0)
    plot.grid(axis="y", color="#e5e5e5")
    plot.set_axisbelow(True)
    plot.set_xlabel(literal({{plot_axis_title}}))
    plot.set_ylabel(literal({{plot_figure_title}}))
    figure.suptitle(literal({{plot_title}}))
    plot.set_title(literal({{plot_subtitle}}), fontsize="small")
    if handles:
        plot.legend(
            *zip(*handles), loc="upper center", bbox_to_anchor=(0.5, -0.12), fontsize="small",
            frameon=False,
        )
    finish(figure, picture, pyplot)


def finish(figure, picture, pyplot):
    """Shows a figure to who types, and else draws it into a file."""
    if hasattr(sys, "ps1"):
        pyplot.show()
        return
    figure.savefig(picture)
    print(f"picture: {picture}")


trials = load()

if __name__ == "__main__":
    print(f"{len(trials)} trials, {len(trials.columns)} columns: the data frame `trials`")
    draw(trials, sys.argv[1] if len(sys.argv) > 1 else {{picture}})
