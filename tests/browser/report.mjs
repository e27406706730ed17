// Opens reports in headless Chromium and checks what only a browser can tell.
//
//   node tests/browser/report.mjs [--shots DIR] REPORT.html...
//
// One line a check: `ok`, `FAIL` or `SKIP`. Exit status 1 when a check fails. Of what lies in a folder
// `kinds` the first screen, its figures and the paper are checked, and no more.
import {writeFileSync} from 'node:fs';
import {basename, dirname, join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';
import {inflateSync} from 'node:zlib';
import {begin, must} from './harness.mjs';
import {PALETTE} from './palette.mjs';

const WIDTHS = [360, 768, 1280];
/** Screens that a page is made for: a laptop's, a tablet's, a phone's. */
const SCREENS_OF = [[1400, 900], [768, 1024], [390, 844]];
/** On these the whole first chart is seen without scrolling. */
const WHOLE = ['1400x900', '390x844'];
/** So many screens a page takes as it opens. */
const SCREENS = 6;
const DEEPEST = 9000;
const LONG = Boolean(process.env.BRICKYARD_LONG);
/** So many times as slow is a machine on which links are pressed. */
const BUSY = LONG ? 12 : 6;
/** A page of more trials is printed with all of them in the long form alone: that takes half a minute. */
const PRINTED = 2000;
const harness = await begin('node tests/browser/report.mjs [--shots DIR] REPORT.html...');
const {args, browser, shots} = harness;
const check = harness.check.bind(harness);
const shot = (name) => harness.shot(name, DEEPEST);

async function open(url, width, height = 900) {
  await harness.size(width, height);
  await browser.call('Page.navigate', {url});
  await browser.until(`location.href === ${JSON.stringify(url)} && document.documentElement?.dataset.drawn`,
    'all figures drawn');
}

const DRAWN = `[...document.querySelectorAll('.plot')].map((plot) => ({
  id: plot.id, label: plot.getAttribute('aria-label'),
  svg: plot.querySelectorAll('.main-svg').length,
  traces: plot.querySelectorAll('.scatterlayer .trace, .barlayer .trace, .heatmaplayer').length,
  points: plot.querySelectorAll('.scatterlayer .point, .barlayer .point, .scatterlayer .js-line, .heatmaplayer image, .heatmaplayer path').length,
  inside: plot.querySelector('.main-svg')?.getBoundingClientRect().width <= plot.clientWidth + 1,
}))`;

async function figures() {
  // A map is drawn when somebody comes near it.
  if (await browser.evaluate('Boolean(window.brickyard?.explorer)')) {
    const deep = () => browser.evaluate('document.documentElement.scrollHeight');
    const before = await deep();
    await browser.evaluate('(window.brickyard.explorer.nearAll(), true)');
    if (await browser.evaluate("Boolean(document.getElementById('grid-drawn'))")) {
      await browser.until("document.querySelector('#grid-map .heatmaplayer image, #grid-map .heatmaplayer path')", 'the map is drawn', 180);
    }
    // The scatter matrix pushed all below it down by its height when a reader came near: who was
    // about to press Next among the timelines pressed something else. Words may take a few lines.
    const moved = await deep() - before;
    check('what is drawn late moves little', must(moved >= 0 && moved < 80, `by ${moved} px`));
  }
  const plots = await browser.evaluate(DRAWN);
  const placed = await browser.evaluate("document.querySelectorAll('[data-plot]').length");
  check('every figure is drawn', plots.flatMap((plot) => [
    ...must(plot.svg > 0 && plot.traces > 0 && plot.points > 0, `${plot.id} is empty`),
    ...must(plot.inside, `${plot.id} is wider than its place`),
  ]).concat(must(plots.length >= placed, 'a place without a plot')));
  check('every figure is a table as well, and the first chart a picture', await browser.evaluate(`(async () => {
    const {csv, tabled} = window.brickyard;
    const bad = [...document.querySelectorAll('.js-plotly-plot')].filter((plot) => {
      const lines = csv(plot).trimEnd().split('\\n');
      const points = plot.data.reduce((sum, of) => sum + (of.z ? of.z.flat().length : (of.x ?? []).length), 0);
      return lines[0] !== 'series,x,y,low,high,value' || lines.length - 1 !== points;
    }).map((plot) => plot.id + ' is no table');
    if (!document.querySelector('figure.core')) return bad;
    const bars = document.querySelectorAll('.core rect').length;
    if (tabled('core').trimEnd().split('\\n').length !== bars + 1) bad.push('the chart is no table');
    const drawn = new DOMParser().parseFromString(await window.brickyard.picture('core'), 'image/svg+xml');
    const fills = new Set([...drawn.querySelectorAll('rect')].map((bar) => bar.style.fill));
    if (drawn.querySelector('parsererror') || fills.has('') || fills.has('rgb(0, 0, 0)')) bad.push('the chart has no colours');
    return bad;
  })()`));
  // One was drawn over its caption, into the element that happened to have the same name.
  check('no two elements have the same name', await browser.evaluate(`(() => {
    const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
    return ids.filter((id, at) => ids.indexOf(id) !== at);
  })()`));
  check('every figure has a text alternative', plots.flatMap((plot) =>
    must(plot.label && plot.label.length > 20, `${plot.id} has none`)));
  // The topology is in the page itself: it must have lines, words, and a name for who cannot see it.
  const drawn = `f.querySelector('svg line, svg path, svg rect') && f.querySelector('svg text')?.textContent.trim()
    && f.querySelector('svg[role=img][aria-label], svg title')`;
  check('empty figures say why', await browser.evaluate(`[...document.querySelectorAll('figure')]
    .filter((f) => !f.querySelector('.plot, canvas') && !(${drawn}) && !f.querySelector('.missing')?.textContent.trim()).map((f) => f.id)`));
}

async function page() {
  const policy = await browser.evaluate(
    "document.querySelector('meta[http-equiv=Content-Security-Policy]')?.content ?? ''");
  check('the policy lets nothing in', must(policy.startsWith("default-src 'none'; script-src 'sha256-")
    && !policy.includes('unsafe-eval') && !/https?:/.test(policy), policy));
  // This script's own attempt is complained of, as it should be; nothing else may be.
  const before = harness.complaints.length;
  check('the policy is enforced', await browser.evaluate(`new Promise((done) => {
    const script = document.createElement('script');
    script.textContent = 'window.intruder = true';
    document.body.append(script);
    setTimeout(() => done(window.intruder ? ['a foreign script ran'] : []), 50);
  })`));
  const told = harness.complaints.splice(before);
  check('the policy tells of what it stops', must(
    told.length > 0 && told.every((text) => /Content.Security.Policy/i.test(text)), told.join(', ') || 'silence'));
  check('no cloud button', await browser.evaluate(`[...document.querySelectorAll('.modebar-btn')]
    .map((button) => (button.dataset.title ?? button.getAttribute('aria-label') ?? '') + (button.dataset.attr ?? ''))
    .filter((name) => /cloud|chart.?studio|upload|produced/i.test(name))`));
  // They were white on white in the light, and lay on the legend in the dark.
  check('the buttons of figures are seen and hide no legend', await browser.evaluate(`(() => {
    const quiet = getComputedStyle(document.querySelector('p.quiet')).color;
    const hides = (plot) => {
      const [bar, legend] = ['.modebar', '.legend'].map((name) => plot.querySelector(name)?.getBoundingClientRect());
      return bar?.width && legend?.width && bar.left < legend.right && bar.right > legend.left
        && bar.top < legend.bottom && bar.bottom > legend.top;
    };
    const unseen = (plot) => [...plot.querySelectorAll('.modebar-btn path')]
      .some((icon) => getComputedStyle(icon).fill !== quiet);
    return [...document.querySelectorAll('.plot')].filter((plot) => hides(plot) || unseen(plot)).map((plot) => plot.id);
  })()`));
  check('the buttons of figures hide no axis', await browser.evaluate(`[...document.querySelectorAll('.plot')].filter((plot) => {
    const bar = plot.querySelector('.modebar')?.getBoundingClientRect();
    return bar?.width && [...plot.querySelectorAll('.xtitle, .xtick text')].some((part) => {
      const box = part.getBoundingClientRect();
      return bar.left < box.right && bar.right > box.left && bar.top < box.bottom - 2 && bar.bottom > box.top + 2;
    });
  }).map((plot) => plot.id)`));
  check('headings go down one step at a time', await browser.evaluate(`(() => {
    const levels = [...document.querySelectorAll('h1,h2,h3,h4')].map((h) => Number(h.tagName[1]));
    return levels.filter((level, at) => at && level > levels[at - 1] + 1).map((level) => 'h' + level);
  })()`));
}

async function timelines() {
  if (!(await browser.evaluate("Boolean(document.getElementById('timeline-picker'))"))) return;
  const before = await browser.evaluate("document.getElementById('timeline-plot').dataset.trial");
  const options = await browser.evaluate("document.getElementById('timeline-picker').options.length");
  await harness.click("document.getElementById('timeline-on')");
  const after = await browser.evaluate("document.getElementById('timeline-plot').dataset.trial");
  const chosen = await browser.evaluate(`(() => {
    const picker = document.getElementById('timeline-picker');
    picker.value = String(picker.options.length - 1);
    picker.dispatchEvent(new Event('change'));
    const plot = document.getElementById('timeline-plot');
    return {trial: plot.dataset.trial, lines: plot.querySelectorAll('.scatterlayer .js-line').length,
      counted: Boolean(brickyard.data.timelines.at(-1).latency), maps: plot.querySelectorAll('.heatmaplayer image').length,
      says: document.getElementById('timeline-says').textContent, label: plot.getAttribute('aria-label')};
  })()`);
  check(`the timeline picker works (${options} trials)`, [
    ...must(options < 2 || after !== before, 'the button Next changed nothing'),
    ...must(options < 3 || chosen.trial !== after, 'choosing the last changed nothing'),
    ...must(chosen.lines > 0, 'no line'),
    ...must(chosen.says.length > 30 && chosen.label.includes(chosen.says), 'no text alternative'),
  ]);
  check('latency over time is a map where it was counted, and is told in words', [
    ...must(chosen.maps === (chosen.counted ? 1 : 0), `${chosen.maps} maps`),
    ...must(/The slowest .* took .*; (it|they) ended in /.test(chosen.says) === chosen.counted, chosen.says),
  ]);
}

async function table() {
  check('the table of trials sorts and filters', await browser.evaluate(`(() => {
    const table = document.getElementById('trials-table');
    const rows = () => [...table.tBodies[0].rows];
    if (rows().length < 2) return [];
    const bad = [];
    const column = [...table.tHead.rows[0].cells].findIndex((cell) => ['MB/s', 'B / A'].includes(cell.textContent));
    const values = () => rows().map((row) => row.cells[column].dataset.v).filter(Boolean).map(Number);
    const button = table.tHead.rows[0].cells[column].querySelector('button');
    button.click();
    if (values().some((v, at, all) => at && v < all[at - 1])) bad.push('not ascending');
    button.click();
    if (values().some((v, at, all) => at && v > all[at - 1])) bad.push('not descending');
    const input = document.getElementById('trials-filter');
    const type = (text) => { input.value = text; input.dispatchEvent(new Event('input')); };
    const shown = () => rows().filter((row) => !row.hidden).length;
    type('no such words anywhere');
    if (shown() !== 0) bad.push('the filter lets all through');
    type('');
    if (shown() !== rows().length) bad.push('the filter does not let go');
    return bad;
  })()`));
}

// What a plot draws, its legend above all, stays inside of it, and so off its caption.
const OUTSIDE = `[...document.querySelectorAll('.plot')].flatMap((plot) => {
  const place = plot.getBoundingClientRect();
  const caption = plot.closest('figure')?.querySelector('figcaption')?.getBoundingClientRect();
  return [...plot.querySelectorAll('.legend, .xtitle, .ytitle, .plotly .main-svg')].flatMap((part) => {
    const box = part.getBoundingClientRect();
    const out = box.width && (box.top < place.top - 1 || box.bottom > place.bottom + 1);
    const over = box.width && caption && box.top < caption.bottom && box.bottom > caption.top
      && box.left < caption.right && box.right > caption.left;
    return out || over ? [plot.id + ': ' + part.getAttribute('class')] : [];
  });
})`;

// Every text that can be seen: where it is and whose. What lies beyond the edge of what scrolls is not
// seen, and of what is cut there only the rest.
const TEXTS = `(() => {
  // What a closed fold holds has boxes in some browsers, and is not seen; rows are like the first ones.
  const unseen = (node) => node.nodeType === Node.ELEMENT_NODE
    && (node.matches('script, style, noscript, select, .hidden, .skip')
      || (node.parentElement.matches('details:not([open])') && node.tagName !== 'SUMMARY')
      || (node.tagName === 'TR' && node.rowIndex > 60));
  const acceptNode = (node) => (unseen(node) ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT);
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT, {acceptNode});
  const known = new Map();
  const edges = (element) => {
    if (!element || element === document.body) return [-Infinity, -Infinity, Infinity, Infinity];
    if (!known.has(element)) {
      const [left, top, right, bottom] = edges(element.parentElement);
      // An SVG within a page cuts nothing that is words here.
      const cuts = element instanceof HTMLElement && getComputedStyle(element).overflowX !== 'visible';
      const box = cuts ? element.getBoundingClientRect() : null;
      known.set(element, box ? [Math.max(left, box.left), Math.max(top, box.top), Math.min(right, box.right), Math.min(bottom, box.bottom)]
        : [left, top, right, bottom]);
    }
    return known.get(element);
  };
  const texts = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const of = node.parentElement;
    if (node.nodeType !== Node.TEXT_NODE || !node.textContent.trim()) continue;
    if (!of.checkVisibility({opacityProperty: true, visibilityProperty: true})) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    // The box of what is written aslant is larger than what is written.
    const turned = of.getScreenCTM?.();
    if (turned && Math.abs(turned.a * turned.b) > 0.01) continue;
    const edge = edges(of);
    for (const seen of range.getClientRects()) {
      const [left, top] = [Math.max(seen.left, edge[0]), Math.max(seen.top, edge[1])];
      const [right, bottom] = [Math.min(seen.right, edge[2]), Math.min(seen.bottom, edge[3])];
      if (right - left > 1 && bottom - top > 1) texts.push({
        left: left + scrollX, right: right + scrollX, top: top + scrollY, bottom: bottom + scrollY,
        says: node.textContent.trim().slice(0, 40), of,
      });
    }
  }
  return texts;
})()`;

// Texts that lie on each other: of the boxes of two, more than a hair is common. A line's box is a
// little higher than its letters.
const OVERLAPS = `(() => {
  const texts = ${TEXTS}.sort((a, b) => a.top - b.top);
  const bad = [];
  texts.forEach((one, at) => {
    for (let next = at + 1; next < texts.length && texts[next].top < one.bottom; next++) {
      const other = texts[next];
      const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
      const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
      const line = Math.min(one.bottom - one.top, other.bottom - other.top);
      if (wide > 2 && high > 0.35 * line) bad.push(one.says + ' on ' + other.says);
    }
  });
  return bad;
})()`;

// What the first screen promises: verdict, figures and the first chart are seen without scrolling.
const FIRST = `(() => {
  const bottom = (selector) => {
    const place = document.querySelector(selector);
    return place ? place.getBoundingClientRect().bottom + scrollY : 0;
  };
  const chart = document.querySelector('.core svg');
  const bad = [];
  if (!document.querySelector('.answer')) return bad;
  for (const part of ['.answer .trust', 'table.summary']) {
    if (bottom(part) > innerHeight) bad.push(part + ' ends at ' + Math.round(bottom(part)));
  }
  const box = chart?.getBoundingClientRect();
  const whole = ${JSON.stringify(WHOLE)}.includes(innerWidth + 'x' + innerHeight);
  if (box && whole && box.bottom + scrollY > innerHeight) bad.push('the chart ends at ' + Math.round(box.bottom + scrollY));
  if (box && box.top + scrollY + box.height / 2 > innerHeight) bad.push('the chart is too low: ' + Math.round(box.top + scrollY));
  const screens = document.documentElement.scrollHeight / innerHeight;
  if (screens > ${SCREENS}) bad.push(screens.toFixed(1) + ' screens');
  const outside = ${TEXTS}.filter((text) => text.left < -1 || text.right > innerWidth + 1);
  return bad.concat(outside.map((text) => text.says + ' is outside'));
})()`;

/**
 * Each link at the head of the page, as somebody would press it on a page that was just opened; of the
 * page with most figures on a machine a sixth as fast, in the long form a twelfth. There the browser had gone to where the place
 * was before the figures above it were drawn: one landed 99 px off on a busy machine, here they were
 * 2362 px off.
 */
async function links(where) {
  const slow = (rate) => browser.call('Emulation.setCPUThrottlingRate', {rate});
  const names = await browser.evaluate(`[...document.querySelectorAll('nav a')].map((link) => link.hash)`);
  const bad = [];
  for (const name of names) {
    await slow(harness.subject === 'crossed' ? BUSY : 1);
    await browser.evaluate(`(async () => {
      scrollTo({top: 0, behavior: 'instant'});
      document.querySelector('nav a[href=${JSON.stringify(name)}]').click();
      for (let frames = 0; frames < 3; frames++) {
        await new Promise((done) => requestAnimationFrame(done));
        await window.brickyard.settled();
      }
    })()`);
    // Where it is then shows that it stays: that takes many frames, and no slow ones.
    await slow(1);
    const top = await browser.evaluate(`(async () => {
      const place = document.querySelector(${JSON.stringify(name)});
      let [before, still] = [NaN, 0];
      for (let frames = 0; still < 20 && frames < 400; frames++) {
        await new Promise((done) => requestAnimationFrame(done));
        await window.brickyard.settled();
        const now = place.getBoundingClientRect().top;
        still = now === before ? still + 1 : 0;
        before = now;
      }
      const end = scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
      return end && before >= 0 && before < innerHeight ? 0 : before;
    })()`);
    bad.push(...must(top > -2 && top < 150, `${name} lands at ${Math.round(top)} px`));
  }
  check(`links land where they say${where ? ` on a ${where}` : ''}`, bad);
}

async function first(where) {
  check(`the first screen holds the answer at ${where}`, await browser.evaluate(FIRST));
  check(`no text lies on another at ${where}`, await browser.evaluate(OVERLAPS));
}

async function widths(url, name) {
  const bad = [];
  const outside = [];
  for (const [width, height] of SCREENS_OF) {
    await open(url, width, height);
    await first(`${width}x${height}`);
    await shot(`${name}-first-${width}x${height}`);
    // The page with most figures is pressed on a slow machine, below, which takes long enough.
    if (width === 390 && name !== 'crossed') await links('phone');
  }
  for (const width of WIDTHS) {
    await open(url, width);
    await first(`${width} px`);
    await shot(`${name}-first-${width}`);
    if (width === WIDTHS.at(-1)) await links();
    await browser.evaluate('window.brickyard.unfold().then(() => true)');
    // From its head: the bar of the explorer stays in view above what is scrolled under it.
    await browser.evaluate("scrollTo({top: 0, behavior: 'instant'})");
    if (width === WIDTHS.at(-1)) check('no text lies on another where all is unfolded', await browser.evaluate(OVERLAPS));
    const parts = await browser.evaluate(OUTSIDE);
    outside.push(...parts.map((part) => `${part} at ${width}`));
    const over = await browser.evaluate(`document.documentElement.scrollWidth - innerWidth`);
    bad.push(...must(over <= 0, `${over} px too wide at ${width}`));
    await shot(`${name}-${width}`);
  }
  check('nothing that is drawn lies over a caption', outside);
  check(`no sideways scrolling at ${WIDTHS.join(', ')} px`, bad);
}

async function dark(url, name) {
  const features = [{name: 'prefers-color-scheme', value: 'dark'}];
  await browser.call('Emulation.setEmulatedMedia', {features});
  await open(url, 1280);
  await shot(`${name}-first-dark`);
  const colours = await browser.evaluate(`(() => {
    const light = (colour) => colour.match(/[0-9.]+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 3;
    const text = document.querySelector('.plot text');
    return {page: light(getComputedStyle(document.body).backgroundColor),
      ink: light(getComputedStyle(document.body).color),
      figure: text ? light(getComputedStyle(text).fill) : 255};
  })()`);
  check('dark when the reader wants it dark', must(
    colours.page < 60 && colours.ink > 180 && colours.figure > 180, JSON.stringify(colours)));
  await shot(`${name}-dark`);
  await browser.call('Emulation.setEmulatedMedia', {features: []});
}

// What is shared: a block of text, and a picture drawn of it.
async function share(name) {
  // A comparison has no first screen.
  if (!(await browser.evaluate("Boolean(document.getElementById('share-block'))"))) return;
  const told = await browser.evaluate(`(() => {
    const card = brickyard.card();
    const pixels = card.getContext('2d').getImageData(0, 0, card.width, card.height).data;
    const dark = (x, y) => pixels[4 * (y * card.width + x)] < 160;
    const rows = [...Array(card.height).keys()].filter((y) =>
      [...Array(card.width).keys()].some((x) => dark(x, y)));
    const margins = [...Array(card.height).keys()].filter((y) => dark(card.width - 20, y) || dark(20, y));
    return {size: [card.width, card.height], png: card.toDataURL('image/png'), first: rows[0],
      last: rows.at(-1), rows: rows.length, margins: margins.length,
      lines: document.getElementById('share-block').textContent.trimEnd().split('\\n').length};
  })()`);
  const drawn = told.first > 40 && told.last < 1240 && told.rows > 80 && told.margins === 0;
  check('what is shared is a block of few lines and a picture', [
    ...must(told.lines >= 2 && told.lines <= 12, `${told.lines} lines`),
    ...must(drawn && told.size.join() === '2400,1260', JSON.stringify({...told, png: ''})),
    ...must(told.png.startsWith('data:image/png;base64,iVBOR'), told.png.slice(0, 40)),
  ]);
  if (shots) writeFileSync(join(shots, `${name}-card.png`), Buffer.from(told.png.slice(22), 'base64'));
}

/** How many pages a PDF has that Chromium made: their dictionaries are not packed. */
const counted = (pdf) => pdf.toString('latin1').match(/\/Type\s*\/Page\b/g)?.length ?? 0;

// What comes before the appendix, printed without it; the appendix begins on a page of its own.
async function pages(paper = {Letter: [8.5, 11], A4: [8.27, 11.69]}) {
  const bad = [];
  const breaks = await browser.evaluate(`(() => {
    const appendix = document.querySelector('.appendix');
    appendix?.setAttribute('style', 'height: 0; overflow: hidden; break-before: avoid');
    // Ten thousand rows took 25 s to be laid out on paper, though none of them was printed.
    appendix?.querySelectorAll('table').forEach((table) => { table.style.display = 'none'; });
    document.querySelector('footer')?.setAttribute('style', 'display: none');
    return appendix ? 1 : 0;
  })()`);
  for (const [name, [paperWidth, paperHeight]] of Object.entries(paper)) {
    const {data} = await browser.call('Page.printToPDF', {paperWidth, paperHeight});
    const count = counted(Buffer.from(data, 'base64'));
    bad.push(...must(count >= 1 && count <= 2, `${count} of ${name}`));
  }
  await browser.evaluate(`document.querySelectorAll('.appendix, .appendix table, footer')
    .forEach((part) => part.removeAttribute('style'))`);
  if (breaks) check('two pages come before the appendix on paper', bad);
}

/** The bytes of a picture before they are packed; those of a blank one are alike. */
function inked(png) {
  const parts = [];
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + length));
    at += length + 12;
  }
  return inflateSync(Buffer.concat(parts)).reduce((sum, byte) => sum + (byte ? 1 : 0), 0);
}

