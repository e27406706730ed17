// Brushes the explorer of a report with a real mouse and real keys, and checks that all follows.
//
//   node tests/browser/explorer.mjs [--shots DIR] REPORT.html...
//
// One line a check: `ok`, `FAIL` or `SKIP`; times are printed, none is asserted.
import {basename, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';
import {begin, middle, must} from './harness.mjs';

const harness = await begin('node tests/browser/explorer.mjs [--shots DIR] REPORT.html...');
const {args, browser} = harness;
const check = harness.check.bind(harness);
const drag = harness.drag.bind(harness);
const selected = (selector) => `document.querySelector(${JSON.stringify(selector)})`;
const box = (selector) => harness.box(selected(selector));
const click = (selector) => harness.click(selected(selector));
const key = async (name, modifiers = 0) => {
  for (const type of ['keyDown', 'keyUp']) {
    await browser.call('Input.dispatchKeyEvent', {type, key: name, code: name, modifiers});
  }
};
const axis = (name) => `[data-axis="${name}"]`;
const EXPLORER = 'window.brickyard.explorer';
const chosen = () => browser.evaluate(`${EXPLORER}.chosen()`);
// A brush has reached the table and the figures.
async function settled() {
  await browser.evaluate('delete document.documentElement.dataset.settled');
  await browser.evaluate(`${EXPLORER}.changed('brush')`);
  await browser.until('document.documentElement.dataset.settled !== undefined', 'brushing settles', 180);
}
const followed = () => browser.evaluate(`(() => {
  const e = ${EXPLORER};
  const rows = [...document.querySelectorAll('#trials-table tbody tr')];
  const shown = rows.filter((row) => !row.hidden).map((row) => Number(row.id.slice(1)));
  const drawn = new Set(e.table.trials.filter((trial, row) => e.selected[row]));
  const inTable = new Set(rows.map((row) => Number(row.id.slice(1))));
  return {
    chosen: e.chosen(), shown: shown.length, stray: shown.filter((trial) => !drawn.has(trial)).length,
    expected: [...drawn].filter((trial) => inTable.has(trial)).length,
    count: document.getElementById('explore-count').textContent,
    label: document.querySelector('#scatter-place canvas[role=img]').getAttribute('aria-label'),
    faded: [...document.querySelectorAll('#scaling .plot')].map((plot) => plot.dataset.faded ?? ''),
  };
})()`);
// How much of a canvas is drawn on.
const inked = (selector) => browser.evaluate(`(() => {
  const canvas = document.querySelector(${JSON.stringify(selector)});
  const copy = Object.assign(document.createElement('canvas'), {width: canvas.width, height: canvas.height});
  const context = copy.getContext('2d', {willReadFrequently: true});
  context.drawImage(canvas, 0, 0);
  const pixels = context.getImageData(0, 0, canvas.width, canvas.height).data;
  let drawn = 0;
  for (let at = 3; at < pixels.length; at += 4) drawn += pixels[at] > 20 ? 1 : 0;
  return drawn;
})()`);
const OVER = ' canvas[role=img]';

async function open(url, width = 1280) {
  await harness.size(width);
  await browser.call('Page.navigate', {url: 'about:blank'});
  const start = Date.now();
  await browser.call('Page.navigate', {url});
  await browser.until('document.documentElement?.dataset.drawn', 'the page is open', 180);
  await browser.evaluate('window.brickyard.unfold().then(() => true)');
  await browser.until("document.documentElement?.dataset.painted", 'the explorer is drawn', 180);
  const painted = Date.now() - start;
  await browser.until('document.documentElement.dataset.drawn', 'all figures are drawn', 180);
  console.log(`# ${harness.subject}: explorer drawn ${painted} ms after opening, all figures ${Date.now() - start} ms`);
}

async function shot(name, width) {
  if (!harness.shots) return;
  await browser.evaluate(`${EXPLORER}.nearAll(); ${EXPLORER}.layers.forEach((layers) => layers.finish())`);
  const clip = await browser.evaluate(`(() => {
    const box = document.getElementById('explorer').parentElement.getBoundingClientRect();
    return {x: 0, y: box.y + scrollY, width: innerWidth, height: box.height, scale: 1};
  })()`);
  await harness.shot(`${name}-${width}`, clip.height, clip);
}

async function brushing() {
  const all = await chosen();
  const name = await browser.evaluate(`document.querySelector('[data-axis]').dataset.axis`);
  const before = await inked(`#parallel-place${OVER}`);
  const hit = await box(`${axis(name)} .hit`);
  const from = [hit.x + hit.width / 2, hit.y + hit.height * 0.02];
  await drag(from, [from[0], hit.y + hit.height * 0.4]);
  await settled();
  const state = await followed();
  check('a brush with the mouse leaves some of the trials', must(state.chosen > 0 && state.chosen < all, `${state.chosen} of ${all}`));
  check('the count says how many', must(state.count.replace(/\s/g, '').startsWith(`${state.chosen}of${all}trials`), state.count));
  check('the table shows those and no other', must(
    state.stray === 0 && state.shown === state.expected, `${state.shown} shown, ${state.expected} brushed, ${state.stray} strays`));
  check('the scatter plot says so too', must(state.label.replace(/\s/g, '').includes(`${state.chosen}of${all}trials`), state.label));
  await browser.until(`document.documentElement.dataset.painted === '${state.chosen}'`, 'brushed lines are drawn', 180);
  check('fewer lines are drawn on top', must(await inked(`#parallel-place${OVER}`) < before, 'as many'));
  check('figures above step back', must(!state.faded.length || state.faded.some((of) => of.includes('0.15')) || harness.subject !== 'evaluated', 'none did'));

  const link = await browser.evaluate('location.hash');
  check('the address holds the brush', must(link.startsWith('#explore?') && link.includes(`brush=${encodeURIComponent(name).replace(/%20/g, '+')}`), link));
  return {all, name, link, left: state.chosen};
}

async function more({all, name, link, left}, url) {
  await click('#explore-clear');
  await settled();
  const cleared = await followed();
  check('Clear lets all go', must(cleared.chosen === all && !cleared.faded.some((of) => of.includes('0.15')), JSON.stringify(cleared)));
  check('the table is whole again', must(cleared.shown === cleared.expected, `${cleared.shown} of ${cleared.expected}`));

  await browser.evaluate(`document.querySelector(${JSON.stringify(axis(name))}).focus()`);
  await key('ArrowDown');
  await settled();
  const stepped = await chosen();
  check('the keyboard brushes', must(stepped > 0 && stepped < all, `${stepped} of ${all}`));
  const value = await browser.evaluate(`document.querySelector(${JSON.stringify(axis(name))}).getAttribute('aria-valuetext')`);
  check('and what it brushed is said', must(/ to |^[^n]/.test(value) && value !== 'not brushed', value));
  await key('Escape');
  check('Escape lets go', must(await chosen() === all, 'it did not'));

  const order = () => browser.evaluate("[...document.querySelectorAll('[data-axis]')].map((axis) => axis.dataset.axis)");
  const was = await order();
  const head = await box(`${axis(was[0])} .grip`);
  const to = await box(`${axis(was[2])} .grip`);
  const here = await box(`${axis(was[0])} .grip`);
  await drag(middle(here), [middle(here)[0] + (to.x - head.x) + 12, middle(here)[1]]);
  await settled();
  const now = await order();
  check('an axis moves by its name', must(now[2] === was[0] && now[0] === was[1], now.join()));
  await browser.evaluate(`document.querySelector(${JSON.stringify(axis(was[0]))}).focus()`);
  await key('ArrowLeft');
  await settled();
  check('and by the keyboard', must((await order())[1] === was[0], (await order()).join()));
  const free = await browser.evaluate(`(() => {
    const picker = document.getElementById('explore-add');
    picker.value = picker.options[1].value;
    picker.dispatchEvent(new Event('change'));
    return picker.value;
  })()`);
  await settled();
  check('an axis is added from the list', must((await order()).includes(free), free));
  const last = await browser.evaluate(`document.activeElement?.dataset?.axis ?? ''`);
  check('the focus stays where it was', must(last === was[0], last));

  const dark = await inked(`#scatter-place${OVER}`).catch(() => 0);
  const plot = await box('#scatter-place .frame');
  await browser.until(`(${EXPLORER}.nearAll(), true)`, 'near');
  await drag([plot.x + plot.width * 0.02, plot.y + plot.height * 0.02], [plot.x + plot.width * 0.6, plot.y + plot.height * 0.95]);
  await settled();
  const pair = await followed();
  check('dragging over the scatter plot brushes both axes', must(dark > 0 && pair.chosen < all
    && await browser.evaluate(`${EXPLORER}.state.brushes.size`) === 2, `${pair.chosen} of ${all}`));
  check('the table follows that too', must(pair.stray === 0 && pair.shown === pair.expected, `${pair.shown} of ${pair.expected}`));

  await browser.evaluate(`(() => {
    const picker = document.getElementById('explore-colour');
    picker.value = 'throughput_bytes_per_s';
    picker.dispatchEvent(new Event('change'));
  })()`);
  await settled();
  const ramp = await browser.evaluate("document.getElementById('explore-legend').textContent");
  check('any column colours', must(ramp.includes('throughput') && ramp.includes(' to '), ramp));
  const foreign = await browser.evaluate(`${EXPLORER}.foreign.some(Boolean)`);
  check('the legend says what is not the device\'s', must(!foreign || ramp.includes('not surely from the device'), ramp));

  const finding = await browser.evaluate("document.querySelector('button.select')?.dataset.trials ?? ''");
  if (finding) {
    await click('button.select');
    await settled();
    const cited = await followed();
    const wanted = finding.split(' ').reduce((sum, span) => {
      const [one, other] = span.split('-').map(Number);
      return sum + (other ?? one) - one + 1;
    }, 0);
    check('a finding shows what it rests on', must(cited.chosen === wanted && cited.shown === cited.expected && cited.stray === 0,
      `${cited.chosen} of ${wanted}, ${cited.shown} rows`));
  }

  await open(url + link);
  check('the address restores the brush', must(await chosen() === left, `${await chosen()}, not ${left}`));
  const target = await browser.evaluate("document.querySelector('#trials-table tbody tr[hidden]')?.id ?? ''");
  if (target) {
    await browser.evaluate(`location.hash = '${target}'`);
    await browser.until(`!document.getElementById('${target}').hidden`, 'a link to a trial that is brushed away finds it');
  }
}

// The map and the surface.
async function grid() {
  if (!(await browser.evaluate("Boolean(document.getElementById('grid-drawn'))"))) {
    check('without a grid it says so', must(await browser.evaluate("!document.getElementById('grid-missing').hidden"), 'nothing is said'));
    return;
  }
  await box('#surface-place');
  await browser.until("document.querySelector('#grid-map .heatmaplayer image, #grid-map .heatmaplayer path')", 'the map is drawn', 180);
  const edges = await browser.evaluate(`[...document.querySelectorAll('#grid-map .shape-label text, #grid-map .shape-label, #grid-map .annotation-text')]
    .map((label) => label.textContent).filter((label, at, all) => label && all.indexOf(label) === at)`);
  if (harness.subject === 'cached') {
    check('the edges of caches are drawn and named', must(edges.length === 2 && edges.every((name) => /cache/.test(name)), edges.join() || 'none'));
  }
  const at = middle(await box('#surface-place .stage'));
  const seen = await inked(`#surface-place${OVER}`);
  const picture = () => browser.evaluate(`document.querySelector('#surface-place${OVER}').toDataURL().length
    + document.querySelector('#surface-place${OVER}').toDataURL().slice(-4000)`);
  const before = await picture();
  await drag(at, [at[0] + 90, at[1] + 20]);
  await new Promise((done) => setTimeout(done, 200));
  const turned = await picture();
  check('the surface is drawn and turns with the mouse', must(seen > 2000 && turned !== before, `${seen} pixels`));
  await key('ArrowRight');
  await new Promise((done) => setTimeout(done, 200));
  const keyed = await picture();
  await key('+');
  await new Promise((done) => setTimeout(done, 200));
  check('and with the keyboard', must(keyed !== turned && keyed !== await picture(), 'it did not'));
  const marks = await browser.evaluate("document.getElementById('grid-says').textContent");
  check('what is mixed within squares is said', must(/squares/.test(marks), marks));
  const labels = await browser.evaluate(`[...document.querySelectorAll('canvas[role=img]')].map((canvas) => canvas.getAttribute('aria-label') ?? '')
    .filter((label) => label.length < 20)`);
  check('every canvas has a text alternative', labels.map((label) => `"${label}"`));
}

// A column by ratios and back, by the keyboard and by the box beside its list.
async function scales(url) {
  const name = await browser.evaluate(`${EXPLORER}.state.axes.find((column) => column.kind === 'figure' && column.ratios).name`);
  const column = `${EXPLORER}.byName.get(${JSON.stringify(name)})`;
  const usual = await browser.evaluate(`${column}.log`);
  const [low, high] = await browser.evaluate(`(() => {
    const of = Float64Array.from(${column}.values.filter((value) => !Number.isNaN(value))).sort();
    return [of[Math.floor(of.length * 0.2)], of[Math.floor(of.length * 0.8)]];
  })()`);
  await browser.evaluate(`${EXPLORER}.brush(${column}, {low: ${low}, high: ${high}})`);
  await settled();
  const before = await chosen();
  const ticks = () => browser.evaluate(`[...document.querySelectorAll('${axis(name)} .tick')].map((tick) =>
    tick.textContent + ' at ' + Math.round(tick.getAttribute('y'))).join()`);
  const places = await ticks();
  await browser.evaluate(`document.querySelector(${JSON.stringify(axis(name))}).focus()`);
  await key('l');
  await settled();
  const turned = await ticks();
  const heights = await browser.evaluate(`(() => {
    const c = ${column};
    const middle = c.log ? Math.sqrt(c.low * c.high) : (c.low + c.high) / 2;
    return [c.log, c.to(c.low), c.to(middle), c.to(c.high), c.from(0.5) / middle];
  })()`);
  check('l makes an axis logarithmic or even', must(heights[0] !== usual && turned !== places
    && [0, 0.5, 1, 1].every((at, of) => Math.abs(heights[of + 1] - at) < 1e-9), `${heights} ${places} ${turned}`));
  check('what was brushed stays brushed', must(await chosen() === before, `${await chosen()}, not ${before}`));
  const link = await browser.evaluate('location.hash');
  await open(url + link);
  const again = [await browser.evaluate(`${column}.log`), await chosen()];
  check('the address holds the scale', must(again[0] === !usual && again[1] === before, `${again} ${link}`));
  await browser.evaluate(`(() => {
    const picker = document.getElementById('scatter-y');
    picker.value = ${JSON.stringify(name)};
    picker.dispatchEvent(new Event('change'));
  })()`);
  const ticked = () => browser.evaluate("document.getElementById('scatter-y-log').checked");
  const was = await ticked();
  await click('#scatter-y-log');
  await settled();
  check('a box turns it everywhere', must(was === !usual && await ticked() === usual
    && await browser.evaluate(`${column}.log`) === usual && await ticks() === places, `${was} ${await ticks()}`));
  const word = await browser.evaluate(`(() => {
    const picker = document.getElementById('scatter-x');
    picker.value = ${EXPLORER}.columns.find((column) => column.levels).name;
    picker.dispatchEvent(new Event('change'));
    return document.getElementById('scatter-x-log').disabled;
  })()`);
  check('words have no logarithm', must(word, 'the box can be pressed'));
  await click('#explore-clear');
  await settled();
}

// With a finger, on a telephone.
async function touching(url) {
  await browser.call('Emulation.setTouchEmulationEnabled', {enabled: true, maxTouchPoints: 1});
  await open(url, 390);
  const all = await chosen();
  const name = await browser.evaluate(`document.querySelector('[data-axis]').dataset.axis`);
  const hit = await box(`${axis(name)} .hit`);
  const from = [hit.x + hit.width / 2, hit.y + hit.height * 0.02];
  // Where it is seen: what stands above may grow meanwhile.
  const seen = () => browser.evaluate(`Math.round(document.querySelector(${JSON.stringify(axis(name))}).getBoundingClientRect().y)`);
  const here = await seen();
  await harness.swipe(from, [from[0], hit.y + hit.height * 0.4]);
  await settled();
  const state = await followed();
  check('a finger brushes an axis and moves no page', must(state.chosen > 0 && state.chosen < all && state.stray === 0
    && Math.abs(await seen() - here) < 3, `${state.chosen} of ${all}, ${here}, ${await seen()}`));
  const beside = [hit.x + hit.width / 2 + 46, hit.y + hit.height * 0.8];
  await harness.swipe(beside, [beside[0], beside[1] - 200]);
  await new Promise((done) => setTimeout(done, 300));
  check('between axes it moves the page and brushes nothing', must(await seen() < here - 50
    && await chosen() === state.chosen, `${here}, ${await seen()}, ${await chosen()}`));
  await click('#explore-clear');
  const plot = await box('#scatter-place .frame');
  await harness.swipe([plot.x + plot.width * 0.02, plot.y + plot.height * 0.02], [plot.x + plot.width * 0.7, plot.y + plot.height * 0.95]);
  await settled();
  check('a finger brushes the scatter plot', must(await browser.evaluate(`${EXPLORER}.state.brushes.size`) === 2,
    await browser.evaluate(`[...${EXPLORER}.state.brushes.keys()].join() + ' are brushed, page at ' + scrollY`)));
  await browser.call('Emulation.setTouchEmulationEnabled', {enabled: false});
}

// How long one step of a brush takes until all lines that it leaves are drawn.
async function speed() {
  const times = await browser.evaluate(`(async () => {
    const e = ${EXPLORER};
    const column = e.state.axes.find((column) => column.kind === 'figure');
    const root = document.documentElement.dataset;
    const steps = [];
    for (const share of [0.9, 0.7, 0.5, 0.3]) {
      root.painted = '';
      const start = performance.now();
      e.brush(column, {low: column.low, high: column.from(share)});
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      const first = performance.now() - start;
      while (root.painted === '') await new Promise((done) => setTimeout(done, 4));
      steps.push([Math.round(first), Math.round(performance.now() - start), e.chosen()]);
    }
    return steps;
  })()`);
  times.forEach(([first, whole, rows]) => console.log(
    `# ${harness.subject}: one step of a brush: first lines after ${first} ms, all ${rows} after ${whole} ms`));
}

await harness.run(async () => {
  for (const file of args) {
    const url = pathToFileURL(resolve(file)).href;
    const report = basename(file, '.html');
    harness.subject = report;
    harness.complaints.length = 0;
    await open(url);
    await shot(`${report}-explorer`, 1280);
    const state = await brushing();
    await shot(`${report}-brushed`, 1280);
    await more(state, url);
    await scales(url);
    await grid();
    await speed();
    for (const width of [360, 768]) {
      await open(url, width);
      await shot(`${report}-explorer`, width);
      const over = await browser.evaluate('document.documentElement.scrollWidth - innerWidth');
      check(`no sideways scrolling at ${width} px`, must(over <= 0, `${over} px too wide`));
    }
    await touching(url);
    check('no complaint on the console', harness.complaints);
  }
});
