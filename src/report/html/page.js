// Draws the figures of a report from the data that stands in the page, and sorts and filters its
// table of trials. It fetches nothing. Colours of text and grid are the style sheet's, so that
// light, dark and print need no redrawing.
'use strict';
(() => {
  // Okabe and Ito's palette, told apart by the colour-blind; the first four stand out on white and
  // on black. https://jfly.uni-koeln.de/color/
  const HUES = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#56b4e9', '#e69f00', '#7f6fbf', '#a6761d'];
  const GREY = '#868e96';
  const SYMBOLS = ['circle', 'square', 'triangle-up', 'diamond', 'cross', 'star', 'hexagon', 'x'];
  const CPU = {
    user: '#0072b2', system: '#d55e00', softirq: '#cc79a7', irq: '#e69f00', steal: '#7f6fbf',
    iowait: '#9aa3ab',
  };
  const FONT = getComputedStyle(document.body).fontFamily;
  const PRINTED_PX = 680;
  const coarse = matchMedia('(pointer: coarse)').matches;
  const config = {
    displaylogo: false, showSendToCloud: false, plotlyServerURL: '', showEditInChartStudio: false,
    responsive: true, doubleClick: 'reset', displayModeBar: coarse ? false : 'hover',
    modeBarButtons: [['zoom2d', 'resetScale2d', 'toImage']],
    toImageButtonOptions: { format: 'svg', filename: 'brickyard' },
  };
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId('data').textContent);

  // Plotly reads a little HTML in texts; names of directories and groups must stay text.
  const text = (words) => words.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;')
    .replace(/\n/g, '<br>');
  // In lines of at most so many letters, broken after a comma.
  const broken = (words, most) => words.split(', ').reduce((lines, part) => {
    const joined = `${lines.at(-1)}, ${part}`;
    const ended = joined.length > most ? [`${lines.at(-1)},`, part] : [joined];
    return [...lines.slice(0, -1), ...ended];
  }, ['']).join('\n').replace(/^, /, '');
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
    const places = panel.traces.flatMap((trace) => trace.points.map((point) => Math.log10(point.x)));
    return [Math.min(...places), Math.max(...places)];
  };
  const aside = (panel, trace) => {
    const [low, high] = span(panel);
    const step = Math.min(0.01, 0.06 / panel.traces.length) * Math.max(high - low, 0.3);
    return 10 ** ((panel.traces.indexOf(trace) - (panel.traces.length - 1) / 2) * step);
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
    const factor = aside(panel, trace);
    return {
      type: 'scatter', mode: 'lines+markers', name: text(trace.name),
      x: trace.points.map((point) => point.x * factor), y: trace.points.map((point) => point.y),
      line: { color: colour, width: second ? 1.4 : 2.2, dash: trace.dash },
      marker: {
        size: second ? 6 : 8, line: { width: 1.6, color: trace.points.map((p) => (p.mark ? GREY : colour)) },
        color: trace.points.map((point) => (point.mark ? GREY : colour)),
        symbol: trace.points.map((point) =>
          SYMBOLS[trace.hue % SYMBOLS.length] + (point.mark || second ? '-open' : '')),
      },
      error_y: spread(trace.points, pale(colour)),
      hoverinfo: 'text', hovertext: hover(trace, label),
    };
  }

  function bars(panel, trace) {
    const foreign = (point) => trace.hue === 255 || Boolean(point.mark);
    const colour = hue(trace.hue);
    return {
      type: 'bar', name: text(trace.name),
      x: trace.points.map((point) => text(point.x)), y: trace.points.map((point) => point.y),
      marker: {
        color: trace.points.map((point) => (foreign(point) ? 'rgba(134,142,150,0.16)' : colour)),
        line: { width: 1.2, color: trace.points.map((point) => (foreign(point) ? GREY : colour)) },
        pattern: {
          shape: trace.points.map((point) => (foreign(point) ? '/' : '')),
          // Plotly cannot derive these from a list of colours, and complains.
          bgcolor: 'rgba(134,142,150,0.16)', fgcolor: GREY, fgopacity: 0.9, fillmode: 'overlay',
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
      type: 'scatter', mode: 'markers', name: text(trace.name),
      x: trace.points.map((point) => text(point.x)), y: trace.points.map((point) => point.y),
      marker: { size: 9, color: colour, symbol: SYMBOLS[trace.hue % SYMBOLS.length] },
      error_y: spread(trace.points, pale(colour)),
      hoverinfo: 'text', hovertext: hover(trace, (point) => point.x),
    };
  }

  function draw(panel) {
    const kinds = { lines: line, bars, dots };
    const place = byId(panel.id);
    const traces = panel.traces.map((trace) => kinds[panel.kind](panel, trace));
    const layout = shared();
    // What all bars have in common may be longer than the axis.
    const room = Math.max(place.clientWidth - 90, 120) / 6.8;
    layout.xaxis = axis({ ...panel.x, title: broken(panel.x.title, room) });
    layout.yaxis = axis(panel.y);
    if (panel.kind === 'lines') {
      const [low, high] = span(panel);
      const room = Math.max((high - low) * 0.06, 0.05);
      layout.xaxis.range = [low - room, high + room];
      layout.xaxis.showgrid = false;
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
    if (!panel.y.log) {
      // By hand, as Plotly's own range cuts the caps of error bars off on a small screen.
      const tops = panel.traces.flatMap((trace) => trace.points.map((point) =>
        Math.max(point.y, point.interval ? point.interval[1] : point.y)));
      layout.yaxis.range = [0, Math.max(...tops) * 1.08 || 1];
      // `10k MB/s` is no unit.
      if (panel.y.title.startsWith('MB/s')) layout.yaxis.exponentformat = 'none';
    }
    layout.legend = { orientation: 'h', x: 0, xanchor: 'left', y: 1.03, yanchor: 'bottom' };
    // Beside another panel even one line has its legend, so that both begin at the same height.
    layout.showlegend = traces.length > 1 || place.parentElement.children.length > 1;
    return Plotly.newPlot(place, traces, layout, config);
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
    return `${timeline.label}, on average from start to end: ${means.join('; ')}.${found}`;
  }

  function drawCourse(plot, timeline) {
    const panels = data.timeline_panels.filter((panel) =>
      timeline.lines.some((of) => of.panel === panel[0]));
    const layout = shared();
    const traces = [];
    // Legends stand between the panels, in more lines where it is narrow.
    const gap = (plot.clientWidth < 480 ? 0.45 : 0.32) / panels.length;
    panels.forEach(([panel, title], row) => {
      const n = row === 0 ? '' : String(row + 1);
      const top = 1 - row / panels.length - gap * 0.5;
      layout[`yaxis${n}`] = {
        ...axis({ title, log: false, ticks: [] }), rangemode: 'tozero', nticks: 5,
        domain: [1 - (row + 1) / panels.length + gap * 0.5, top],
        exponentformat: panel === 'throughput' ? 'none' : 'SI',
      };
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
          type: 'scatter', mode: 'lines', name: text(of.name), showlegend: true,
          x: [beginning(of), ...of.t], y: [of.v[0], ...of.v],
          xaxis: 'x', yaxis: `y${n}`, legend: `legend${n}`,
          // A value holds for the interval that ends where it stands.
          line: { color: colour, width: panel === 'cpu' ? 0.8 : 1.6, shape: 'vh' },
          ...(panel === 'cpu' ? { stackgroup: 'cpu', fillcolor: `${colour}b0` } : {}),
          hoverinfo: 'text',
          hovertext: [of.v[0], ...of.v].map((value, at) =>
            `<b>${text(of.name)}</b><br>${digits(value)} ${unit}<br>until ${of.t[Math.max(at - 1, 0)]} s`),
        });
      });
    });
    layout.xaxis = {
      ...axis({ title: 'seconds since the streams were let go', log: false, ticks: [] }),
      anchor: panels.length > 1 ? `y${panels.length}` : 'y', showgrid: false,
    };
    layout.shapes = (timeline.window || []).map((at) => ({
      type: 'line', xref: 'x', yref: 'paper', x0: at, x1: at, y0: 0, y1: 1,
      line: { width: 1, dash: 'dot', color: GREY },
    }));
    plot.style.height = `${Math.max(panels.length * 165 + 60, 300)}px`;
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

  function filterable(table) {
    const [input, counts] = [byId('trials-filter'), byId('trials-count')];
    const rows = [...table.tBodies[0].rows];
    const apply = () => {
      const wanted = input.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row) => {
        const words = wanted.length ? row.textContent.toLowerCase() : '';
        row.hidden = !wanted.every((word) => words.includes(word));
        shown += row.hidden ? 0 : 1;
      });
      counts.textContent = `${shown} of ${rows.length}`;
    };
    input.addEventListener('input', apply);
    // A link to a trial must find its row, whatever is typed.
    window.addEventListener('hashchange', () => {
      const target = byId(location.hash.slice(1));
      if (target && target.hidden) { input.value = ''; apply(); target.scrollIntoView(); }
    });
    apply();
  }

  const table = byId('trials-table');
  document.querySelectorAll('.scripted').forEach((element) => { element.hidden = false; });
  sortable(table);
  filterable(table);

  const plots = () => [...document.querySelectorAll('.js-plotly-plot')];
  window.addEventListener('beforeprint', () => plots().forEach((plot) =>
    Plotly.relayout(plot, { autosize: false, width: PRINTED_PX })));
  window.addEventListener('afterprint', () => plots().forEach((plot) =>
    Plotly.relayout(plot, { autosize: true, width: null })));

  const faults = () => data.faults.map((course, place) => drawCourse(byId(`faults-${place}`), course));

  Promise.all([...data.panels.map(draw), ...timelines(), ...faults()]).then((drawn) => {
    document.documentElement.dataset.drawn = String(drawn.length);
  });
})();