// Tables were blank until somebody had scrolled to them: on paper and in pictures of the whole page they
// were missing. They are there in a picture that is made without scrolling.
async function tables() {
  const told = await browser.evaluate(`(async () => {
    await window.brickyard.unfold();
    document.querySelectorAll('details').forEach((fold) => { fold.open = true; });
    scrollTo({top: 0, behavior: 'instant'});
    const rows = [...document.querySelectorAll('table')].map((table) => [...table.rows].at(-1)).filter(Boolean);
    const missing = rows.filter((row) => !row.checkVisibility({contentVisibilityAuto: true, opacityProperty: true, visibilityProperty: true})
      || row.getBoundingClientRect().height < 5);
    const box = rows.at(-1)?.closest('table').getBoundingClientRect();
    return {missing: missing.map((row) => row.textContent.slice(0, 40)), rows: rows.length,
      box: box && {x: Math.max(box.x, 0), y: box.y + scrollY, width: Math.min(box.width, 600), height: Math.min(box.height, 400), scale: 1}};
  })()`);
  const bad = told.missing.map((row) => `${row} is not there`);
  if (told.box) {
    const {data} = await browser.call('Page.captureScreenshot', {clip: told.box, captureBeyondViewport: true});
    const ink = inked(Buffer.from(data, 'base64'));
    bad.push(...must(ink > 1000, `a picture of the last table has ${ink} bytes that differ`));
  }
  check(`tables are there before anybody scrolls to them (${told.rows})`, bad);
}

