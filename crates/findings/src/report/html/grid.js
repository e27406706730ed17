// A figure over two knobs: as a map, by Plotly, and as a surface that can be turned, on a canvas of
// our own: Plotly's needs WebGL, which a browser without a graphics card does not have.
'use strict';
(() => {
  const {byId, data, text, shared, axis, config, PRINTED_PX, explorer: all} = window.brickyard;
  const {columns, byName, selected, foreign, origin, table, Layers, html, CIVIDIS, NONE} = all;
  const LEVELS_MAX = 60;

  const knobs = columns.filter((column) => column.kind === 'knob' && column.levels?.length > 1
    && column.levels.length <= LEVELS_MAX && column.levels.every((level) => level.number !== undefined));
  const figures = columns.filter((column) => column.kind === 'figure');
  const group = byName.get('group');

  // Which squares of two knobs have a trial with the figure, of one group or of all.
  function filled(x, y, z, of) {
    const squares = new Set();
    for (let row = 0; row < all.count; row++) {
      if (of !== null && group.values[row] !== of) continue;
      if (x.at[row] !== NONE && y.at[row] !== NONE && z.at[row] !== NONE) squares.add(x.values[row] * 4096 + y.values[row]);
    }
    return squares;
  }
  // Squares that are there because both knobs were varied: levels that have a neighbour each way.
  function crossed(squares) {
    const [xs, ys] = [new Map(), new Map()];
    squares.forEach((square) => {
      const [x, y] = [Math.floor(square / 4096), square % 4096];
      xs.set(x, (xs.get(x) || 0) + 1);
      ys.set(y, (ys.get(y) || 0) + 1);
    });
    return [...squares].filter((square) => xs.get(Math.floor(square / 4096)) > 1 && ys.get(square % 4096) > 1).length;
  }
  // The pair with the fullest grid; that of file and record size, as iozone has it, before others.
  function best() {
    let found = null;
    const groups = [...group.levels?.keys() ?? []].slice(0, 50);
    for (const x of knobs) for (const y of knobs) {
      if (x.place <= y.place) continue;
      for (const of of groups) {
        const many = crossed(filled(x, y, figures[0], of));
        const sizes = [x, y].filter((column) => ['file-size', 'block-size'].includes(column.name)).length;
      const weight = many * (1 + sizes / 100);
        if (many >= 4 && (!found || weight > found.weight)) found = {x, y, weight, group: groups.length > 1 ? of : null};
      }
    }
    return found;
  }

  // As wide as paper, all of it, and at once.
  const print = () => {
    all.printing = true;
    byId('explorer').style.width = `${PRINTED_PX}px`;
    all.listeners.forEach((listener) => listener(new Set(['size'])));
    all.nearAll();
    all.layers.forEach((layers) => layers.finish());
  };
  window.addEventListener('beforeprint', print);
  window.addEventListener('afterprint', () => {
    all.printing = false;
    byId('explorer').style.width = '';
    all.changed('size');
  });

  const grid = figures.length ? best() : null;
  if (!grid) {
    byId('grid-missing').hidden = false;
    byId('grid-drawn').remove();
    return;
  }
  grid.z = figures[0];
  const pickers = {x: byId('grid-x'), y: byId('grid-y'), z: byId('grid-z')};
  all.fill(pickers.x, knobs, grid.x);
  all.fill(pickers.y, knobs, grid.y);
  all.fill(pickers.z, figures, grid.z);
  all.scaleBox(pickers.z, byId('grid-z-log'));
  const groupPicker = byId('grid-group');
  groupPicker.append(html('option', 'all groups', {value: ''}),
    ...(group.levels || []).slice(0, 200).map((level, at) => html('option', level.text, {value: String(at)})));
  groupPicker.value = grid.group === null ? '' : String(grid.group);
  Object.entries(pickers).forEach(([key, picker]) => picker.addEventListener('change', () => {
    grid[key] = byName.get(picker.value);
    all.changed('grid');
  }));
  groupPicker.addEventListener('change', () => {
    grid.group = groupPicker.value === '' ? null : Number(groupPicker.value);
    all.changed('grid');
  });

  // Means of what is brushed, square by square; what differs within squares besides the two.
  function means() {
    const {x, y, z} = grid;
    const squares = new Map();
    const others = columns.filter((column) => (column.kind === 'knob' || column === group || column === origin)
      && column !== x && column !== y);
    const mixed = new Set();
    let left = 0;
    for (let row = 0; row < all.count; row++) {
      if (!selected[row] || (grid.group !== null && group.values[row] !== grid.group)) continue;
      if (x.at[row] === NONE || y.at[row] === NONE || z.at[row] === NONE) continue;
      const key = x.values[row] * 4096 + y.values[row];
      const square = squares.get(key);
      // What is not the device's stands only where nothing of the device's does.
      if (square && square.foreign < foreign[row]) { left += 1; continue; }
      if (!square || square.foreign > foreign[row]) {
        left += square?.count ?? 0;
        squares.set(key, {x: x.values[row], y: y.values[row], sum: z.values[row], count: 1, first: row, foreign: foreign[row],
          marks: new Set([origin.values[row]])});
        continue;
      }
      square.sum += z.values[row];
      square.count += 1;
      square.marks.add(origin.values[row]);
      others.forEach((column) => {
        if (!Object.is(column.values[row], column.values[square.first])) mixed.add(column.title);
      });
    }
    squares.forEach((square) => {
      square.mean = square.sum / square.count;
      const words = [...square.marks].filter((level) => !Number.isNaN(level)).map((level) => origin.levels[level].text);
      square.from = words.join(', ');
      square.mark = square.foreign ? (words.length > 1 ? 'v' : {unknown: '?', memory: 't'}[words[0]] || words[0][0]) : '';
    });
    return {squares: [...squares.values()], mixed: [...mixed], left};
  }

  // Levels that any square has, in order.
  const used = (squares, key) => [...new Set(squares.map((square) => square[key]))].sort((a, b) => a - b);

  // Where between levels a size lies, as levels stand at equal steps: 1.5 is midway between the
  // second and the third. What lies beyond the first or the last is not drawn.
  function stands(column, levels, size) {
    const numbers = levels.map((level) => column.levels[level].number);
    const above = numbers.findIndex((number) => number >= size);
    if (above < 0 || (above === 0 && numbers[0] !== size)) return null;
    if (numbers[above] === size || above === 0) return above;
    return above - 1 + Math.log(size / numbers[above - 1]) / Math.log(numbers[above] / numbers[above - 1]);
  }
  // Edges of caches, each of one knob: lines on the map and on the surface.
  const edges = (column, levels) => (data.edges || []).filter((edge) => edge.knob === column.name)
    .map((edge) => ({...edge, stands: stands(column, levels, edge.at)})).filter((edge) => edge.stands !== null);

  const shadeOf = (low, high) => {
    const {log} = grid.z;
    return (value) => {
      if (!(high > low)) return 0.5;
      return log ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
    };
  };

  function drawMap(xs, ys, squares) {
    const place = byId('grid-map');
    const {x, y, z} = grid;
    const rows = ys.map(() => xs.map(() => null));
    const [marks, hover] = [ys.map(() => xs.map(() => '')), ys.map(() => xs.map(() => ''))];
    squares.forEach((square) => {
      const [row, at] = [ys.indexOf(square.y), xs.indexOf(square.x)];
      rows[row][at] = z.log ? Math.log10(square.mean) : square.mean;
      marks[row][at] = square.mark;
      hover[row][at] = text(`${x.title} ${x.levels[square.x].text}\n${y.title} ${y.levels[square.y].text}\n`
        + `${z.title} ${all.print(z, square.mean)}\nn = ${square.count}\n${square.from || 'written'}`);
    });
    const layout = shared();
    const ticks = (column, levels) => levels.map((level, at) => [at, column.levels[level].text]);
    layout.xaxis = {...axis({title: x.title, log: false, ticks: ticks(x, xs)}), showgrid: false};
    layout.yaxis = {...axis({title: y.title, log: false, ticks: ticks(y, ys)}), showgrid: false};
    const lines = (column, levels, upright) => edges(column, levels).map((edge) => ({
      type: 'line', xref: upright ? 'x' : 'paper', yref: upright ? 'paper' : 'y',
      ...(upright ? {x0: edge.stands, x1: edge.stands, y0: 0, y1: 1} : {x0: 0, x1: 1, y0: edge.stands, y1: edge.stands}),
      line: {width: 2, dash: 'dash', color: '#d55e00'},
      ...(upright ? {} : {label: {text: text(edge.name), textposition: 'end', font: {size: 12}}}),
    }));
    layout.shapes = [...lines(x, xs, true), ...lines(y, ys, false)];
    // Beside an upright edge the letters of squares leave no room for its name: it stands above the map.
    const upright = edges(x, xs);
    layout.annotations = upright.map((edge, at) => ({
      text: text(edge.name), x: edge.stands, xref: 'x', y: 1, yref: 'paper', yanchor: 'bottom', yshift: (upright.length - 1 - at) * 15,
      showarrow: false, font: {size: 12},
    }));
    layout.margin.t += upright.length * 16;
    const flat = squares.map((square) => square.mean);
    const [low, high] = [Math.min(...flat), Math.max(...flat)];
    const bar = {title: {text: text(all.named(z)), side: 'right', font: {size: 13}}, thickness: 12, outlinewidth: 0};
    if (z.log) {
      const between = all.ticks({...z, low, high}, 5).filter((value) => value > low * 1.1 && value < high / 1.1);
      const values = [low, ...between, high];
      Object.assign(bar, {tickvals: values.map(Math.log10), ticktext: values.map((value) => all.tick(z, value))});
    }
    const scale = CIVIDIS.map((colour, at) => [at / (CIVIDIS.length - 1), colour]);
    place.setAttribute('aria-label', `Map of ${z.title} over ${x.title} and ${y.title}: from ${all.print(z, low)} to ${all.print(z, high)}, ${squares.length} squares.`);
    return Plotly.react(place, [{
      type: 'heatmap', z: rows, x: xs.map((_, at) => at), y: ys.map((_, at) => at), text: marks, texttemplate: '%{text}',
      textfont: {size: 12}, hovertext: hover, hoverinfo: 'text', hoverongaps: false, xgap: 1, ygap: 1, colorscale: scale, colorbar: bar,
    }], layout, config);
  }

  // ---- The surface -----------------------------------------------------------------------------

  const layers = new Layers(byId('surface-place'), 'Surface');
  all.layers.push(layers);
  const stage = layers.stage;
  stage.tabIndex = 0;
  stage.classList.add('surface');
  const RESTING = {turn: -0.65, tilt: 0.5, near: 1};
  const camera = {...RESTING};
  let scene = null;
  let projected = [];

  function project(x, y, z) {
    const [ct, st, cp, sp] = [Math.cos(camera.turn), Math.sin(camera.turn), Math.cos(camera.tilt), Math.sin(camera.tilt)];
    const [px, py] = [x * ct - y * st, x * st + y * ct];
    const size = Math.min(layers.width, layers.height * 1.15) * 0.5 * camera.near;
    return [layers.width / 2 + px * size, layers.height * 0.46 + (py * sp - z * cp * 0.8) * size, py * cp + z * sp];
  }
  const along = (at, many) => (many > 1 ? (at / (many - 1)) * 1.3 - 0.65 : 0);

  function drawSurface() {
    if (!scene) return;
    const {xs, ys, heights, squares} = scene;
    const context = layers.over.getContext('2d');
    context.setTransform(layers.ratio, 0, 0, layers.ratio, 0, 0);
    context.clearRect(0, 0, layers.width, layers.height);
    context.globalAlpha = 1;
    context.setLineDash([]);
    const point = (at, row, height) => project(along(at, xs.length), -along(row, ys.length), height - 0.5);
    frame(context, point);
    const faces = [];
    for (let row = 0; row + 1 < ys.length; row++) for (let at = 0; at + 1 < xs.length; at++) {
      const corners = [[at, row], [at + 1, row], [at + 1, row + 1], [at, row + 1]];
      const known = corners.map(([x, y]) => heights[y][x]);
      if (known.some((height) => height === null)) continue;
      const places = corners.map(([x, y], place) => point(x, y, known[place]));
      const deep = places.reduce((sum, place) => sum + place[2], 0);
      faces.push({places, deep, height: known.reduce((sum, height) => sum + height, 0) / 4});
    }
    faces.sort((a, b) => a.deep - b.deep);
    context.lineWidth = 0.8;
    context.lineJoin = 'round';
    context.strokeStyle = all.ink('--page');
    faces.forEach((face) => {
      context.beginPath();
      face.places.forEach(([x, y], place) => (place ? context.lineTo(x, y) : context.moveTo(x, y)));
      context.closePath();
      context.fillStyle = CIVIDIS[Math.min(Math.floor(face.height * CIVIDIS.length), CIVIDIS.length - 1)];
      context.fill();
      context.stroke();
    });
    projected = squares.map((square) => {
      const [at, row] = [xs.indexOf(square.x), ys.indexOf(square.y)];
      return {square, at: point(at, row, heights[row][at])};
    });
    context.strokeStyle = all.ink('--ink');
    context.fillStyle = all.ink('--ink');
    context.lineWidth = 1.1;
    projected.forEach(({square, at: [x, y]}) => {
      context.beginPath();
      context.arc(x, y, square.foreign ? 4 : 1.8, 0, 7);
      if (square.foreign) context.stroke(); else context.fill();
    });
    drawEdges(context, point);
  }

  // A line over the surface where a cache ends.
  function drawEdges(context, point) {
    const {xs, ys, heights} = scene;
    context.strokeStyle = '#d55e00';
    context.lineWidth = 2.4;
    const height = (x, y) => heights[y]?.[x] ?? null;
    // Along the other axis, between the two levels that the edge lies between.
    const draw = (column, levels, others, at, place) => edges(column, levels).forEach((edge) => {
      const [low, share] = [Math.floor(edge.stands), edge.stands % 1];
      context.beginPath();
      let pen = false;
      others.forEach((_, other) => {
        const ends = [at(low, other), at(Math.min(low + 1, levels.length - 1), other)];
        if (ends.includes(null)) { pen = false; return; }
        const [x, y] = place(edge.stands, other, ends[0] + (ends[1] - ends[0]) * share);
        if (pen) context.lineTo(x, y); else context.moveTo(x, y);
        pen = true;
      });
      context.stroke();
    });
    draw(grid.x, xs, ys, height, point);
    draw(grid.y, ys, xs, (row, column) => height(column, row), (y, x, z) => point(x, y, z));
  }

  // The floor, its levels, and the height's ends at the corner that stands farthest to the left.
  function frame(context, point) {
    const {xs, ys, low, high} = scene;
    const [lastX, lastY] = [xs.length - 1, ys.length - 1];
    context.strokeStyle = all.ink('--axis');
    context.fillStyle = all.ink('--ink');
    context.lineWidth = 1;
    context.font = `12px ${getComputedStyle(document.body).fontFamily}`;
    const corners = [[0, 0], [lastX, 0], [lastX, lastY], [0, lastY]];
    context.beginPath();
    [...corners, corners[0]].forEach(([x, y], at) => {
      const [px, py] = point(x, y, 0);
      if (at) context.lineTo(px, py); else context.moveTo(px, py);
    });
    const left = corners.reduce((a, b) => (point(...a, 0)[0] <= point(...b, 0)[0] ? a : b));
    context.moveTo(...point(...left, 0).slice(0, 2));
    context.lineTo(...point(...left, 1).slice(0, 2));
    context.stroke();
    const nearer = (a, b) => (point(...a, 0)[2] >= point(...b, 0)[2] ? a : b);
    const [, frontY] = nearer([lastX / 2, 0], [lastX / 2, lastY]);
    const [frontX] = nearer([0, lastY / 2], [lastX, lastY / 2]);
    const label = (words, [px, py], [cx, cy]) => {
      const away = Math.hypot(px - cx, py - cy) || 1;
      const [x, y] = [px + ((px - cx) / away) * 14, py + ((py - cy) / away) * 14];
      const left = x < cx;
      const room = context.measureText(words).width + 2;
      context.textAlign = left ? 'right' : 'left';
      context.fillText(words, left ? Math.max(x, room) : Math.min(x, layers.width - room), y + 4);
    };
    const each = (many) => Math.max(Math.ceil(many / 7), 1);
    xs.forEach((level, at) => {
      if (at % each(xs.length) === 0) label(grid.x.levels[level].text, point(at, frontY, 0), point(at, lastY / 2, 0));
    });
    ys.forEach((level, at) => {
      if (at % each(ys.length) === 0) label(grid.y.levels[level].text, point(frontX, at, 0), point(lastX / 2, at, 0));
    });
    context.textAlign = 'left';
    const ends = [[low, 0], [high, 1]];
    ends.forEach(([value, height]) => {
      const [x, y] = point(...left, height);
      const words = all.print(grid.z, value);
      context.textAlign = 'right';
      const room = context.measureText(words).width + 8;
      context.fillText(words, Math.max(x - 6, room), y - 4);
    });
    context.textAlign = 'center';
    context.fillText(`${grid.x.title} and ${grid.y.title}; up: ${all.named(grid.z)}${grid.z.log ? ', by ratio' : ''}`, layers.width / 2, layers.height - 6);
  }

  let turning = 0;
  const turned = () => { if (!turning) turning = requestAnimationFrame(() => { turning = 0; drawSurface(); }); };
  stage.addEventListener('pointerdown', (event) => {
    if (event.button) return;
    const [x, y, {turn, tilt}] = [event.clientX, event.clientY, {...camera}];
    stage.focus({preventScroll: true});
    layers.tip.hidden = true;
    all.follow(event, (next) => {
      camera.turn = turn - (next.clientX - x) * 0.01;
      camera.tilt = Math.min(Math.max(tilt + (next.clientY - y) * 0.008, 0.05), 1.5);
      turned();
    }, () => {});
  });
  stage.addEventListener('pointermove', (event) => {
    if (event.buttons) return;
    const box = stage.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let [near, least] = [null, 18 ** 2];
    projected.forEach((of) => {
      const away = (of.at[0] - x) ** 2 + (of.at[1] - y) ** 2;
      if (away < least) [near, least] = [of.square, away];
    });
    layers.tip.hidden = !near;
    if (!near) return;
    layers.tip.textContent = `${grid.x.title} ${grid.x.levels[near.x].text}\n${grid.y.title} ${grid.y.levels[near.y].text}\n`
      + `${grid.z.title} ${all.print(grid.z, near.mean)}\nn = ${near.count}${near.foreign ? `\nnot the device\u2019s: ${near.from}` : ''}`;
    layers.tip.style.left = `${Math.min(x + 14, layers.width - 180)}px`;
    layers.tip.style.top = `${y + 14}px`;
  });
  stage.addEventListener('pointerleave', () => { layers.tip.hidden = true; });
  // Only who works with the surface wants its wheel; others scroll the page.
  stage.addEventListener('wheel', (event) => {
    if (document.activeElement !== stage) return;
    event.preventDefault();
    camera.near = Math.min(Math.max(camera.near * (event.deltaY < 0 ? 1.1 : 1 / 1.1), 0.5), 4);
    turned();
  }, {passive: false});
  stage.addEventListener('keydown', (event) => {
    const act = {
      ArrowLeft: () => { camera.turn -= 0.12; }, ArrowRight: () => { camera.turn += 0.12; },
      ArrowUp: () => { camera.tilt = Math.min(camera.tilt + 0.1, 1.5); },
      ArrowDown: () => { camera.tilt = Math.max(camera.tilt - 0.1, 0.05); },
      '+': () => { camera.near = Math.min(camera.near * 1.15, 4); }, '-': () => { camera.near = Math.max(camera.near / 1.15, 0.5); },
      0: () => Object.assign(camera, RESTING),
    }[event.key];
    if (!act) return;
    event.preventDefault();
    act();
    turned();
  });

  const roomOf = () => [Math.max(byId('surface-place').clientWidth, 200), 376];
  function draw() {
    const {squares, mixed, left} = means();
    const same = grid.x === grid.y;
    const [xs, ys] = [used(squares, 'x'), used(squares, 'y')];
    const words = [];
    if (same) words.push('Choose two different knobs.');
    else if (!squares.length) words.push('Nothing that is brushed has both knobs and the figure.');
    else words.push(`${squares.length} squares.`);
    if (mixed.length) words.push(`Within squares ${mixed.join(', ')} differ too, and means are over all of them: brush these to hold them still.`);
    if (left) words.push(`${all.spaced(left)} trials that are not surely the device\u2019s are left out where others are.`);
    if (squares.some((square) => square.foreign)) {
      words.push('Squares with a letter are not surely the device\u2019s: c cache, m mixed, d a cache behind the kernel, r remote, t memory, ? not known, v not the same in all.');
    }
    byId('grid-says').textContent = words.join(' ');
    const flat = squares.map((square) => square.mean);
    const [low, high] = [Math.min(...flat), Math.max(...flat)];
    const of = shadeOf(low, high);
    const heights = ys.map(() => xs.map(() => null));
    squares.forEach((square) => { heights[ys.indexOf(square.y)][xs.indexOf(square.x)] = of(square.mean); });
    scene = same || !squares.length ? null : {xs, ys, heights, squares, low, high};
    layers.size(...roomOf());
    projected = [];
    if (!scene) {
      layers.over.getContext('2d').clearRect(0, 0, layers.over.width, layers.over.height);
      layers.label('Surface: nothing to draw');
      Plotly.purge(byId('grid-map'));
      return;
    }
    drawMap(xs, ys, squares);
    layers.label(`Surface of ${grid.z.title} over ${grid.x.title} and ${grid.y.title}: from ${all.print(grid.z, low)} to ${all.print(grid.z, high)}.`);
    drawSurface();
  }

  const later = all.whenNear(byId('grid-drawn'), () => draw(), () => layers.reserve(...roomOf()));
  // A drag over an axis redraws this once it rests.
  all.slow.push(() => later(new Set(['brush'])));
  all.listeners.push((what) => { if (!what.has('brush')) later(what); });
  all.remembered.push({
    save: (of) => of.set('grid', [grid.x.name, grid.y.name, grid.z.name, grid.group ?? ''].join('~')),
    load: (of) => {
      const [x, y, z, only] = (of.get('grid') || '').split('~');
      if (knobs.includes(byName.get(x)) && knobs.includes(byName.get(y)) && figures.includes(byName.get(z))) {
        Object.assign(grid, {x: byName.get(x), y: byName.get(y), z: byName.get(z), group: only ? Number(only) : null});
        [pickers.x.value, pickers.y.value, pickers.z.value, groupPicker.value] = [x, y, z, only];
      }
    },
  });
})();
