// Draws the figures of a report from the data that stands in the page, and sorts and filters its
// table of trials. It fetches nothing. Colours of text and grid are the style sheet's, so that
// light, dark and print need no redrawing.
'use strict';
(() => {
  // Okabe and Ito's palette, told apart by the colour-blind; the first four stand out on white and
  // on black. https://jfly.uni-koeln.de/color/ Its yellow and its black would be lost on one of the two:
  // the last two are as far from the others to who has no red or no green cones.
  const HUES = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00', '#5a41d9', '#734b22'];
  // On black these need more light; the style sheet has the same.
  const LIT = { '#0072b2': '#4981f2', '#d55e00': '#e8623a', '#5a41d9': '#6549f2', '#734b22': '#f2e6aa' };
  const GREY = '#868e96';
  // Nuñez, Anderton and Renslow 2018, doi:10.1371/journal.pone.0199239: the same to the colour-blind.
  const CIVIDIS = ['#00224e', '#123570', '#3b496c', '#575d6d', '#707173', '#8a8678', '#a59c74', '#c3b369', '#e1cc55', '#fee838'];
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const SYMBOLS = ['circle', 'square', 'triangle-up', 'diamond', 'cross', 'star', 'hexagon', 'x'];
  const CPU = {
    user: '#0072b2', system: '#d55e00', softirq: '#cc79a7', irq: '#e69f00', steal: '#5a41d9',
    iowait: '#009e73',
  };
  // Colour is never alone: lines without symbols have dashes, and areas and bars have patterns.
  const DASHES = ['solid', 'dash', 'dot', 'dashdot', 'longdash', 'longdashdot'];
  const PATTERNS = ['', '\\', '.', 'x', '-', '|', '+', '/'];
  const FONT = getComputedStyle(document.body).fontFamily;
  const PRINTED_PX = 680;
  const coarse = matchMedia('(pointer: coarse)').matches;
  const config = {
    displaylogo: false, showSendToCloud: false, plotlyServerURL: '', showEditInChartStudio: false,
    // Where it is narrow it would lie on the title of the axis.
    responsive: true, doubleClick: 'reset', displayModeBar: coarse || innerWidth < 640 ? false : 'hover',
    modeBarButtons: [['zoom2d', 'resetScale2d', 'toImage', {
      name: 'csv', title: 'Download the points as CSV', click: (plot) => keep(csv(plot), 'text/csv', 'brickyard.csv'),
      icon: { width: 1000, height: 1000, path: 'M0 80H1000V920H0ZM80 160V320H460V160ZM540 160V320H920V160ZM80 400V560H460V400ZM540 400V560H920V400ZM80 640V840H460V640ZM540 640V840H920V640Z' },
    }]],
    toImageButtonOptions: { format: 'svg', filename: 'brickyard' },
  };
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId('data').textContent);

  // Saves what the page made.
  function keep(parts, type, name) {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([parts], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }
  // The points of a figure, a line each; of a map each square.
  function csv(plot) {
    const plain = (words) => String(words ?? '').replace(/<br>/g, ' ').replace(/&lt;/g, '<').replace(/&gt;/g, '>').replace(/&amp;/g, '&');
    const cell = (of) => (typeof of === 'number' || !/[",\n]/.test(plain(of)) ? plain(of) : `"${plain(of).replace(/"/g, '""')}"`);
    const rows = [['series', 'x', 'y', 'low', 'high', 'value']];
    plot.data.forEach((trace) => {
      if (trace.z) trace.z.forEach((row, at) => row.forEach((z, of) => rows.push([trace.name, trace.x[of], trace.y[at], '', '', z])));
      else (trace.x ?? []).forEach((x, at) => {
        const [y, of] = [trace.y[at], trace.error_y];
        const ends = of?.array?.[at] !== undefined ? [y - (of.arrayminus ?? of.array)[at], y + of.array[at]] : ['', ''];
        rows.push([trace.name, x, y, ...ends, '']);
      });
    });
    return `${rows.map((row) => row.map(cell).join(',')).join('\n')}\n`;
  }
  // What stands in the page as SVG, with its colours, which are the style sheet's, and those of the page
  // behind it.
  const PARTS = ['fill', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-dasharray', 'stroke-opacity', 'paint-order',
    'text-anchor', 'dominant-baseline', 'font-weight', 'font-size', 'font-family', 'display', 'visibility'];
  function coloured(drawn) {
    const copy = drawn.cloneNode(true);
    const parts = (of) => [...of.querySelectorAll('*')];
    const originals = parts(drawn);
    parts(copy).forEach((part, at) => {
      const seen = getComputedStyle(originals[at]);
      PARTS.forEach((name) => { part.style.setProperty(name, seen.getPropertyValue(name)); });
    });
    return copy;
  }
  function written(picture, width, height) {
    const behind = document.createElementNS(picture.namespaceURI, 'path');
    const [x, y, w, h] = (picture.getAttribute('viewBox') ?? `0 0 ${width} ${height}`).split(' ').map(Number);
    behind.setAttribute('d', `M${x} ${y}h${w}v${h}H${x}Z`);
    behind.style.fill = getComputedStyle(document.body).backgroundColor;
    picture.prepend(behind);
    picture.setAttribute('width', width);
    picture.setAttribute('height', height);
    return new XMLSerializer().serializeToString(picture);
  }
  // What is drawn on canvas is a picture within the picture; the words over it stay words.
  function layered(stage) {
    const { width, height } = stage.getBoundingClientRect();
    const picture = coloured(stage.querySelector('svg'));
    [...stage.querySelectorAll('canvas')].reverse().forEach((canvas) => {
      const image = document.createElementNS(picture.namespaceURI, 'image');
      image.setAttribute('href', canvas.toDataURL('image/png'));
      image.setAttribute('width', width);
      image.setAttribute('height', height);
      picture.prepend(image);
    });
    picture.setAttribute('viewBox', `0 0 ${width} ${height}`);
    return written(picture, width, height);
  }
  // The drawing of that name as SVG. What Plotly draws has ink for a white page, and gets one.
  async function picture(name) {
    const place = byId(name);
    const stage = place.querySelector('.stage');
    if (stage) return layered(stage);
    if (place.data) {
      const { clientWidth: width, clientHeight: height } = place;
      const layout = { ...place.layout, paper_bgcolor: '#ffffff', width, height };
      return Plotly.toImage({ data: place.data, layout, config }, { format: 'svg', width, height, imageDataOnly: true });
    }
    const drawn = place.querySelector('svg');
    const { width, height } = drawn.getBoundingClientRect();
    return written(coloured(drawn), width, height);
  }
  // The same as a table.
  function tabled(name) {
    const place = byId(name);
    if (place.dataset.csv !== undefined) return place.dataset.csv;
    return place.data ? csv(place) : window.brickyard.explorer.csv(name);
  }

  // Plotly reads a little HTML in texts; names of directories and groups must stay text.
  const text = (words) => words.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
    .replace(/\n/g, '<br>');
  // In lines of at most so many letters, broken after a comma.
  const broken = (words, most) => words.split(', ').reduce((lines, part) => {
    const joined = `${lines.at(-1)}, ${part}`;
    const ended = lines.at(-1) && joined.length > most ? [`${lines.at(-1)},`, part] : [joined];
    return [...lines.slice(0, -1), ...ended];
  }, ['']).join('\n').replace(/^, /, '');
  // What stands in a legend must not run out of it; all of it is told where one points.
  const most = Math.min(Math.max(Math.floor((innerWidth - 110) / 7.5), 24), 42);
  const clipped = (words) => text(words.length > most ? `${words.slice(0, most - 1)}\u2026` : words);
  const hue = (index) => (index === 255 ? GREY : HUES[index % HUES.length]);

  const shared = () => ({
    font: { family: FONT, size: 13, color: '#1b1f23' },
    paper_bgcolor: 'rgba(0,0,0,0)', plot_bgcolor: 'rgba(0,0,0,0)',
    margin: { l: 8, r: 12, t: 8, b: 8 },
    dragmode: coarse ? false : 'zoom',
    hovermode: 'closest', separators: '.',
    hoverlabel: { align: 'left', namelength: -1, bgcolor: '#ffffff', font: { size: 13 } },
  });
  const axis = (of) => {
    const drawn = {
      title: { text: text(of.title), standoff: 10, font: { size: 13 } }, automargin: true,
      gridcolor: '#dfe3e7', ticklabeloverflow: 'allow',
      zeroline: false, ticks: 'outside', ticklen: 4, tickcolor: GREY,
    };
    if (of.log) drawn.type = 'log';
    if (of.ticks.length) {
      drawn.tickmode = 'array';
      drawn.tickvals = of.ticks.map((tick) => tick[0]);
      drawn.ticktext = of.ticks.map((tick) => text(tick[1]));
    }
    return drawn;
  };
  const spread = (points, colours) => ({
    type: 'data', symmetric: false, thickness: 1.2, width: 4, color: colours,
    array: points.map((point) => (point.interval ? point.interval[1] - point.y : NaN)),
    arrayminus: points.map((point) => (point.interval ? point.y - point.interval[0] : NaN)),
    visible: points.some((point) => point.interval),
  });
  const hover = (trace, x) => trace.points.map((point) =>
    `<b>${text(trace.name)}</b><br>${text(x(point))}<br>${text(point.says)}`);

  // How far apart lines stand at the same place, so that their intervals do not hide each other.
  const span = (panel) => {
    const places = panel.traces.flatMap((trace) => trace.points.map((point) =>
      (panel.x.log ? Math.log10(point.x) : point.x)));
    return [Math.min(...places), Math.max(...places)];
  };
  // Of a hundred levels those are named for which there is room.
  const thinned = (panel, width) => {
    const [low, high] = span(panel);
    let end = -Infinity;
    return panel.x.ticks.filter(([level, name]) => {
      const at = (((panel.x.log ? Math.log10(level) : level) - low) / (high - low || 1)) * width;
      const half = 4 + 4.2 * name.length;
      if (at - half < end) return false;
      end = at + half;
      return true;
    });
  };
  const aside = (panel, trace) => {
    const [low, high] = span(panel);
    const step = Math.min(0.01, 0.06 / panel.traces.length) * Math.max(high - low, 0.3);
    const by = (panel.traces.indexOf(trace) - (panel.traces.length - 1) / 2) * step;
    return (x) => (panel.x.log ? x * 10 ** by : x + by);
  };
  const pale = (colour) =>
    `rgba(${[1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16)).join(',')},0.6)`;

  function line(panel, trace) {
    const colour = hue(trace.hue);
    const second = trace.dash === 'dash';
    const label = (point) => {
      const tick = panel.x.ticks.find((known) => known[0] === point.x);
      return `${panel.x.title} ${tick ? tick[1] : point.x}`.replace(/^streams (.*)$/,
        (all, many) => `${many} ${many === '1' ? 'stream' : 'streams'}`);
    };
    const beside = aside(panel, trace);
    return {
      type: 'scatter', mode: 'lines+markers', name: clipped(trace.name),
      x: trace.points.map((point) => beside(point.x)), y: trace.points.map((point) => point.y),
      line: { color: colour, width: second ? 1.4 : 2.2, dash: trace.dash },
      marker: {
        size: second ? 6 : 8, line: { width: 1.6, color: trace.points.map((p) => (p.mark ? GREY : colour)) },
        color: trace.points.map((point) => (point.mark ? GREY : colour)),
        symbol: trace.points.map((point) =>
          SYMBOLS[(trace.hue === 255 ? panel.traces.indexOf(trace) : trace.hue) % SYMBOLS.length] + (point.mark || second ? '-open' : '')),
      },
      error_y: spread(trace.points, pale(colour)),
      hoverinfo: 'text', hovertext: hover(trace, label),
    };
  }

  // How long all operations of a load took: each load has its own dash beside its colour and symbol.
  function distribution(panel, trace) {
    const drawn = line(panel, trace);
    return {
      ...drawn, x: trace.points.map((point) => point.x), line: { ...drawn.line, width: 1.8 },
      marker: { ...drawn.marker, size: 7 }, error_y: { visible: false }, hovertext: hover(trace, () => panel.x.title),
    };
  }
  // Runs over time, thin: there are many points, and often many lines.
  function course(panel, trace) {
    const drawn = line(panel, trace);
    return {
      ...drawn, x: trace.points.map((point) => point.x), line: { ...drawn.line, width: 1.2 },
      marker: { ...drawn.marker, size: 5, line: { ...drawn.marker.line, width: 1 } }, error_y: { visible: false },
      hovertext: hover(trace, (point) => `${digits(point.x)} s`),
    };
  }

  function bars(panel, trace) {
    const foreign = (point) => trace.hue === 255 || Boolean(point.mark);
    const colour = hue(trace.hue);
    const own = trace.points.some(foreign) ? '' : PATTERNS[trace.hue % 7];
    return {
      type: 'bar', name: clipped(trace.name),
      x: trace.points.map((point) => text(point.x)), y: trace.points.map((point) => point.y),
      marker: {
        color: trace.points.map((point) => (foreign(point) ? 'rgba(134,142,150,0.16)' : colour)),
        line: { width: 1.2, color: trace.points.map((point) => (foreign(point) ? GREY : colour)) },
        pattern: {
          shape: trace.points.map((point) => (foreign(point) ? '/' : own)),
          // Plotly cannot derive these from a list of colours, and complains; of its own it takes no list.
          bgcolor: own ? colour : 'rgba(134,142,150,0.16)', fgcolor: own ? '#ffffff' : GREY, fgopacity: 0.9, fillmode: 'overlay',
          size: 7, solidity: 0.25,
        },
      },
      error_y: spread(trace.points, GREY),
      hoverinfo: 'text', hovertext: hover(trace, (point) => point.x),
    };
  }

  function dots(panel, trace) {
    const colour = hue(trace.hue);
    return {
      type: 'scatter', mode: 'markers', name: clipped(trace.name),
      x: trace.points.map((point) => text(point.x)), y: trace.points.map((point) => point.y),
      marker: { size: 9, color: colour, symbol: SYMBOLS[trace.hue % SYMBOLS.length] },
      error_y: spread(trace.points, pale(colour)),
      hoverinfo: 'text', hovertext: hover(trace, (point) => point.x),
    };
  }

  // A law through what was measured, and the places on it that have a name.
  function law(of) {
    const line = {
      type: 'scatter', mode: 'lines', name: clipped(of.name), x: of.points.map((p) => p[0]), y: of.points.map((p) => p[1]),
      line: { color: hue(of.hue), width: 1.6, dash: 'dot' }, hoverinfo: 'text', hovertext: text(of.name),
    };
    const marks = {
      type: 'scatter', mode: 'markers+text', showlegend: false, name: clipped(of.name),
      x: of.marks.map((p) => p[0]), y: of.marks.map((p) => p[1]),
      text: of.marks.map((p) => text(p[2].split(' ')[0])), textposition: 'bottom right', textfont: { size: 12 },
      marker: { symbol: 'line-ns-open', size: 16, color: hue(of.hue), line: { width: 2, color: hue(of.hue) } },
      hoverinfo: 'text', hovertext: of.marks.map((p) => text(`${of.name}\n${p[2]}`)),
    };
    return of.marks.length ? [line, marks] : [line];
  }

  function draw(panel) {
    const kinds = { lines: line, bars, dots, distribution, course };
    const numbers = !['bars', 'dots'].includes(panel.kind);
    const place = byId(panel.id);
    const traces = panel.traces.map((trace) => kinds[panel.kind](panel, trace));
    const layout = shared();
    // What all bars have in common may be longer than the axis.
    const room = Math.max(place.clientWidth - 90, 120) / 6.8;
    const ticks = numbers ? thinned(panel, Math.min(place.clientWidth, PRINTED_PX) - 120) : panel.x.ticks;
    // The buttons of the figure stand beside the title.
    const free = config.displayModeBar && place.clientHeight >= 300 ? room - 24 : room;
    layout.xaxis = axis({ ...panel.x, ticks, title: broken(panel.x.title, free) });
    layout.yaxis = axis(panel.y);
    if (numbers) {
      const [low, high] = span(panel);
      const room = Math.max((high - low) * 0.06, 0.05);
      layout.xaxis.range = panel.kind === 'course' ? [0, high * 1.03] : [low - room, high + room];
      layout.xaxis.showgrid = panel.kind === 'distribution';
    } else {
      layout.xaxis.type = 'category';
      layout.xaxis.showgrid = false;
      layout.xaxis.ticks = '';
      layout.xaxis.tickfont = { size: room < 50 ? 11 : 13 };
      if (panel.x.order) {
        Object.assign(layout.xaxis, { categoryorder: 'array', categoryarray: panel.x.order.map(text) });
      }
      if (new Set(traces.flatMap((trace) => trace.x)).size <= 4) layout.xaxis.tickangle = 0;
      layout.barmode = 'group';
      layout.bargap = traces.some((trace) => trace.x.length > 1) ? 0.35 : 0.7;
    }
    if (panel.kind === 'distribution') {
      // All operations at the foot; the slowest that are still bounded at the head.
      const least = Math.min(...panel.traces.flatMap((trace) => trace.points.map((point) => point.y)));
      layout.yaxis.range = [0.15, Math.log10(least) - 0.15];
    }
    if (!panel.y.log) {
      // By hand, as Plotly's own range cuts the caps of error bars off on a small screen.
      const tops = panel.traces.flatMap((trace) => trace.points.map((point) =>
        Math.max(point.y, point.interval ? point.interval[1] : point.y)))
        .concat((panel.laws ?? []).flatMap((of) => of.points.map((point) => point[1])));
      layout.yaxis.range = [0, Math.max(...tops) * 1.08 || 1];
      // `10k MB/s` is no unit.
      if (panel.y.title.startsWith('MB/s')) layout.yaxis.exponentformat = 'none';
    }
    // On paper plots are lower to begin with, and a part of the height is less.
    const paper = place.clientHeight < 300;
    layout.legend = { orientation: 'h', x: 0, xanchor: 'left', y: paper ? 1.1 : 1.03, yanchor: 'bottom' };
    // Beside another panel even one line has its legend, so that both begin at the same height.
    // What stands in many lines takes its room from below, not from the plot.
    const longest = Math.max(...traces.map((trace) => trace.name.length));
    const lines = Math.ceil(traces.length / Math.max(Math.floor((place.clientWidth - 70) / (longest * 7.2 + 50)), 1));
    const many = paper ? 0 : 4;
    // Plotly lets no legend have more than half of the height.
    const least = paper ? lines * 44 : 0;
    if (lines > many) place.style.height = `${Math.max(place.clientHeight + (lines - many) * 20, least)}px`;
    layout.showlegend = traces.length > 1 || place.parentElement.children.length > 1;
    return Plotly.newPlot(place, [...traces, ...(panel.laws ?? []).flatMap(law)], layout, config);
  }

  // Intervals of a line are about as long as each other; the first begins one length before its end.
  const beginning = (of) => (of.t.length > 1 ? Math.max(2 * of.t[0] - of.t[1], Math.min(of.t[0], 0)) : 0);

  // Of a line of a timeline, weighted by the lengths of its intervals.
  function mean(of) {
    const start = beginning(of);
    let [sum, from] = [0, start];
    of.t.forEach((until, place) => { sum += of.v[place] * (until - from); from = until; });
    return from > start ? sum / (from - start) : 0;
  }
  const digits = (number) => (Math.abs(number) >= 100 ? Math.round(number) : Number(number.toPrecision(3)))
    .toString();

  function told(timeline) {
    const totals = timeline.lines.filter((of) => of.panel === 'faults')
      .map((of) => `${of.v.at(-1)} ${of.name} found`);
    const means = timeline.lines.filter((of) => of.panel !== 'faults').map((of) => {
      const unit = data.timeline_panels.find((panel) => panel[0] === of.panel)[1];
      const names = {
        cpu: `CPU ${of.name}`, device: `${of.name} busy`, pressure: `tasks waiting for ${of.name}`,
      };
      const name = names[of.panel] ?? of.name;
      return `${name} ${digits(mean(of))}\u00a0${unit.replace(/^.*, /, '')}`;
    });
    const found = totals.length ? ` In all ${totals.join(', ')}.` : '';
    const slow = timeline.latency ? ` ${timeline.latency.says}` : '';
    return `${timeline.label}, on average from start to end: ${means.join('; ')}.${found}${slow}`;
  }

  // A time in ns, and a number that is as short as a tick must be.
  const time = (ns) => {
    const step = [[1e9, 's'], [1e6, 'ms'], [1e3, 'us']].find(([of]) => ns >= of) ?? [1, 'ns'];
    return `${digits(ns / step[0])}\u00a0${step[1]}`;
  };
  const brief = (number) => {
    const step = [[1e9, 'G'], [1e6, 'M'], [1e3, 'k']].find(([of]) => number >= of) ?? [1, ''];
    return `${digits(number / step[0])}${step[1]}`;
  };
  // Powers of ten from low to high; where those are few, twice and five times them too.
  const decades = (low, high) => {
    const first = Math.floor(Math.log10(low) + 1e-9);
    const powers = [...Array(Math.floor(Math.log10(high) + 1e-9) - first + 1).keys()].map((at) => 10 ** (first + at));
    const within = (all) => all.filter((of) => of >= low * 0.999 && of <= high * 1.001);
    const few = within(powers);
    return few.length > 2 ? few : within(powers.flatMap((of) => [of, 2 * of, 5 * of]));
  };

  // How many operations a second of each interval fell into each latency class. Open classes are drawn
  // as high as the others; where nothing fell, nothing is.
  function latencyMap(map, n, top) {
    const bounds = map.bounds_ns.map((ns, at, all) => ns || (at ? all[at - 1] * 1.5 : all[1] / 1.5));
    const totals = map.t.slice(1).map((_, at) => map.counts.reduce((sum, row) => sum + row[at], 0));
    const rate = (count, at) => count / (map.t[at + 1] - map.t[at]);
    const rates = map.counts.map((row) => row.map((count, at) => (count ? Math.log10(rate(count, at)) : null)));
    const flat = rates.flat().filter((of) => of !== null);
    const [low, high] = [flat.reduce((a, b) => Math.min(a, b)), flat.reduce((a, b) => Math.max(a, b))];
    const between = decades(10 ** low, 10 ** high);
    const ticks = between.length > 1 ? between : [...new Set([10 ** low, 10 ** high])];
    const colours = dark.matches ? CIVIDIS.slice(2) : CIVIDIS;
    return {
      type: 'heatmap', name: 'latency', x: map.t, y: bounds, z: rates, xaxis: 'x', yaxis: `y${n}`,
      zmin: low, zmax: high > low ? high : low + 1, hoverongaps: false,
      colorscale: colours.map((colour, at) => [at / (colours.length - 1), colour]),
      colorbar: {
        orientation: 'h', x: 0, xanchor: 'left', y: top, yanchor: 'bottom', len: 0.6, thickness: 8, outlinewidth: 0,
        xpad: 0, ypad: 7, title: { text: 'operations/s in a class', side: 'top', font: { size: 12 } },
        tickvals: ticks.map(Math.log10), ticktext: ticks.map(brief), tickfont: { size: 11 },
      },
      hoverinfo: 'text',
      hovertext: map.counts.map((row, of) => row.map((count, at) => `<b>${map.names[of]}</b><br>`
        + `${count} of ${totals[at]} operations<br>${digits(rate(count, at))} a second<br>`
        + `from ${map.t[at]} to ${map.t[at + 1]} s`)),
    };
  }

  function drawCourse(plot, timeline) {
    const panels = data.timeline_panels.filter((panel) =>
      timeline.lines.some((of) => of.panel === panel[0]) || (panel[0] === 'latency' && timeline.latency));
    // A map needs more room than lines.
    const room = (panel) => (panel === 'latency' ? 1.6 : 1);
    const rooms = panels.reduce((sum, [panel]) => sum + room(panel), 0);
    let above = 0;
    const layout = shared();
    const traces = [];
    // Legends stand between the panels, in more lines where it is narrow.
    const gap = (plot.clientWidth < 480 ? 0.45 : 0.32) / rooms;
    panels.forEach(([panel, title], row) => {
      const n = row === 0 ? '' : String(row + 1);
      const top = 1 - above / rooms - gap * 0.5;
      above += room(panel);
      layout[`yaxis${n}`] = {
        ...axis({ title, log: false, ticks: [] }), rangemode: 'tozero', nticks: 5,
        domain: [1 - above / rooms + gap * 0.5, top],
        exponentformat: panel === 'throughput' ? 'none' : 'SI',
      };
      if (panel === 'latency') {
        traces.push(latencyMap(timeline.latency, n, top));
        const { y: bounds } = traces.at(-1);
        const ticks = decades(bounds[0], bounds.at(-1));
        Object.assign(layout[`yaxis${n}`], {
          ...axis({ title, log: true, ticks: ticks.map((ns) => [ns, time(ns)]) }), showgrid: false,
          range: [Math.log10(bounds[0]), Math.log10(bounds.at(-1))],
        });
      }
      if (/%$/.test(title)) {
        // Shares can be compared only where all axes end at the whole.
        const alone = timeline.lines.filter((of) => of.panel === panel && panel !== 'cpu');
        const most = Math.max(100, ...alone.flatMap((of) => of.v));
        Object.assign(layout[`yaxis${n}`], { range: [0, most * 1.04], nticks: 3 });
      }
      layout[`legend${n}`] = {
        orientation: 'h', x: 0, xanchor: 'left', y: top + 0.004, yanchor: 'bottom', font: { size: 12 },
      };
      timeline.lines.filter((of) => of.panel === panel).forEach((of, index) => {
        const colour = (panel === 'cpu' && CPU[of.name]) || HUES[index % HUES.length];
        const unit = title.replace(/^.*, /, '');
        traces.push({
          type: 'scatter', mode: 'lines', name: clipped(of.name), showlegend: true,
          x: [beginning(of), ...of.t], y: [of.v[0], ...of.v],
          xaxis: 'x', yaxis: `y${n}`, legend: `legend${n}`,
          // A value holds for the interval that ends where it stands.
          line: { color: colour, width: panel === 'cpu' ? 0.8 : 1.6, shape: 'vh', dash: panel === 'cpu' ? 'solid' : DASHES[index % DASHES.length] },
          ...(panel === 'cpu' ? {
            stackgroup: 'cpu', fillcolor: `${colour}b0`,
            fillpattern: { shape: PATTERNS[index % PATTERNS.length], fillmode: 'overlay', bgcolor: `${colour}70`, fgcolor: colour, size: 6, solidity: 0.25 },
          } : {}),
          hoverinfo: 'text',
          hovertext: [of.v[0], ...of.v].map((value, at) =>
            `<b>${text(of.name)}</b><br>${digits(value)} ${unit}<br>until ${of.t[Math.max(at - 1, 0)]} s`),
        });
      });
    });
    layout.xaxis = {
      ...axis({ title: 'seconds since the start', log: false, ticks: [] }),
      anchor: panels.length > 1 ? `y${panels.length}` : 'y', showgrid: false,
    };
    layout.shapes = (timeline.window || []).map((at) => ({
      type: 'line', xref: 'x', yref: 'paper', x0: at, x1: at, y0: 0, y1: 1,
      line: { width: 1, dash: 'dot', color: GREY },
    }));
    plot.style.height = `${Math.max(rooms * 165 + 60, 300)}px`;
    return Plotly.react(plot, traces, layout, config);
  }

  function drawTimeline(place) {
    const timeline = data.timelines[place];
    const says = told(timeline);
    byId('timeline-says').textContent = says;
    const plot = byId('timeline-plot');
    plot.setAttribute('aria-label', `Timeline. ${says}`);
    plot.dataset.trial = timeline.trial;
    return drawCourse(plot, timeline);
  }

  function timelines() {
    const picker = byId('timeline-picker');
    if (!picker) return [];
    const [back, on] = [byId('timeline-back'), byId('timeline-on')];
    const show = (place) => {
      picker.value = String(place);
      back.disabled = place === 0;
      on.disabled = place === data.timelines.length - 1;
      return drawTimeline(place);
    };
    picker.addEventListener('change', () => show(Number(picker.value)));
    back.addEventListener('click', () => show(Number(picker.value) - 1));
    on.addEventListener('click', () => show(Number(picker.value) + 1));
    dark.addEventListener('change', () => show(Number(picker.value)));
    return [show(0)];
  }

  function sortable(table) {
    const body = table.tBodies[0];
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener('click', () => {
        const down = head.getAttribute('aria-sort') === 'ascending';
        heads.forEach((other) => other.removeAttribute('aria-sort'));
        head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
        const number = head.dataset.sort === 'number';
        const key = (row) => {
          const cell = row.cells[column];
          const words = cell.textContent.trim();
          if (!number) return words;
          const value = Number(cell.dataset.v ?? words);
          return words === '' || Number.isNaN(value) ? null : value;
        };
        const keyed = [...body.rows].map((row) => [key(row), row]);
        // Numbers first, by size; then what is no number, by its words; empty cells last.
        const order = (a, b) => {
          if (a === b) return 0;
          if (a === null) return 1;
          if (b === null) return -1;
          return (number ? a - b : a.localeCompare(b, 'en', { numeric: true })) * (down ? -1 : 1);
        };
        keyed.sort((a, b) => order(a[0], b[0]));
        body.append(...keyed.map((pair) => pair[1]));
      });
    });
  }

  // Trials that are brushed, where any are: the table and the figures show these.
  let brushed = null;

  function filterable(table) {
    const [input, counts] = [byId('trials-filter'), byId('trials-count')];
    const rows = [...table.tBodies[0].rows].map((row) => [row, Number(row.id.slice(1))]);
    const apply = () => {
      const wanted = input.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach(([row, trial]) => {
        const words = wanted.length ? row.textContent.toLowerCase() : '';
        const hidden = (brushed && !brushed.has(trial)) || !wanted.every((word) => words.includes(word));
        if (row.hidden !== Boolean(hidden)) row.hidden = Boolean(hidden);
        shown += hidden ? 0 : 1;
      });
      counts.textContent = `${shown} of ${rows.length}${brushed ? ', as brushed' : ''}`;
    };
    input.addEventListener('input', apply);
    // A link to a trial must find its row, whatever is typed.
    window.addEventListener('hashchange', () => {
      const target = byId(location.hash.slice(1));
      if (target && target.hidden && target.closest('#trials-table')) {
        input.value = '';
        apply();
        // Brushed away, and asked for by its number.
        target.hidden = false;
        target.scrollIntoView();
      }
    });
    apply();
    return apply;
  }

  // Points that rest on no brushed trial step back. Those whose trials are not drawn in the explorer
  // cannot be judged, and stay.
  function dim(drawn) {
    data.panels.forEach((panel) => {
      const away = (point) => brushed && point.trials?.length && point.trials.some((trial) => drawn.has(trial))
        && !point.trials.some((trial) => brushed.has(trial));
      const faded = panel.traces.map((trace) => trace.points.map((point) => (away(point) ? 0.15 : 1)));
      const told = JSON.stringify(faded);
      const place = byId(panel.id);
      if (!place.data || (place.dataset.faded ?? told.replace(/0\.15/g, '1')) === told) return;
      place.dataset.faded = told;
      const every = [...Array(faded.length).keys()];
      Plotly.restyle(place, {
        'marker.opacity': faded,
        opacity: faded.map((of) => (of.every((opacity) => opacity < 1) ? 0.25 : 1)),
      }, every);
    });
  }

  // The first screen as a picture of the size that forums and chats show whole, always on white.
  const CARD = { width: 1200, height: 630, margin: 56, ink: '#1b1f23', quiet: '#555d66', line: '#dfe3e7', warning: '#8a4b00' };
  function card() {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [2 * CARD.width, 2 * CARD.height];
    const pen = canvas.getContext('2d');
    pen.scale(2, 2);
    pen.fillStyle = '#ffffff';
    pen.fillRect(0, 0, CARD.width, CARD.height);
    const room = CARD.width - 2 * CARD.margin;
    const font = (size, weight = '') => { pen.font = `${weight} ${size}px ${FONT}`.trim(); };
    const write = (words, x, y, most, colour = CARD.ink) => {
      pen.fillStyle = colour;
      pen.fillText(words, x, y, most);
    };
    // As many lines as `most`, the last one cut.
    const wrapped = (words, width, most) => {
      const lines = [];
      for (const word of words.split(/\s+/).filter(Boolean)) {
        const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
        if (lines.length && pen.measureText(longer).width <= width) lines[lines.length - 1] = longer;
        else if (lines.length < most) lines.push(word);
        else {
          lines[most - 1] += '\u2026';
          break;
        }
      }
      return lines;
    };
    let y = CARD.margin + 26;
    const paragraph = (words, size, step, most, colour, weight) => {
      font(size, weight);
      wrapped(words, room, most).forEach((one) => { write(one, CARD.margin, y, room, colour); y += step; });
    };
    const told = JSON.parse(byId('share-block').dataset.card);
    if (told.nature) paragraph(told.nature, 20, 32, 1, CARD.warning, '600');
    paragraph(told.subject, 30, 36, 2, CARD.ink, '600');
    paragraph(told.when, 18, 32, 1, CARD.quiet);
    if (told.trust) paragraph(told.trust, 20, 27, 2, CARD.ink);
    told.said.slice(0, told.figures.length ? 1 : 6).forEach((words) => paragraph(words, 20, 27, told.figures.length ? 2 : 8, CARD.ink));
    y += 6;
    const rows = [...told.figures, ...(told.limit ? [['limit', told.limit]] : [])];
    const bottom = CARD.height - CARD.margin - 14;
    const step = Math.min((bottom - y) / Math.max(rows.length, 1), 58);
    rows.forEach(([name, value, load, known, caveat]) => {
      pen.fillStyle = CARD.line;
      pen.fillRect(CARD.margin, y, room, 1);
      const base = y + step / 2 + 8;
      font(22);
      write(name, CARD.margin, base, 200, CARD.quiet);
      if (load === undefined) {
        font(20);
        const lines = wrapped(value, room - 220, 2);
        lines.forEach((words, at) => write(words, CARD.margin + 220, base + (at - (lines.length - 1) / 2) * 24, room - 220));
      } else {
        font(26, '700');
        pen.textAlign = 'right';
        write(value, CARD.margin + 460, base, 240);
        pen.textAlign = 'left';
        font(20);
        write(load, CARD.margin + 490, base - (caveat ? 10 : 0), 230, CARD.quiet);
        font(20);
        write(known, CARD.margin + 735, base - (caveat ? 10 : 0), room - 735);
        font(15, '600');
        if (caveat) write(caveat, CARD.margin + 490, base + 13, room - 490, CARD.warning);
      }
      y += step;
    });
    font(18);
    write(told.made, CARD.margin, CARD.height - CARD.margin + 8, room, CARD.quiet);
    return canvas;
  }
  function sharing() {
    if (!byId('share-block')) return;
    const says = (words) => { byId('share-said').textContent = words; };
    byId('share-copy').addEventListener('click', async () => {
      const words = byId('share-block').textContent;
      try {
        await navigator.clipboard.writeText(words);
        says('Copied.');
      } catch {
        // A page from a disk may not write there; what is selected anybody can copy.
        getSelection().selectAllChildren(byId('share-block'));
        says('Selected: press Ctrl+C.');
      }
    });
    byId('share-card').addEventListener('click', () => card().toBlob((picture) => {
      keep(picture, 'image/png', 'brickyard.png');
      says('Saved as brickyard.png.');
    }, 'image/png'));
  }

  const table = byId('trials-table');
  document.querySelectorAll('.scripted').forEach((element) => { element.hidden = false; });
  sortable(table);
  sharing();
  document.querySelectorAll('[data-save]').forEach((button) => button.addEventListener('click', async () => {
    const { save, of } = button.dataset;
    const name = `brickyard-${of.replace(/-place$|-drawn$/, '')}.${save}`;
    if (save === 'svg') keep(await picture(of), 'image/svg+xml', name);
    else keep(tabled(of), 'text/csv', name);
  }));
  const refilter = filterable(table);

  const plots = () => [...document.querySelectorAll('.js-plotly-plot')];

  // What the explorer needs of this page, and what it may do to it.
  window.brickyard = {
    byId, data, text, shared, axis, config, HUES, GREY, CIVIDIS, LIT, PRINTED_PX, dark, card, csv, picture, tabled,
    show: (trials, drawn) => {
      brushed = trials;
      refilter();
      dim(drawn);
      // What is drawn later steps back as well.
      window.brickyard.again = () => dim(drawn);
    },
  };
  // One figure a turn: what has been drawn can be used while the rest is.
  const turn = () => new Promise((done) => { setTimeout(done); });

  // What is folded away has no size: it is drawn when its fold is opened.
  const folds = [...document.querySelectorAll('details.fold')];
  const folded = (place) => Boolean(place?.closest('details.fold:not([open])'));
  const due = [
    { place: byId('explore'), draw: () => { window.brickyard.explorer?.begin(); return []; } },
    ...data.panels.map((panel) => ({ place: byId(panel.id), draw: () => draw(panel) })),
    { place: byId('timeline-plot'), draw: timelines },
    ...data.faults.map((course, at) => ({ place: byId(`faults-${at}`), draw: () => drawCourse(byId(`faults-${at}`), course) })),
  ];
  let drawn = 0;
  // Those that can be seen, each taken once.
  const take = () => {
    const now = due.filter((job) => !folded(job.place));
    now.forEach((job) => due.splice(due.indexOf(job), 1));
    return now;
  };
  const drawTaken = async () => {
    for (const job of take()) {
      const plots = await Promise.all([job.draw()].flat());
      drawn += plots.length;
      await turn();
    }
    window.brickyard.again?.();
    document.documentElement.dataset.drawn = String(drawn);
  };
  // What is asked for while the rest is drawn comes after it: who waits for it waits for all.
  let drawing = Promise.resolve();
  const drawDue = () => {
    drawing = drawing.catch(() => {}).then(drawTaken);
    return drawing;
  };
  const unfold = (some) => {
    some.forEach((fold) => { fold.open = true; });
    return drawDue();
  };
  // A link to a heading opens what stands under it, one to a row or a figure what it stands in. What
  // is drawn above moves the place, long after the browser went there on a slow machine: once all is
  // drawn the page goes there again, unless the reader has gone on.
  let went = 0;
  ['wheel', 'touchmove', 'keydown', 'pointerdown'].forEach((what) => {
    document.addEventListener(what, () => { went += 1; }, { passive: true, capture: true });
  });
  const land = () => {
    const name = decodeURIComponent(location.hash.slice(1)).replace(/\?.*$/, '');
    const place = name ? byId(name) : null;
    const fold = place?.closest('details.fold');
    if (!fold) return;
    const before = went;
    unfold([fold]).then(() => { if (went === before) place.scrollIntoView(); });
  };
  folds.forEach((fold) => fold.addEventListener('toggle', () => { if (fold.open) drawDue(); }));
  document.addEventListener('click', (event) => {
    const link = event.target.closest('a[href^="#"]');
    // The address may be that one already, and then nothing else tells.
    if (link && link.hash === location.hash) land();
    const fold = event.target.closest('button.select') && byId('explore')?.closest('details.fold');
    if (fold && !fold.open) {
      fold.open = true;
      take().forEach((job) => job.draw());
    }
  }, true);
  window.addEventListener('hashchange', land);
  Object.assign(window.brickyard, { unfold: () => unfold(folds), settled: () => drawing });

  const panelOf = (plot) => data.panels.find((panel) => panel.id === plot.id);

  // Paper has no folds.
  let opened = [];
  window.addEventListener('beforeprint', () => {
    opened = folds.filter((fold) => !fold.open);
    opened.forEach((fold) => { fold.open = true; });
    take().forEach((job) => { job.draw(); });
    plots().filter((plot) => !panelOf(plot)).forEach((plot) => Plotly.relayout(plot, { autosize: false, width: PRINTED_PX }));
    // A figure that is as wide as a column has another legend.
    plots().filter(panelOf).forEach((plot) => {
      const columns = plot.matches('.lines > * + *, .lines > :has(+ *)') ? 2 : 1;
      Object.assign(plot.style, { width: `${PRINTED_PX / columns - (columns - 1) * 8}px`, height: '15rem' });
      draw(panelOf(plot));
    });
  });
  window.addEventListener('afterprint', () => {
    // Not before the explorer has taken its width back.
    setTimeout(() => opened.forEach((fold) => { fold.open = false; }));
    plots().filter((plot) => !panelOf(plot)).forEach((plot) => Plotly.relayout(plot, { autosize: true, width: null }));
    plots().filter(panelOf).forEach((plot) => {
      Object.assign(plot.style, { width: '', height: '' });
      draw(panelOf(plot));
    });
  });

  const whole = async () => {
    await drawDue();
    land();
  };
  // The scripts of the explorer come after this one.
  document.addEventListener('DOMContentLoaded', whole);
})();