// With a finger there is no toolbar: links save each drawing as SVG and as CSV.
async function saves() {
  check('every drawing can be saved without its toolbar', await browser.evaluate(`(async () => {
    await window.brickyard.unfold();
    const {picture, tabled} = window.brickyard;
    const bad = [];
    const drawn = [...document.querySelectorAll('.plot, .canvas, .core, #topology-drawn')];
    const linked = new Set([...document.querySelectorAll('[data-save]')].map((link) => link.dataset.save + ' ' + link.dataset.of));
    for (const place of drawn) {
      for (const kind of ['svg', 'csv']) if (!linked.has(kind + ' ' + place.id)) bad.push(place.id + ' has no link for ' + kind);
    }
    const links = [...document.querySelectorAll('[data-save=svg]')].filter((link) => link.checkVisibility());
    for (const link of links) {
      const name = link.dataset.of;
      const place = document.getElementById(name);
      if (!place) { bad.push(name + ' is nowhere'); continue; }
      // A surface of nothing is not drawn.
      if (place.matches('.plot') && !place.data) continue;
      const svg = new DOMParser().parseFromString(await picture(name), 'image/svg+xml');
      const shapes = svg.querySelectorAll('path, rect, line, image, circle').length;
      if (svg.querySelector('parsererror') || shapes < 2) bad.push(name + ' is no picture: ' + shapes);
      const lines = tabled(name).trimEnd().split('\\n');
      if (lines.length < 2 || !lines[0].includes(',')) bad.push(name + ' is no table: ' + lines[0]);
    }
    // Pressed, it gives a file of that kind.
    const link = links.at(0);
    if (!link) return bad;
    const click = HTMLAnchorElement.prototype.click;
    const saved = await new Promise((done) => {
      HTMLAnchorElement.prototype.click = function () { done(this.download); };
      link.click();
      setTimeout(() => done('nothing'), 5000);
    });
    HTMLAnchorElement.prototype.click = click;
    if (!/^brickyard-.*\\.svg$/.test(saved)) bad.push('pressing it gave ' + saved);
    return bad;
  })()`));
}

