// Opens reports in headless Chromium and checks what only a browser can tell.
//
//   node tests/browser/report.mjs [--shots DIR] REPORT.html...
//
// One line a check: `ok`, `FAIL` or `SKIP`. Exit status 1 when a check fails.
import {mkdirSync, writeFileSync} from 'node:fs';
import {basename, join, resolve} from 'node:path';
import {pathToFileURL} from 'node:url';
import {Browser, chromium} from './chromium.mjs';

const WIDTHS = [360, 768, 1280];
const args = process.argv.slice(2);
const shots = args[0] === '--shots' ? args.splice(0, 2)[1] : undefined;
const path = chromium();
if (!path) {
  console.log('SKIP report in a browser: no Chromium (apt-get install chromium, or set CHROMIUM)');
  process.exit(0);
}
if (!args.length) {
  console.error('usage: node tests/browser/report.mjs [--shots DIR] REPORT.html...');
  process.exit(2);
}

let failures = 0;
let report = '';
function check(what, problems) {
  const bad = [problems].flat().filter((problem) => problem !== true && problem !== undefined);
  failures += bad.length ? 1 : 0;
  console.log(bad.length ? `FAIL ${report}: ${what}: ${bad.slice(0, 5).join('; ')}` : `ok ${report}: ${what}`);
}
const must = (holds, problem) => (holds ? [] : [problem]);

let requests = [];
let complaints = [];
const browser = await Browser.start(path);
browser.listen((method, params) => {
  if (method === 'Network.requestWillBeSent') requests.push(params.request.url);
  if (method === 'Runtime.consoleAPICalled') {
    complaints.push(`${params.type}: ${params.args.map((arg) => arg.value ?? arg.description).join(' ')}`);
  }
  if (method === 'Runtime.exceptionThrown') complaints.push(params.exceptionDetails.exception?.description);
  if (method === 'Log.entryAdded') complaints.push(`${params.entry.level}: ${params.entry.text}`);
});

async function open(url, width) {
  await browser.call('Emulation.setDeviceMetricsOverride',
    {width, height: 900, deviceScaleFactor: 1, mobile: false});
  await browser.call('Page.navigate', {url});
  await browser.until(`location.href === ${JSON.stringify(url)} && document.documentElement?.dataset.drawn`,
    'all figures drawn');
}

async function shot(name) {
  if (!shots) return;
  mkdirSync(shots, {recursive: true});
  const {cssContentSize: size} = await browser.call('Page.getLayoutMetrics');
  const clip = {x: 0, y: 0, width: size.width, height: Math.min(size.height, 9000), scale: 1};
  const {data} = await browser.call('Page.captureScreenshot', {clip, captureBeyondViewport: true});
  writeFileSync(join(shots, `${name}.png`), Buffer.from(data, 'base64'));
}

const DRAWN = `[...document.querySelectorAll('.plot')].map((plot) => ({
  id: plot.id, label: plot.getAttribute('aria-label'),
  svg: plot.querySelectorAll('.main-svg').length,
  traces: plot.querySelectorAll('.scatterlayer .trace, .barlayer .trace').length,
  points: plot.querySelectorAll('.scatterlayer .point, .barlayer .point, .scatterlayer .js-line').length,
  inside: plot.querySelector('.main-svg')?.getBoundingClientRect().width <= plot.clientWidth + 1,
}))`;

async function figures() {
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
    .filter((f) => !f.querySelector('.plot') && !(${drawn}) && !f.querySelector('.missing')?.textContent.trim()).map((f) => f.id)`));
}

async function page() {
  const policy = await browser.evaluate(
    "document.querySelector('meta[http-equiv=Content-Security-Policy]')?.content ?? ''");
  check('the policy lets nothing in', must(policy.startsWith("default-src 'none'; script-src 'sha256-")
    && !policy.includes('unsafe-eval') && !/https?:/.test(policy), policy));
  // This script's own attempt is complained of, as it should be; nothing else may be.
  const before = complaints.length;
  check('the policy is enforced', await browser.evaluate(`new Promise((done) => {
    const script = document.createElement('script');
    script.textContent = 'window.intruder = true';
    document.body.append(script);
    setTimeout(() => done(window.intruder ? ['a foreign script ran'] : []), 50);
  })`));
  const told = complaints.splice(before);
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
  const {x, y} = await browser.evaluate(`(() => {
    const button = document.getElementById('timeline-on');
    button.scrollIntoView({behavior: 'instant', block: 'center'});
    const box = button.getBoundingClientRect();
    return {x: box.x + box.width / 2, y: box.y + box.height / 2};
  })()`);
  for (const type of ['mousePressed', 'mouseReleased']) {
    await browser.call('Input.dispatchMouseEvent', {type, x, y, button: 'left', clickCount: 1});
  }
  const after = await browser.evaluate("document.getElementById('timeline-plot').dataset.trial");
  const chosen = await browser.evaluate(`(() => {
    const picker = document.getElementById('timeline-picker');
    picker.value = String(picker.options.length - 1);
    picker.dispatchEvent(new Event('change'));
    const plot = document.getElementById('timeline-plot');
    return {trial: plot.dataset.trial, lines: plot.querySelectorAll('.scatterlayer .js-line').length,
      says: document.getElementById('timeline-says').textContent, label: plot.getAttribute('aria-label')};
  })()`);
  check(`the timeline picker works (${options} trials)`, [
    ...must(options < 2 || after !== before, 'the button Next changed nothing'),
    ...must(options < 3 || chosen.trial !== after, 'choosing the last changed nothing'),
    ...must(chosen.lines > 0, 'no line'),
    ...must(chosen.says.length > 30 && chosen.label.includes(chosen.says), 'no text alternative'),
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
  await browser.call('Emulation.setDeviceMetricsOverride', {width: 720, height: 1000, deviceScaleFactor: 1, mobile: false});
  await shot(`${name}-print`);
  await browser.call('Emulation.setEmulatedMedia', {media: ''});
  const {data} = await browser.call('Page.printToPDF', {});
  const pdf = Buffer.from(data, 'base64');
  check('prints to PDF', must(pdf.subarray(0, 5).toString() === '%PDF-' && pdf.length > 10000, `${pdf.length} bytes`));
  if (shots) writeFileSync(join(shots, `${name}.pdf`), pdf);
}

try {
  for (const file of args) {
    const url = pathToFileURL(resolve(file)).href;
    report = basename(file, '.html');
    [requests, complaints] = [[], []];
    await open(url, 1280);
    await figures();
    await page();
    await timelines();
    await table();
    await widths(url, report);
    await dark(url, report);
    await print(url, report);
    check('no request but for the page itself', requests.filter((asked) => asked !== url));
    check('no complaint on the console', complaints);
  }
} catch (error) {
  check('the browser could be driven', [error.message]);
} finally {
  await browser.close();
}
process.exit(failures ? 1 : 0);
