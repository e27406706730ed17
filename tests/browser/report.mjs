// Opens reports in headless Chromium and checks what only a browser can tell.
//
//   node tests/browser/report.mjs [--shots DIR] REPORT.html...
//
// One line a check: `ok`, `FAIL` or `SKIP`. Exit status 1 when a check fails.
import {writeFileSync} from 'node:fs';
import {basename, join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';
import {begin, must} from './harness.mjs';

const WIDTHS = [360, 768, 1280];
const DEEPEST = 9000;
const harness = await begin('node tests/browser/report.mjs [--shots DIR] REPORT.html...');
const {args, browser, shots} = harness;
const check = harness.check.bind(harness);
const shot = (name) => harness.shot(name, DEEPEST);

async function open(url, width) {
  await harness.size(width);
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

async function widths(url, name) {
  const bad = [];
  const outside = [];
  for (const width of WIDTHS) {
    await open(url, width);
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

async function print(url, name) {
  await open(url, 1280);
  await browser.call('Emulation.setEmulatedMedia', {media: 'print'});
  await browser.evaluate("window.dispatchEvent(new Event('beforeprint'))");
  const wide = await browser.evaluate(`[...document.querySelectorAll('.plot .main-svg')]
    .map((svg) => svg.getBoundingClientRect().width).filter((width) => width > 700).map(String)`);
  const background = await browser.evaluate('getComputedStyle(document.body).backgroundColor');
  check('prints light, and figures fit the paper',
    wide.concat(must(background === 'rgb(255, 255, 255)', background)));
  await harness.size(720, 1000);
  await shot(`${name}-print`);
  await browser.call('Emulation.setEmulatedMedia', {media: ''});
  const {data} = await browser.call('Page.printToPDF', {});
  const pdf = Buffer.from(data, 'base64');
  check('prints to PDF', must(pdf.subarray(0, 5).toString() === '%PDF-' && pdf.length > 10000, `${pdf.length} bytes`));
  if (shots) writeFileSync(join(shots, `${name}.pdf`), pdf);
}

await harness.run(async () => {
  for (const file of args) {
    const url = pathToFileURL(resolve(file)).href;
    harness.subject = basename(file, '.html');
    [harness.requests, harness.complaints] = [[], []];
    await open(url, 1280);
    await figures();
    await page();
    await timelines();
    await table();
    await widths(url, harness.subject);
    await dark(url, harness.subject);
    await print(url, harness.subject);
    check('no request but for the page itself', harness.requests.filter((asked) => asked !== url));
    check('no complaint on the console', harness.complaints);
  }
});