// Lines of one panel that have the same dash and the same symbol are told apart by colour alone.
const ALONE = `[...document.querySelectorAll('.js-plotly-plot')].flatMap((plot) => {
  const seen = new Map();
  return plot.data.filter((of) => of.showlegend !== false && ['scatter', 'bar'].includes(of.type)).flatMap((of) => {
    const one = (some) => (Array.isArray(some) ? some[0] : some) ?? '';
    const key = [of.yaxis, of.stackgroup, of.type, of.mode, one(of.line?.dash), one(of.marker?.symbol),
      one(of.fillpattern?.shape), one(of.marker?.pattern?.shape)].join();
    const bad = seen.has(key) && of.line?.dash !== 'dot' ? [plot.id + ': ' + seen.get(key) + ' and ' + of.name] : [];
    seen.set(key, of.name);
    return bad;
  });
})`;

async function colours() {
  const told = await browser.evaluate('({hues: brickyard.HUES, lit: brickyard.LIT})');
  const dark = told.hues.map((hue) => told.lit[hue] ?? hue);
  check('colours are told apart by who has no red or no green cones', [...PALETTE.alike(told.hues), ...PALETTE.alike(dark)]);
  check('no two lines or bars of a figure differ by colour alone', await browser.evaluate(ALONE));
}

