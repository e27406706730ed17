// Every trial at once: which are brushed, in which colours, and parallel coordinates of them. Drawn
// on canvas, a slice a frame, so that ten thousand trials never hold the page; axes and words are
// SVG above it, which the style sheet colours. `scatter.js` and `grid.js` draw from the same state.
'use strict';
(() => {
  const {byId, data, HUES, LIT, GREY, CIVIDIS, dark} = window.brickyard;
  // Of SVG's names, without an address in the page that asks nothing of anybody.
  const SVG = Object.assign(document.createElement('template'), {innerHTML: '<svg></svg>'}).content.firstChild.namespaceURI;
  // Where a trial without a value stands, below the lowest: of the size that places are kept in.
  const NONE = Math.fround(-0.09);
  // Rows a frame: fewer when frames come late, but never so few that the frames themselves are what takes
  // the time on a busy machine; more when they come early. The clock within a frame
  // tells nothing, as a canvas is drawn after the script has gone on.
  const PACE = {first: 1500, least: 1000, most: 6000, late_ms: 45, early_ms: 24};
  // From so many lines on they are as thin as a pixel, which is ten times as fast without a graphics card.
  const THIN_FROM = 400;
  const DASHES = 7;
  const BOXED_MAX = 24;

  const table = data.explorer;
  const count = table.trials.length;
  const ink = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  const three = (number) => {
    if (!Number.isFinite(number) || number === 0) return String(number);
    const size = Math.floor(Math.log10(Math.abs(number)));
    if (Math.abs(size) > 6) return number.toExponential(1).replace('e+', 'e').replace('.0e', 'e');
    return size >= 3 ? String(Number(number.toPrecision(4))) : String(Number(number.toPrecision(3)));
  };
  const scaled = (number, step, units) => {
    let [value, place] = [number, 0];
    while (Math.abs(value) >= step && place < units.length - 1) { value /= step; place += 1; }
    return `${three(value)} ${units[place]}`.trim();
  };
  // As `src/value/print.rs` prints it.
  const printed = {
    ns: (v) => scaled(v, 1000, ['ns', 'us', 'ms', 's']),
    B: (v) => scaled(v, 1024, ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']),
    '': (v) => scaled(v, 1000, ['', 'k', 'M', 'G']).replace(' ', ''),
    '/s': (v) => `${scaled(v, 1000, ['', 'k', 'M', 'G']).replace(' ', '')}/s`,
  };
  const print = (column, value) => {
    if (Number.isNaN(value)) return 'none';
    if (column.levels) return (column.levels[Math.round(value)] || {text: '?'}).text;
    if (column.name === 'trial' || column.name === 'replicate') return String(Math.round(value));
    return (printed[column.unit] || ((v) => `${three(v)} ${column.unit}`))(value);
  };
  const named = (column) => (column.unit && !['ns', 'B'].includes(column.unit)
    ? `${column.title}, ${column.unit}` : column.title);
  // On an axis, whose title has the unit.
  const tick = (column, value) => (column.unit && !['ns', 'B'].includes(column.unit) && !column.levels
    ? printed['']( value) : print(column, value));

  function prepare(column, place) {
    const values = Float64Array.from(column.values, (value) => (value === null ? NaN : value));
    let [low, high, missing] = [Infinity, -Infinity, false];
    for (const value of values) {
      if (Number.isNaN(value)) missing = true;
      else { low = Math.min(low, value); high = Math.max(high, value); }
    }
    const levels = column.levels;
    if (low > high) [low, high] = [0, 1];
    if (levels) [low, high] = [0, Math.max(levels.length - 1, 0)];
    const ratios = !levels && low > 0 && high > low;
    const usual = ratios && high / low > 20;
    const ends = {log: [low, high], even: [low, high]};
    // From zero where that costs little: what is twice as high is twice as much then.
    if (!levels && low > 0 && low < 0.6 * high && column.kind === 'figure') ends.even[0] = 0;
    if (low === high) ends.even = [low - 1, high + 1];
    return rescaled({...column, place, values, missing, ratios, usual, ends}, usual);
  }
  // Stands by ratios, for which all have to be above zero, or evenly.
  function rescaled(of, log) {
    const [low, high] = log ? of.ends.log : of.ends.even;
    Object.assign(of, {low, high, log});
    of.to = log
      ? (value) => Math.log(value / low) / Math.log(high / low)
      : (value) => (value - low) / (high - low);
    of.from = log ? (at) => low * (high / low) ** at : (at) => low + at * (high - low);
    of.at = Float32Array.from(of.values, (value) => (Number.isNaN(value) ? NONE : of.to(value)));
    return of;
  }
  const columns = table.columns.map(prepare);
  const byName = new Map(columns.map((column) => [column.name, column]));
  const rowOf = new Map(table.trials.map((trial, row) => [trial, row]));
  const origin = byName.get('origin');
  const foreign = Uint8Array.from({length: count}, (_, row) =>
    (origin.levels?.[origin.values[row]]?.foreign ? 1 : 0));

  // Rows in an order without a pattern, so that a drawing that is half done shows a fair half.
  const shuffled = Uint32Array.from({length: count}, (_, row) => row);
  for (let [at, seed] = [count - 1, 1]; at > 0; at--) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const other = seed % (at + 1);
    [shuffled[at], shuffled[other]] = [shuffled[other], shuffled[at]];
  }

  const varied = (column) => (column.levels ? column.levels.length > 1 : true);
  const usable = columns.filter((column) => varied(column) && column.values.some((v) => !Number.isNaN(v)));
  const state = {
    axes: table.axes.map((place) => columns[place]).filter((column) => usable.includes(column)),
    brushes: new Map(), colour: null, only: null,
  };
  const selected = new Uint8Array(count).fill(1);
  let chosen = count;
  const brushed = () => state.brushes.size > 0 || state.only !== null;

  function select() {
    const brushes = [...state.brushes].map(([name, brush]) => [byName.get(name), brush]);
    chosen = 0;
    for (let row = 0; row < count; row++) {
      let inside = state.only ? state.only.rows[row] : 1;
      for (let place = 0; inside && place < brushes.length; place++) {
        const [column, brush] = brushes[place];
        const value = column.values[row];
        inside = Number.isNaN(value) ? Number(brush.low === -Infinity)
          : Number(value >= brush.low && value <= brush.high);
      }
      selected[row] = inside;
      chosen += inside;
    }
  }

  // Colours: of words their own, of numbers ten steps.
  let palette = [];
  const shade = new Uint8Array(count);
  const lit = (colour) => (dark.matches ? LIT[colour] ?? colour : colour);
  function recolour() {
    const column = state.colour;
    if (column.levels && (column.levels.length <= HUES.length || column.kind === 'trial')) {
      const hues = column.levels.map((level, at) => (level.foreign || at >= HUES.length ? GREY : lit(HUES[at])));
      palette = [...hues, GREY];
      for (let row = 0; row < count; row++) {
        shade[row] = Number.isNaN(column.values[row]) ? hues.length : Math.min(column.values[row], 254);
      }
      return;
    }
    // The darkest are not seen on black, nor the lightest on white.
    const steps = dark.matches ? CIVIDIS.slice(2) : CIVIDIS.slice(0, 9);
    palette = [...steps, GREY];
    for (let row = 0; row < count; row++) {
      const at = column.at[row];
      shade[row] = at === NONE ? steps.length : Math.min(Math.floor(at * steps.length), steps.length - 1);
    }
  }

  const listeners = [];
  let [frame, settled] = [0, 0];
  // `axes`, `colour` and `size` need all to be drawn anew; a brush only what is brushed.
  function changed(what) {
    if (what === 'axes' || what === 'brush') select();
    if (what === 'colour') recolour();
    pending.add(what);
    if (!frame) {
      frame = requestAnimationFrame(() => {
        const all = new Set(pending);
        pending.clear();
        frame = 0;
        tell();
        listeners.forEach((listener) => listener(all));
        // Only what is drawn can settle: a busy machine may draw later than that.
        settled = setTimeout(settle, 140);
      });
    }
    clearTimeout(settled);
  }
  const pending = new Set();
  const slow = [];
  // What is too dear for every step of a drag.
  function settle() {
    const trials = brushed() ? new Set(table.trials.filter((_, row) => selected[row])) : null;
    window.brickyard.show(trials, new Set(table.trials));
    slow.forEach((listener) => listener());
    remember();
    document.documentElement.dataset.settled = String(chosen);
  }

  const spaced = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, '\u00a0');
  const element = (name, attributes = {}, text = '') => {
    const made = document.createElementNS(SVG, name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    if (text) made.textContent = text;
    return made;
  };
  const html = (name, words, properties = {}) =>
    Object.assign(document.createElement(name), {textContent: words}, properties);

  function says(column, brush) {
    if (brush.high === -Infinity) return 'none';
    const bottom = brush.low === -Infinity;
    const low = bottom ? column.low : brush.low;
    if (column.levels) {
      const [first, last] = [Math.max(Math.ceil(low), 0), Math.min(Math.floor(brush.high), column.levels.length - 1)];
      const ends = first > last ? 'nothing' : [...new Set([first, last])].map((at) => column.levels[at].text).join(' to ');
      return bottom ? `none, ${ends}` : ends;
    }
    return `${bottom ? 'none, ' : ''}${print(column, low)} to ${print(column, brush.high)}`;
  }

  function chip(words, clear) {
    const item = document.createElement('li');
    const button = html('button', `${words} \u00d7`, {type: 'button', onclick: clear});
    button.setAttribute('aria-label', `Clear ${words}`);
    item.append(button);
    return item;
  }

  function tell() {
    const drawn = brushed() ? `${spaced(chosen)} of ${spaced(count)} trials` : `${spaced(count)} trials`;
    byId('explore-count').textContent = table.of > count ? `${drawn} drawn of ${spaced(table.of)}` : drawn;
    byId('explore-clear').disabled = !brushed();
    const chips = [...state.brushes].map(([name, brush]) => {
      const column = byName.get(name);
      return chip(`${column.title} ${says(column, brush)}`, () => { brush_(column, null); });
    });
    if (state.only) chips.push(chip(state.only.says, () => { state.only = null; changed('brush'); }));
    byId('explore-brushes').replaceChildren(...chips);
  }

  function legend() {
    const column = state.colour;
    const swatch = (colour, words, extra = '') => {
      const item = html('li', words);
      const mark = html('span', '', {className: `swatch ${extra}`});
      mark.style.background = colour;
      item.prepend(mark);
      return item;
    };
    const items = [];
    if (palette.length - 1 === column.levels?.length && column.kind !== undefined) {
      column.levels.slice(0, HUES.length).forEach((level, at) => items.push(swatch(palette[at], level.text)));
      if (column.levels.length > HUES.length) items.push(swatch(GREY, `${column.levels.length - HUES.length} more`));
    } else {
      const ramp = `linear-gradient(90deg, ${palette.slice(0, -1).join(',')})`;
      items.push(swatch(ramp, `${named(column)}: ${print(column, column.low)} to ${print(column, column.high)}`, 'ramp'));
    }
    if (column.missing) items.push(swatch(GREY, 'none'));
    if (foreign.some(Boolean)) items.push(swatch('none', 'dashed, open: bytes not surely from the device', 'dashed'));
    byId('explore-legend').replaceChildren(...items);
  }

  // Two canvases and an SVG over each other: what is there, what is brushed, and the axes.
  class Layers {
    #jobs = {};
    #pace = PACE.first;
    constructor(place, label) {
      this.place = place;
      this.stage = html('div', '', {className: 'stage'});
      this.under = document.createElement('canvas');
      this.over = document.createElement('canvas');
      this.svg = element('svg', {class: 'axes', role: 'group'});
      this.under.setAttribute('aria-hidden', 'true');
      this.over.setAttribute('role', 'img');
      this.tip = html('div', '', {className: 'tip', hidden: true});
      // A finger that begins on what is dragged moves no page. Of `touch-action` browsers heed what an
      // SVG has as a whole, and not what parts of it have.
      this.svg.addEventListener('touchstart', (event) => {
        if (event.touches.length === 1 && event.target.closest('.hit, .head, .away, .frame')) event.preventDefault();
      }, {passive: false});
      this.stage.append(this.under, this.over, this.svg, this.tip);
      place.append(this.stage);
      this.label(label);
    }

    label(words) {
      this.over.setAttribute('aria-label', words);
    }

    // The room that it will have: what is drawn late must not push what stands below it from under
    // the reader, who is about to press it.
    reserve(width, height) {
      this.stage.style.width = `${width}px`;
      this.stage.style.height = `${height}px`;
    }

    size(width, height) {
      const ratio = Math.min(window.devicePixelRatio || 1, 3);
      [this.width, this.height] = [width, height];
      this.reserve(width, height);
      for (const canvas of [this.under, this.over]) {
        const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
        if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
      }
      this.svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
      this.ratio = ratio;
    }

    // Draws `rows` in slices; what had been begun on that layer is given up.
    paint(layer, rows, draw, done = () => {}) {
      cancelAnimationFrame(this.#jobs[layer]?.id);
      const context = this[layer].getContext('2d');
      context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
      context.clearRect(0, 0, this.width, this.height);
      const job = {at: 0, rows, draw, done, context};
      this.#jobs[layer] = job;
      this.#slice(layer, job, this.#pace);
    }

    #slice(layer, job, rows) {
      if (job.at < job.rows.length) job.draw(job.context, job.rows.subarray(job.at, job.at + rows));
      job.at += rows;
      if (job.at >= job.rows.length) { this.#jobs[layer] = undefined; job.done(); return; }
      const before = performance.now();
      job.id = requestAnimationFrame(() => {
        const took = performance.now() - before;
        if (took > PACE.late_ms) this.#pace = Math.max(this.#pace * 0.6, PACE.least);
        if (took < PACE.early_ms) this.#pace = Math.min(this.#pace * 1.6, PACE.most);
        this.#pace = Math.round(this.#pace);
        this.#slice(layer, job, this.#pace);
      });
    }

    // All at once, for the printer.
    finish() {
      for (const [layer, job] of Object.entries(this.#jobs)) {
        if (!job) continue;
        cancelAnimationFrame(job.id);
        this.#slice(layer, job, Infinity);
      }
    }
  }
  const rowsOf = (wanted) => (wanted ? shuffled.filter((row) => selected[row]) : shuffled);
  const EMPTY = new Uint32Array(0);

  // Rounded as the link to it has it, so that the link brushes the same trials.
  const rounded = (value) => (Number.isFinite(value) ? Number(value.toPrecision(5)) : value);
  function brush_(column, brush) {
    if (!brush) state.brushes.delete(column.name);
    else state.brushes.set(column.name, {low: rounded(brush.low), high: rounded(brush.high)});
    changed('brush');
  }
  // From two places on an axis, 0 its foot and 1 its head; below is what has no value.
  function between(column, one, other) {
    const [low, high] = [Math.min(one, other), Math.max(one, other)];
    if (high < NONE / 2) return {low: -Infinity, high: -Infinity};
    const value = (at) => column.from(Math.min(Math.max(at, column.levels ? -0.5 : 0), column.levels ? 1.5 : 1));
    const ends = {low: low < NONE / 2 && column.missing ? -Infinity : value(low), high: value(high)};
    if (!column.levels) return ends;
    const first = ends.low === -Infinity ? ends.low : Math.ceil(ends.low) - 0.4;
    return {low: first, high: Math.max(Math.floor(ends.high) + 0.4, first)};
  }
  const span = (column, brush) => {
    const low = brush.low === -Infinity ? NONE - 0.02 : Math.max(column.to(brush.low), -0.06);
    const high = brush.high === -Infinity ? NONE + 0.02 : Math.min(column.to(brush.high), 1.06);
    return [low, Math.max(high, low)];
  };

  function ticks(column, room) {
    if (column.levels) {
      const step = Math.max(Math.ceil(column.levels.length / Math.max(room, 1)), 1);
      return column.levels.map((_, at) => at).filter((at) => at % step === 0);
    }
    const [low, high] = [column.low, column.high];
    if (column.log) {
      const decades = Math.log10(high / low);
      const steps = decades < 2.5 ? [1, 2, 5] : [1];
      const found = [];
      for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++) {
        steps.forEach((step) => found.push(step * 10 ** power));
      }
      const inside = found.filter((value) => value >= low * 0.999 && value <= high * 1.001);
      const each = Math.ceil(inside.length / Math.max(room, 1));
      return inside.filter((_, at) => at % each === 0);
    }
    const rough = (high - low) / Math.max(Math.min(room, 6), 1);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
    const found = [];
    for (let at = Math.ceil(low / step); at * step <= high * 1.000001; at++) found.push(at * step);
    return found;
  }

  // For who cannot see it: of what is brushed, each figure's median and ends.
  function summary(of) {
    const parts = of.map((column) => {
      const values = Float64Array.from(shuffled.filter((row) => selected[row] && !Number.isNaN(column.values[row])),
        (row) => column.values[row]).sort();
      if (!values.length) return `${column.title}: none`;
      const middle = values[Math.floor(values.length / 2)];
      const said = (value) => print(column, value);
      return `${named(column)} from ${said(values[0])} to ${said(values.at(-1))}`
        + (column.levels ? '' : `, median ${said(middle)}`);
    });
    return `${spaced(chosen)} of ${spaced(count)} trials. ${parts.join('; ')}.`;
  }

  const told = (row) => [`trial ${table.trials[row]}`,
    ...state.axes.map((column) => `${column.title} ${print(column, column.values[row])}`),
    ...(state.axes.includes(origin) || Number.isNaN(origin.values[row]) ? [] : [`origin ${print(origin, origin.values[row])}`]),
  ].join('\n');

  // Boxes beside lists of columns: whether the column that is chosen stands by ratios, everywhere.
  const scales = [];
  const tellScales = () => scales.forEach((each) => each());
  function scale(column, log) {
    if (column.log === log || !column.ratios) return;
    rescaled(column, log);
    tellScales();
    if (state.colour === column) changed('colour');
    changed('axes');
  }
  function scaleBox(picker, box) {
    const tells = () => {
      const column = byName.get(picker.value);
      box.checked = column?.log ?? false;
      box.disabled = !column?.ratios;
    };
    scales.push(tells);
    picker.addEventListener('change', tells);
    box.addEventListener('change', () => scale(byName.get(picker.value), box.checked));
    tells();
  }

  const fill = (picker, options, value) => {
    picker.replaceChildren(...options.map((column) => html('option', named(column), {value: column.name})));
    if (value) picker.value = value.name;
  };

  Object.assign(window.brickyard, {
    explorer: {
      columns: usable, byName, state, selected, shuffled, foreign, table, count, rowOf, origin, BOXED_MAX, NONE, CIVIDIS, EMPTY,
      changed, listeners, slow, brush: brush_, between, span, ticks, tick, print, named, summary, told, ink, brushed, says,
      Layers, rowsOf, element, html, fill, spaced, scaleBox,
      colour: (row) => palette[shade[row]], shade, palette: () => palette, chosen: () => chosen,
    },
  });

  // ---- Parallel coordinates ------------------------------------------------------------------

  const TOP = 58;
  const FOOT = 40;
  const HEIGHT = 400;
  const APART = 92;
  // Longer words stand over the lines.
  const BESIDE_MAX = 9;
  const layers = new Layers(byId('parallel-place'), '');
  let xs = new Map();
  let moved = null;
  const y = (at) => TOP + (1 - at) * (HEIGHT - TOP - FOOT);
  const back = (pixel) => 1 - (pixel - TOP) / (HEIGHT - TOP - FOOT);

  // Dashed by hand: a canvas takes ten times as long for its own dashes.
  function dashed(context, places, row) {
    for (let place = 0; place + 1 < places.length; place++) {
      const [[x, at], [nextX, nextAt]] = [places[place], places[place + 1]];
      const [from, wide, high] = [y(at[row]), nextX - x, y(nextAt[row]) - y(at[row])];
      for (let dash = 0; dash < DASHES; dash++) {
        context.moveTo(x + (wide * dash) / DASHES, from + (high * dash) / DASHES);
        context.lineTo(x + (wide * (dash + 0.55)) / DASHES, from + (high * (dash + 0.55)) / DASHES);
      }
    }
  }

  function strokes(colours, alpha, many) {
    const places = state.axes.map((column) => [xs.get(column), column.at]);
    return (context, rows) => {
      context.globalAlpha = alpha;
      context.lineWidth = many > THIN_FROM ? 1 / layers.ratio : 1.4;
      context.lineJoin = 'bevel';
      // One path for each colour and dash of the slice.
      const kinds = new Map();
      for (const row of rows) {
        const key = colours ? shade[row] * 2 + foreign[row] : foreign[row];
        if (!kinds.has(key)) kinds.set(key, []);
        kinds.get(key).push(row);
      }
      for (const [key, of] of kinds) {
        context.strokeStyle = colours ? palette[key >> 1] : GREY;
        // Few lines a path: one path through thousands is slower than as many paths.
        for (let first = 0; first < of.length; first += 25) {
          context.beginPath();
          for (const row of of.slice(first, first + 25)) {
            if (key & 1) dashed(context, places, row);
            else places.forEach(([x, at], place) => {
              if (place) context.lineTo(x, y(at[row])); else context.moveTo(x, y(at[row]));
            });
          }
          context.stroke();
        }
      }
    };
  }
  const alphaOf = (many) => (many > 5000 ? 0.22 : many > 1000 ? 0.4 : many > 200 ? 0.6 : 0.85);

  let behind = null;
  function drawLines(anew) {
    // What is not brushed stays as it is from one step of a brush to the next.
    if (anew || behind !== brushed()) layers.paint('under', brushed() ? shuffled : EMPTY, strokes(false, 0.07, count));
    behind = brushed();
    document.documentElement.dataset.painted = '';
    layers.paint('over', rowsOf(true), strokes(true, alphaOf(chosen), chosen), () => {
      document.documentElement.dataset.painted = String(chosen);
    });
    layers.label(`Parallel coordinates. ${summary(state.axes)}`);
  }

  function place(width) {
    const many = Math.max(state.axes.length, 1);
    // Before the first axis there is nothing that its words could stand on.
    const words = state.axes.slice(0, 1)
      .flatMap((first) => [...ticks(first, 12).map((value) => tick(first, value)), first.missing ? 'none' : ''])
      .filter((of) => of.length <= BESIDE_MAX);
    const lead = Math.max(34, ...words.map((of) => of.length * 7 + 9));
    const before = Math.max(lead - Math.max(width / many, APART) * 0.32, 0);
    // Paper does not scroll.
    const step = Math.max((width - before) / many, window.brickyard.explorer.printing ? 0 : APART);
    layers.size(before + many * step, HEIGHT);
    xs = new Map(state.axes.map((column, at) => [column, Math.round(before + (at + 0.32) * step)]));
    return step;
  }

  // In two lines at most, of so many letters.
  function wrapped(words, letters) {
    const lines = words.split(' ').reduce((lines, word) => {
      const joined = lines.length ? `${lines.at(-1)} ${word}` : word;
      return lines.length && joined.length <= letters ? [...lines.slice(0, -1), joined] : [...lines, word];
    }, []);
    const kept = lines.slice(0, 2).map((line) => (line.length > letters ? `${line.slice(0, letters - 1)}\u2026` : line));
    if (lines.length > 2) kept[1] = `${kept[1].slice(0, letters - 1)}\u2026`;
    return kept;
  }

  function axisOf(column, step) {
    const x = xs.get(column);
    const group = element('g', {
      class: 'axis', transform: `translate(${x},0)`, tabindex: '0', role: 'slider',
      'aria-orientation': 'vertical', 'aria-valuemin': '0', 'aria-valuemax': '100',
      'data-axis': column.name,
    });
    group.append(element('line', {y1: y(1), y2: y(0), class: 'rule'}));
    // Long words have the room up to what stands before the next axis.
    const next = state.axes[state.axes.indexOf(column) + 1];
    const beside = next ? ticks(next, 12).map((value) => tick(next, value).length).filter((of) => of <= BESIDE_MAX) : [];
    if (next?.missing) beside.push('none'.length);
    const letters = Math.max(Math.floor((step - 18) / 6.6) - Math.max(0, ...beside), 3);
    for (const value of ticks(column, 12)) {
      const at = y(column.to(value));
      const words = tick(column, value);
      group.append(element('line', {x1: -4, x2: 0, y1: at, y2: at, class: 'rule'}));
      const label = element('text', {x: -7, y: at + 4, class: 'tick', 'text-anchor': 'end'},
        words.length > BESIDE_MAX ? '' : words);
      if (words.length > BESIDE_MAX) {
        // Long words stand over the lines, where there is room for them.
        Object.entries({x: 7, 'text-anchor': 'start'}).forEach(([key, of]) => label.setAttribute(key, of));
        label.textContent = words.length > letters ? `${words.slice(0, letters - 1)}\u2026` : words;
      }
      label.append(element('title', {}, words));
      group.append(label);
    }
    if (column.missing) group.append(element('text', {x: -7, y: y(NONE) + 4, class: 'tick', 'text-anchor': 'end'}, 'none'));
    group.append(element('rect', {class: 'brush', x: -9, width: 18, rx: 3, visibility: 'hidden'}));
    group.append(element('rect', {class: 'hit', x: -20, width: 40, y: TOP - 8, height: HEIGHT - TOP - FOOT + 36}));
    const head = element('g', {class: 'head'});
    const title = element('text', {class: 'title', 'text-anchor': 'middle'});
    const lines = wrapped(named(column), Math.floor(step / 8));
    lines.forEach((words, at) => title.append(element('tspan', {x: 0, y: 30 - (lines.length - 1 - at) * 15}, words)));
    title.append(element('title', {}, `${named(column)}: drag to move`));
    head.append(element('rect', {class: 'grip', x: -step * 0.4, width: step * 0.8, y: 2, height: 34}), title);
    const away = element('text', {class: 'away', x: 0, y: 46, 'text-anchor': 'middle'}, '\u00d7');
    away.append(element('title', {}, `Take ${column.title} away`));
    group.append(head, away);
    head.addEventListener('pointerdown', (event) => dragAxis(event, column, group));
    // A finger on the head of an axis is taken for one on the cross beside it: who drags from there brushes.
    away.addEventListener('pointerdown', (event) => dragBrush(event, column, () => remove(column)));
    group.querySelector('.hit').addEventListener('pointerdown', (event) => dragBrush(event, column));
    group.addEventListener('keydown', (event) => keys(event, column));
    return group;
  }

  function drawAxes(step) {
    const focused = document.activeElement?.closest?.('[data-axis]')?.dataset.axis;
    layers.svg.replaceChildren(...state.axes.map((column) => axisOf(column, step)));
    layers.svg.setAttribute('aria-label', 'Axes');
    if (focused) layers.svg.querySelector(`[data-axis="${CSS.escape(focused)}"]`)?.focus({preventScroll: true});
    drawBrushes();
  }

  function drawBrushes() {
    layers.svg.querySelectorAll('.axis').forEach((group) => {
      const column = byName.get(group.dataset.axis);
      const brush = state.brushes.get(column.name);
      const rect = group.querySelector('.brush');
      rect.setAttribute('visibility', brush ? 'visible' : 'hidden');
      if (brush) {
        const [low, high] = span(column, brush);
        rect.setAttribute('y', y(high));
        rect.setAttribute('height', Math.max(y(low) - y(high), 4));
      }
      const words = brush ? says(column, brush) : 'not brushed';
      const head = brush ? span(column, brush)[1] : 1;
      group.setAttribute('aria-label', `${named(column)}, axis ${state.axes.indexOf(column) + 1} of ${state.axes.length}`);
      group.setAttribute('aria-valuenow', String(Math.round(Math.min(Math.max(head, 0), 1) * 100)));
      group.setAttribute('aria-valuetext', words);
    });
  }

  const local = (event) => {
    const box = layers.stage.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  // Until the pointer is let go, wherever it is then.
  function follow(event, move, end) {
    event.preventDefault();
    const target = event.currentTarget;
    target.setPointerCapture?.(event.pointerId);
    const stop = (last) => {
      target.removeEventListener('pointermove', move);
      target.removeEventListener('pointerup', stop);
      target.removeEventListener('pointercancel', stop);
      end(last);
    };
    target.addEventListener('pointermove', move);
    target.addEventListener('pointerup', stop);
    target.addEventListener('pointercancel', stop);
  }
  window.brickyard.explorer.follow = follow;

  function dragBrush(event, column, clicked) {
    if (event.button) return;
    const start = back(local(event)[1]);
    const old = state.brushes.get(column.name);
    const ends = old ? span(column, old) : null;
    const near = 7 / (HEIGHT - TOP - FOOT);
    let dragged = false;
    const grip = ends && [0, 1].find((end) => Math.abs(ends[end] - start) < near);
    const inside = ends && start > ends[0] && start < ends[1];
    event.currentTarget.closest('.axis').focus({preventScroll: true});
    follow(event, (next) => {
      const at = back(local(next)[1]);
      if (Math.abs(at - start) < near / 2 && !dragged) return;
      dragged = true;
      if (grip !== undefined && grip !== null) brush_(column, between(column, ends[1 - grip], at));
      else if (inside) brush_(column, between(column, ends[0] + at - start, ends[1] + at - start));
      else brush_(column, between(column, start, at));
    }, (last) => {
      // What the system took away from the finger was no click.
      if (dragged || last.type === 'pointercancel') return;
      if (clicked) { clicked(); return; }
      // A click takes the brush away, or takes the level that is clicked.
      if (old || !column.levels) brush_(column, null);
      else brush_(column, start < NONE / 2 && column.missing ? {low: -Infinity, high: -Infinity}
        : {low: Math.round(column.from(start)) - 0.4, high: Math.round(column.from(start)) + 0.4});
    });
  }

  function dragAxis(event, column, group) {
    if (event.button) return;
    const from = local(event)[0] - xs.get(column);
    follow(event, (next) => {
      const x = local(next)[0] - from;
      moved = column;
      group.setAttribute('transform', `translate(${x},0)`);
      group.classList.add('moving');
    }, (last) => {
      if (moved !== column) return;
      moved = null;
      const x = local(last)[0] - from;
      const others = state.axes.filter((other) => other !== column);
      const place = others.filter((other) => xs.get(other) < x).length;
      state.axes = [...others.slice(0, place), column, ...others.slice(place)];
      changed('axes');
    });
  }

  function remove(column) {
    if (state.axes.length < 3) return;
    state.axes = state.axes.filter((other) => other !== column);
    changed('axes');
  }

  function keys(event, column) {
    const place = state.axes.indexOf(column);
    const shift = (by) => {
      const other = place + by;
      if (other < 0 || other >= state.axes.length) return;
      const axes = [...state.axes];
      [axes[place], axes[other]] = [axes[other], axes[place]];
      state.axes = axes;
      changed('axes');
    };
    const step = (by) => {
      const old = state.brushes.get(column.name);
      const [low, high] = old ? span(column, old) : [0, 1];
      if (column.levels) {
        const last = column.levels.length - 1;
        let [first, end] = old ? [Math.ceil(Math.max(old.low, 0)), Math.floor(Math.min(old.high, last))] : [0, last];
        if (event.shiftKey) first = Math.min(Math.max(first + by, 0), end);
        else end = Math.max(Math.min(end + by, last), first);
        return brush_(column, {low: first - 0.4, high: end + 0.4});
      }
      const by5 = by * 0.05;
      const ends = event.shiftKey ? [Math.min(Math.max(low + by5, 0), high), high]
        : [low, Math.max(Math.min(high + by5, 1), low)];
      return brush_(column, between(column, Math.max(ends[0], 0), ends[1]));
    };
    const act = {
      ArrowUp: () => step(1), ArrowDown: () => step(-1),
      ArrowLeft: () => shift(-1), ArrowRight: () => shift(1),
      Delete: () => remove(column), Escape: () => brush_(column, null), l: () => scale(column, !column.log),
    }[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act();
  }

  function drawAll() {
    const step = place(byId('parallel-place').clientWidth);
    drawAxes(step);
    drawLines(true);
    const free = usable.filter((column) => !state.axes.includes(column));
    byId('explore-add').replaceChildren(html('option', 'choose\u2026', {value: ''}),
      ...free.map((column) => html('option', named(column), {value: column.name})));
  }

  // ---- What is remembered in the address ------------------------------------------------------

  const PREFIX = '#explore?';
  let restoring = false;
  let opened = false;
  function remember() {
    if (restoring || (!opened && !brushed())) return;
    opened = true;
    const of = new URLSearchParams();
    state.brushes.forEach((brush, name) => of.append('brush', `${name}~${brush.low}~${brush.high}`));
    if (state.only) of.set('finding', String(state.only.place));
    of.set('axes', state.axes.map((column) => column.name).join(','));
    of.set('colour', state.colour.name);
    const turned = usable.filter((column) => column.log !== column.usual);
    if (turned.length) of.set('scale', turned.map((column) => column.name).join(','));
    window.brickyard.explorer.remembered?.forEach((each) => each.save(of));
    try { history.replaceState(null, '', `${PREFIX}${of}`); } catch { /* A page in a frame may have no address. */ }
  }

  function restore() {
    if (!location.hash.startsWith(PREFIX)) return false;
    const of = new URLSearchParams(location.hash.slice(PREFIX.length));
    state.brushes.clear();
    state.only = null;
    of.getAll('brush').forEach((brush) => {
      const [name, low, high] = brush.split('~');
      const ends = {low: Number(low), high: Number(high)};
      if (byName.has(name) && !Number.isNaN(ends.low) && !Number.isNaN(ends.high)) state.brushes.set(name, ends);
    });
    const turned = (of.get('scale') || '').split(',');
    usable.filter((column) => column.ratios).forEach((column) => {
      const log = turned.includes(column.name) ? !column.usual : column.usual;
      if (log !== column.log) rescaled(column, log);
    });
    const axes = (of.get('axes') || '').split(',').map((name) => byName.get(name)).filter((column) => usable.includes(column));
    if (axes.length > 1) state.axes = [...new Set(axes)];
    if (usable.includes(byName.get(of.get('colour')))) state.colour = byName.get(of.get('colour'));
    window.brickyard.explorer.remembered?.forEach((each) => each.load(of));
    tellScales();
    const finding = of.get('finding');
    if (finding !== null) only(Number(finding));
    return true;
  }

  // ---- Findings -------------------------------------------------------------------------------

  const buttons = [...document.querySelectorAll('button.select')];
  function only(place) {
    const button = buttons[place];
    if (!button) return;
    const rows = new Uint8Array(count);
    let found = 0;
    button.dataset.trials.split(' ').forEach((span) => {
      const [first, last] = span.split('-').map(Number);
      for (let trial = first; trial <= (last ?? first); trial++) {
        if (rowOf.has(trial)) { rows[rowOf.get(trial)] = 1; found += 1; }
      }
    });
    const question = button.closest('li')?.querySelector('.kind').textContent.trim().replace(/\s+/g, ' ');
    state.only = {place, rows, says: button.dataset.says ?? `evidence of: ${question} (${spaced(found)})`};
  }
  buttons.forEach((button, place) => {
    button.hidden = false;
    button.addEventListener('click', () => {
      state.brushes.clear();
      only(place);
      changed('brush');
      byId('explore').scrollIntoView();
    });
  });

  // ---- Start ----------------------------------------------------------------------------------

  function start() {
    byId('explorer').hidden = false;
    const several = (column) => column.levels && column.levels.length > 1 && column.levels.length <= HUES.length;
    state.colour = (several(origin) && foreign.some(Boolean) && origin)
      || state.axes.find(several) || state.axes.find((column) => column.kind === 'figure') || usable[0];
    listeners.push((what) => {
      if (what.has('axes') || what.has('size')) drawAll();
      else { drawBrushes(); drawLines(what.has('colour')); }
      if (what.has('colour')) legend();
    });
    fill(byId('explore-colour'), usable, state.colour);
    byId('explore-colour').addEventListener('change', (event) => {
      state.colour = byName.get(event.target.value);
      changed('colour');
    });
    byId('explore-add').addEventListener('change', (event) => {
      const column = byName.get(event.target.value);
      if (column) { state.axes = [...state.axes, column]; changed('axes'); }
    });
    byId('explore-clear').addEventListener('click', () => {
      state.brushes.clear();
      state.only = null;
      changed('brush');
    });
    let width = 0;
    new ResizeObserver(() => {
      const now = byId('parallel-place').clientWidth;
      if (now && now !== width) { width = now; changed('size'); }
    }).observe(byId('parallel-place'));
    dark.addEventListener('change', () => changed('colour'));
    window.addEventListener('hashchange', () => {
      restoring = true;
      if (restore()) { byId('explore-colour').value = state.colour.name; changed('colour'); changed('axes'); }
      restoring = false;
    });
    window.brickyard.explorer.begin = () => {
      if (restore()) { opened = true; byId('explore-colour').value = state.colour.name; byId('explore').scrollIntoView({behavior: 'instant'}); }
      changed('colour');
      changed('axes');
    };
  }
  window.brickyard.explorer.layers = [layers];
  // Trials that are brushed, all columns of each: whatever the figure shows of them. A surface is the
  // map beside it.
  window.brickyard.explorer.csv = (name) => {
    if (name === 'surface-place') return window.brickyard.csv(byId('grid-map'));
    const cell = (words) => (/[",\n]/.test(words) ? `"${words.replace(/"/g, '""')}"` : words);
    const value = (column, row) => {
      const held = column.values[row];
      if (Number.isNaN(held)) return '';
      return column.levels ? cell(column.levels[Math.round(held)]?.text ?? '') : String(held);
    };
    const own = columns.filter((column) => column.name !== 'trial');
    const lines = [['trial', ...own.map((column) => cell(named(column)))].join(',')];
    for (let row = 0; row < count; row++) {
      if (selected[row]) lines.push([table.trials[row], ...own.map((column) => value(column, row))].join(','));
    }
    return `${lines.join('\n')}\n`;
  };
  start();
})();
