// Any two columns against each other, and up to five of them each against each. Over words and
// levels the first draws boxes too. Both brush, and are brushed, as all of the explorer is.
'use strict';
(() => {
  const {byId, GREY, explorer: all} = window.brickyard;
  const {columns, byName, state, selected, foreign, table, Layers, rowsOf, element, html, NONE} = all;

  // Points of one trial of a level stand beside each other, always at the same place.
  // Mixed as MurmurHash3 ends, so that the places across and up have nothing to do with each other.
  const jitter = (row, salt) => {
    let mixed = row * 2 + salt + 1;
    mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return (((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32 - 0.5) * 0.5;
  };

  // A plane in pixels for two columns, with room for half a level beyond the first and the last.
  function plane(box, x, y) {
    const side = (column, from, length) => {
      const pad = column.levels ? 0.5 / Math.max(column.levels.length, 1) : 0.03;
      const inner = length * (1 - 2 * pad);
      const foot = column.missing ? 0.08 * inner : 0;
      return {
        of: (at) => from + length * pad + (at === NONE ? 0 : foot + at * (inner - foot)),
        back: (pixel) => {
          const along = pixel - from - length * pad;
          return foot && along < foot * 0.6 ? NONE : (along - foot) / (inner - foot);
        },
        step: column.levels ? inner / Math.max(column.levels.length - 1, 1) : 0,
      };
    };
    const across = side(x, box.left, box.width);
    const up = side(y, 0, box.height);
    return {
      x: across.of, y: (at) => box.top + box.height - up.of(at),
      backX: across.back, backY: (pixel) => up.back(box.top + box.height - pixel),
      stepX: Math.min(across.step || 0, box.width * 0.5), stepY: up.step,
    };
  }

  function points(of, x, y, size, colours, alpha) {
    // A level has no width of its own, so that points of the same place are told apart.
    const spreadX = x.levels ? Math.min(of.stepX || 30, 60) * 0.9 : 0;
    const spreadY = y.levels ? Math.min(of.stepY || 20, 40) * 0.6 : 0;
    return (context, rows) => {
      context.globalAlpha = alpha;
      context.lineWidth = size < 2 ? 1 : 1.2;
      const kinds = new Map();
      for (const row of rows) {
        const key = colours ? all.shade[row] * 2 + foreign[row] : foreign[row];
        if (!kinds.has(key)) kinds.set(key, []);
        kinds.get(key).push(row);
      }
      for (const [key, rowsOfKind] of kinds) {
        const colour = colours ? all.palette()[key >> 1] : GREY;
        const open = key & 1;
        context[open ? 'strokeStyle' : 'fillStyle'] = colour;
        context.beginPath();
        for (const row of rowsOfKind) {
          const px = of.x(x.at[row]) + spreadX * jitter(row, 0);
          const py = of.y(y.at[row]) + spreadY * jitter(row, 1);
          // Squares of their own are the fastest of all shapes.
          if (size >= 2) { context.moveTo(px + size, py); context.arc(px, py, size, 0, 7); }
          else if (open) context.strokeRect(Math.round(px) - 1.5, Math.round(py) - 1.5, 3, 3);
          else context.fillRect(px - size, py - size, 2 * size, 2 * size);
        }
        if (size >= 2 && open) context.stroke();
        else if (size >= 2) context.fill();
      }
    };
  }

  const quantile = (sorted, share) => {
    const at = (sorted.length - 1) * share;
    const low = Math.floor(at);
    return sorted[low] + (sorted[Math.min(low + 1, sorted.length - 1)] - sorted[low]) * (at - low);
  };

  // Of each level of `x`, of what is brushed: median, quartiles, and the range within 1.5 boxes
  // (Tukey 1977). None of fewer than five trials, whose points say as much. What is not the device's
  // is in no box of a figure.
  function boxes(x, y) {
    const held = x.levels.map(() => []);
    for (let row = 0; row < all.count; row++) {
      if (foreign[row] && y.kind === 'figure') continue;
      // Where a trial without a value stands is rounded, and tells nothing.
      if (selected[row] && !Number.isNaN(x.values[row] + y.values[row])) held[x.values[row]].push(y.values[row]);
    }
    return held.map((values) => {
      if (values.length < 5) return null;
      const sorted = Float64Array.from(values).sort();
      const [low, middle, high] = [0.25, 0.5, 0.75].map((share) => quantile(sorted, share));
      const reach = 1.5 * (high - low);
      return {
        low, middle, high, count: sorted.length,
        bottom: sorted.find((value) => value >= low - reach),
        top: sorted.findLast((value) => value <= high + reach),
      };
    });
  }

  function drawBoxes(context, of, x, y) {
    const ink = all.ink('--ink');
    const wide = Math.min((of.stepX || 40) * 0.62, 46);
    const height = (value) => of.y(y.to(value));
    context.globalAlpha = 1;
    context.strokeStyle = ink;
    context.setLineDash([]);
    boxes(x, y).forEach((box, level) => {
      if (!box) return;
      const at = of.x(x.to(level));
      context.lineWidth = 1.2;
      context.strokeRect(at - wide / 2, height(box.high), wide, height(box.low) - height(box.high));
      context.beginPath();
      for (const [from, to] of [[box.high, box.top], [box.low, box.bottom]]) {
        context.moveTo(at, height(from));
        context.lineTo(at, height(to));
      }
      context.stroke();
      context.lineWidth = 2.6;
      context.beginPath();
      context.moveTo(at - wide / 2, height(box.middle));
      context.lineTo(at + wide / 2, height(box.middle));
      context.stroke();
    });
  }

  // Axes of a plane, with a tick for each so many pixels.
  function frame(box, of, x, y, titles) {
    const group = element('g', {});
    group.append(element('rect', {class: 'frame', x: box.left, y: box.top, width: box.width, height: box.height}));
    const bottom = box.top + box.height;
    if (!titles) return group;
    const longest = x.levels ? Math.max(...x.levels.map((level) => level.text.length)) : 6;
    const turned = x.levels && longest * 7 > box.width / x.levels.length && longest > 3;
    all.ticks(x, turned ? box.width / 18 : box.width / Math.max(longest * 7 + 10, 46)).forEach((value) => {
      const at = of.x(x.to(value));
      group.append(element('line', {class: 'rule', x1: at, x2: at, y1: bottom, y2: bottom + 4}));
      const words = all.tick(x, value);
      const short = words.length > 12 && turned ? `${words.slice(0, 11)}\u2026` : words;
      const label = element('text', turned
        ? {class: 'tick', 'text-anchor': 'end', transform: `translate(${at + 4},${bottom + 10}) rotate(-40)`}
        : {class: 'tick', x: at, y: bottom + 17, 'text-anchor': 'middle'}, short);
      label.append(element('title', {}, words));
      group.append(label);
    });
    all.ticks(y, box.height / 34).forEach((value) => {
      const at = of.y(y.to(value));
      group.append(element('line', {class: 'rule', x1: box.left - 4, x2: box.left, y1: at, y2: at}));
      const words = all.tick(y, value);
      const label = element('text', {class: 'tick', x: box.left - 7, y: at + 4, 'text-anchor': 'end'},
        words.length > 10 ? `${words.slice(0, 9)}\u2026` : words);
      label.append(element('title', {}, words));
      group.append(label);
    });
    group.append(
      element('text', {class: 'title', x: box.left + box.width / 2, y: bottom + (turned ? 82 : 38), 'text-anchor': 'middle'}, all.named(x)),
      element('text', {class: 'title', 'text-anchor': 'middle', transform: `translate(14,${box.top + box.height / 2}) rotate(-90)`}, all.named(y)),
    );
    if (x.missing) group.append(element('text', {class: 'tick', x: of.x(NONE), y: bottom + 17, 'text-anchor': 'middle'}, 'none'));
    if (y.missing) group.append(element('text', {class: 'tick', x: box.left - 7, y: of.y(NONE) + 4, 'text-anchor': 'end'}, 'none'));
    return group;
  }

  // Drags a rectangle over a plane; `at` says which plane lies under a point.
  function brushable(layers, at, over) {
    const rect = element('rect', {class: 'brush', visibility: 'hidden'});
    const place = (event) => {
      const box = layers.stage.getBoundingClientRect();
      return [event.clientX - box.left, event.clientY - box.top];
    };
    layers.svg.addEventListener('pointerdown', (event) => {
      const start = place(event);
      const found = at(...start);
      if (event.button || !found) return;
      const {of, x, y} = found;
      layers.svg.append(rect);
      let dragged = false;
      all.follow(event, (next) => {
        const end = place(next);
        if (!dragged && Math.hypot(end[0] - start[0], end[1] - start[1]) < 5) return;
        dragged = true;
        const side = (axis) => [Math.min(start[axis], end[axis]), Math.abs(end[axis] - start[axis])];
        const [[left, wide], [top, high]] = [side(0), side(1)];
        Object.entries({x: left, width: wide, y: top, height: high, visibility: 'visible'})
          .forEach(([key, value]) => rect.setAttribute(key, value));
        all.brush(x, all.between(x, of.backX(start[0]), of.backX(end[0])));
        if (y !== x) all.brush(y, all.between(y, of.backY(start[1]), of.backY(end[1])));
      }, (last) => {
        rect.setAttribute('visibility', 'hidden');
        if (!dragged && last.type !== 'pointercancel') over?.(...start, true);
      });
    });
    layers.svg.addEventListener('pointermove', (event) => { if (!event.buttons) over?.(...place(event), false); });
    layers.svg.addEventListener('pointerleave', () => { layers.tip.hidden = true; });
  }

  // ---- Any two ---------------------------------------------------------------------------------

  const two = new Layers(byId('scatter-place'), '');
  two.svg.setAttribute('aria-label', 'Axes');
  const pickers = [byId('scatter-x'), byId('scatter-y')];
  const first = (kind, but) => state.axes.find((column) => column.kind === kind && column !== but)
    || columns.find((column) => column.kind === kind && column !== but) || columns[0];
  const pair = {y: first('figure')};
  pair.x = first('knob', pair.y);
  all.fill(pickers[0], columns, pair.x);
  all.fill(pickers[1], columns, pair.y);
  let view = null;

  const sizeOf = (many) => (many > 1500 ? 1.6 : many > 500 ? 2.2 : 3.4);
  let [behindTwo, behindMany] = [null, null];
  const boxOfTwo = (width) => ({left: 84, top: 10, width: Math.max(width - 100, 120), height: 330});
  // Under the box stand numbers and a title, or names of levels, which are longer.
  const roomOfTwo = () => {
    const width = byId('scatter-place').clientWidth;
    const {top, height} = boxOfTwo(width);
    return [width, top + height + (pair.x.levels ? 92 : 52)];
  };
  function drawTwo(what) {
    const [width, height] = roomOfTwo();
    const anew = what.has('axes') || what.has('size') || what.has('pair') || what.has('colour') || !view;
    if (anew) {
      const box = boxOfTwo(width);
      two.size(width, height);
      view = {box, of: plane(box, pair.x, pair.y), ...pair};
      two.svg.replaceChildren(frame(box, view.of, pair.x, pair.y, true));
    }
    const size = sizeOf(all.count);
    if (anew || behindTwo !== all.brushed()) two.paint('under', all.brushed() ? all.shuffled : all.EMPTY, points(view.of, pair.x, pair.y, size, false, 0.13));
    behindTwo = all.brushed();
    const alpha = all.count > 4000 ? 0.5 : 0.8;
    two.paint('over', rowsOf(true), points(view.of, pair.x, pair.y, size, true, alpha), () => {
      const boxed = pair.x.levels && !pair.y.levels && pair.x.levels.length <= all.BOXED_MAX;
      if (boxed) drawBoxes(two.over.getContext('2d'), view.of, pair.x, pair.y);
    });
    two.label(`Scatter plot of ${all.named(pair.y)} against ${all.named(pair.x)}. ${all.summary([pair.x, pair.y])}`);
  }

  function nearest(px, py) {
    let [best, least] = [-1, 15 ** 2];
    const {of, x, y} = view;
    const spreadX = x.levels ? Math.min(of.stepX || 30, 60) * 0.9 : 0;
    const spreadY = y.levels ? Math.min(of.stepY || 20, 40) * 0.6 : 0;
    for (let row = 0; row < all.count; row++) {
      if (!selected[row]) continue;
      const dx = of.x(x.at[row]) + spreadX * jitter(row, 0) - px;
      const dy = of.y(y.at[row]) + spreadY * jitter(row, 1) - py;
      if (dx * dx + dy * dy < least) [best, least] = [row, dx * dx + dy * dy];
    }
    return best;
  }

  const within = (box, x, y) => x >= box.left && x <= box.left + box.width && y >= box.top && y <= box.top + box.height;
  brushable(two, (x, y) => (view && within(view.box, x, y) ? view : null), (x, y, clicked) => {
    const row = nearest(x, y);
    two.tip.hidden = row < 0;
    if (row < 0) return;
    const both = [view.x, view.y].map((column) => `${column.title} ${all.print(column, column.values[row])}`);
    const known = new Set(state.axes);
    two.tip.textContent = all.told(row)
      + both.filter((_, at) => !known.has([view.x, view.y][at])).map((words) => `\n${words}`).join('');
    two.tip.style.left = `${Math.min(x + 14, two.width - 190)}px`;
    two.tip.style.top = `${y + 14}px`;
    if (clicked && byId(`t${table.trials[row]}`)) location.hash = `t${table.trials[row]}`;
  });
  pickers.forEach((picker, at) => picker.addEventListener('change', () => {
    pair[at ? 'y' : 'x'] = byName.get(picker.value);
    all.changed('pair');
  }));
  pickers.forEach((picker) => all.scaleBox(picker, byId(`${picker.id}-log`)));

  // ---- Each against each -----------------------------------------------------------------------

  const MOST = 5;
  const many = new Layers(byId('matrix-place'), '');
  many.svg.setAttribute('aria-label', 'Names of the columns');
  let held = [...state.axes.filter((column) => column.kind === 'knob' && column.levels?.some((level) => level.number !== undefined)).slice(0, 2),
    ...state.axes.filter((column) => column.kind === 'figure').slice(0, 3)].slice(0, 4);
  if (held.length < 2) held = columns.slice(0, 2);
  let cells = [];

  const choice = (column) => {
    const label = html('label', '');
    const box = html('input', '', {type: 'checkbox', value: column.name, checked: held.includes(column)});
    box.addEventListener('change', () => {
      held = box.checked ? [...held, column] : held.filter((other) => other !== column);
      changedChoice();
      all.changed('matrix');
    });
    label.append(box, ` ${all.named(column)}`);
    return label;
  };
  const changedChoice = () => {
    byId('matrix-columns').querySelectorAll('input').forEach((box) => {
      box.checked = held.some((column) => column.name === box.value);
      box.disabled = box.checked ? held.length <= 2 : held.length >= MOST;
    });
  };
  byId('matrix-columns').append(...columns.map(choice));
  changedChoice();

  const roomOfMany = () => {
    const width = Math.min(byId('matrix-place').clientWidth, 900);
    const side = Math.floor((width - 2) / held.length);
    const high = Math.min(side, 190);
    return {width, side, high, height: high * held.length + 2};
  };
  function drawMatrix(what) {
    const anew = !cells.length || ['axes', 'size', 'matrix', 'colour'].some((each) => what.has(each));
    if (anew) {
      const {width, side, high, height} = roomOfMany();
      many.size(width, height);
      cells = held.flatMap((y, row) => held.map((x, place) => {
        const box = {left: place * side + 4, top: row * high + 4, width: side - 8, height: high - 8};
        return {box, x, y, of: plane(box, x, y)};
      }));
      many.svg.replaceChildren(...cells.map((cell) => {
        const group = frame(cell.box, cell.of, cell.x, cell.y, false);
        if (cell.x !== cell.y) return group;
        const [x, y] = [cell.box.left + cell.box.width / 2, cell.box.top + cell.box.height / 2];
        const words = all.named(cell.x).split(' ');
        words.forEach((word, at) => group.append(element('text',
          {class: 'title', x, y: y + 5 + (at - (words.length - 1) / 2) * 16, 'text-anchor': 'middle'}, word)));
        const end = (at, value, of) => element('text', {class: 'tick', ...of}, all.print(cell.x, value));
        group.append(
          end(0, cell.x.low, {x: cell.box.left + 5, y: cell.box.top + cell.box.height - 6}),
          end(1, cell.x.high, {x: cell.box.left + cell.box.width - 5, y: cell.box.top + 15, 'text-anchor': 'end'}),
        );
        return group;
      }));
    }
    const drawn = cells.filter((cell) => cell.x !== cell.y);
    const size = all.count > 2000 ? 0.9 : 1.7;
    const each = (colours, alpha) => {
      const draws = drawn.map((cell) => points(cell.of, cell.x, cell.y, size, colours, alpha));
      return (context, rows) => draws.forEach((draw) => draw(context, rows));
    };
    if (anew || behindMany !== all.brushed()) many.paint('under', all.brushed() ? all.shuffled : all.EMPTY, each(false, 0.12));
    behindMany = all.brushed();
    many.paint('over', rowsOf(true), each(true, all.count > 4000 ? 0.45 : 0.75));
    many.label(`Scatter matrix. ${all.summary(held)}`);
  }
  brushable(many, (x, y) => cells.find((cell) => cell.x !== cell.y && within(cell.box, x, y)));

  all.layers.push(two, many);
  all.remembered = [{
    save: (of) => {
      of.set('scatter', `${pair.y.name}~${pair.x.name}`);
      of.set('matrix', held.map((column) => column.name).join(','));
    },
    load: (of) => {
      const known = (name) => columns.find((column) => column.name === name);
      const [y, x] = (of.get('scatter') || '~').split('~').map(known);
      if (x && y) [pair.x, pair.y, pickers[0].value, pickers[1].value] = [x, y, x.name, y.name];
      const chosen = (of.get('matrix') || '').split(',').map(known).filter(Boolean).slice(0, MOST);
      if (chosen.length > 1) held = [...new Set(chosen)];
      changedChoice();
    },
  }];
  // What is far from the screen waits until it is near.
  const near = new Map();
  const watch = new IntersectionObserver((entries) => entries.forEach((entry) => {
    const of = near.get(entry.target);
    of.seen = entry.isIntersecting;
    if (of.seen && of.due.size) { of.draw(of.due); of.due = new Set(); }
  }), {rootMargin: '300px'});
  all.whenNear = (place, draw, reserve) => {
    const of = {draw, due: new Set(), seen: false};
    near.set(place, of);
    watch.observe(place);
    return (what) => {
      what.forEach((each) => of.due.add(each));
      if (of.seen) { draw(of.due); of.due = new Set(); } else reserve();
    };
  };
  all.nearAll = () => near.forEach((of) => { if (of.due.size) { of.draw(of.due); of.due = new Set(); } });
  all.listeners.push(all.whenNear(byId('scatter-place'), drawTwo, () => two.reserve(...roomOfTwo())));
  // Ten squares of ten thousand points wait until a drag rests.
  const later = all.whenNear(byId('matrix-place'), drawMatrix, () => {
    const {width, height} = roomOfMany();
    many.reserve(width, height);
  });
  all.listeners.push((what) => { if (!what.has('brush')) later(what); });
  all.slow.push(() => later(new Set(['brush'])));
})();