async function print(url, name) {
  await open(url, 1280);
  await browser.call('Emulation.setEmulatedMedia', {media: 'print'});
  await browser.evaluate("window.dispatchEvent(new Event('beforeprint'))");
  const wide = await browser.evaluate(`[...document.querySelectorAll('.plot .main-svg')]
    .map((svg) => svg.getBoundingClientRect().width).filter((width) => width > 700).map(String)`);
  check('every fold is open on paper', await browser.evaluate(
    "[...document.querySelectorAll('details.fold:not([open])')].map((fold) => fold.textContent.slice(0, 20))"));
  const background = await browser.evaluate('getComputedStyle(document.body).backgroundColor');
  check('prints light, and figures fit the paper',
    wide.concat(must(background === 'rgb(255, 255, 255)', background)));
  await harness.size(720, 1000);
  check('no text lies on another in print', await browser.evaluate(OVERLAPS));
  await shot(`${name}-print`);
  await browser.call('Emulation.setEmulatedMedia', {media: ''});
  await pages();
  const trials = await browser.evaluate("document.querySelectorAll('#trials-table tbody tr').length");
  if (trials > PRINTED && !LONG) return;
  // Its beginning alone: all of 80 MB takes a minute to be made.
  const {stream} = await browser.call('Page.printToPDF', {transferMode: 'ReturnAsStream', pageRanges: '1-4'});
  const {data} = await browser.call('IO.read', {handle: stream, size: 20000});
  await browser.call('IO.close', {handle: stream});
  const pdf = Buffer.from(data, 'base64');
  check('prints to PDF', must(pdf.subarray(0, 5).toString() === '%PDF-' && pdf.length > 10000, `${pdf.length} bytes`));
  if (shots) writeFileSync(join(shots, `${name}.pdf`), pdf);
}

// The first screen of one more kind of campaign, what it draws, and the paper.
async function brief(url, name) {
  for (const [width, height] of SCREENS_OF) {
    // A tablet is turned into one: to open the page once more takes as long as all else.
    if (width === 768) {
      await harness.size(width, height);
      await browser.evaluate('new Promise((done) => setTimeout(() => done(true), 300))');
    } else await open(url, width, height);
    await first(`${width}x${height}`);
    await shot(`${name}-first-${width}x${height}`);
  }
  const over = await browser.evaluate('document.documentElement.scrollWidth - innerWidth');
  check('no sideways scrolling on a phone', must(over <= 0, `${over} px too wide`));
  const plots = await browser.evaluate(DRAWN);
  check('every figure is drawn', plots.filter((plot) => plot.svg).flatMap((plot) =>
    must(plot.traces > 0 && plot.points > 0, `${plot.id} is empty`)));
  check('no two lines or bars of a figure differ by colour alone', await browser.evaluate(ALONE));
  const lines = await browser.evaluate("document.getElementById('share-block').textContent.trimEnd().split('\\n').length");
  check('what is shared has at most twelve lines', must(lines <= 12, `${lines} lines`));
  await browser.call('Emulation.setEmulatedMedia', {media: 'print'});
  await browser.evaluate("window.dispatchEvent(new Event('beforeprint'))");
  await browser.call('Emulation.setEmulatedMedia', {media: ''});
  await pages({A4: [8.27, 11.69]});
}

await harness.run(async () => {
  for (const file of args) {
    const url = pathToFileURL(resolve(file)).href;
    harness.subject = basename(file, '.html');
    [harness.requests, harness.complaints] = [[], []];
    if (basename(dirname(resolve(file))) === 'kinds') {
      await brief(url, harness.subject);
    } else {
      // It leaves the page as it opens at the last of them.
      await widths(url, harness.subject);
      await figures();
      await page();
      await timelines();
      await table();
      await saves();
      await colours();
      await share(harness.subject);
      await tables();
      await dark(url, harness.subject);
      await print(url, harness.subject);
    }
    check('no request but for the page itself', harness.requests.filter((asked) => asked !== url));
    check('no complaint on the console', harness.complaints);
  }
});
