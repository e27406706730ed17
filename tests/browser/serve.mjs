// Uses `brickyard serve` as a person does, in headless Chromium: clicks, typing, going back.
//
//   node tests/browser/serve.mjs [--shots DIR] PROGRAM STORE
//
// STORE is the one that `samples_for_the_browser_is_a_store_too` writes: campaigns 1 and 2 can be
// compared, 3 has hostile names, 4 is empty. One line a check: `ok`, `FAIL` or `SKIP`. Exit status 1
// when a check fails.
import {spawn} from 'node:child_process';
import {begin, middle, must} from './harness.mjs';

const WIDTHS = [360, 768, 1280];
const DEEPEST = 3000;
const harness = await begin('node tests/browser/serve.mjs [--shots DIR] PROGRAM STORE', (args) => args.length === 2);
const {args, browser} = harness;
harness.subject = 'serve';
const check = harness.check.bind(harness);
const click = harness.click.bind(harness);
const size = (width) => harness.size(width);
const shot = (name) => harness.shot(`serve-${name}`, DEEPEST);

const served = spawn(args[0], ['serve', '--listen', '127.0.0.1:0', '--store', args[1]],
  {stdio: ['ignore', 'pipe', 'ignore']});
const ended = new Promise((resolve) => served.once('exit', (code) => resolve(code)));
const url = await new Promise((resolve, reject) => {
  served.stdout.setEncoding('utf8').once('data', (line) => resolve(line.trim()));
  served.once('exit', () => reject(new Error('brickyard serve ended')));
});

async function open(address) {
  await browser.evaluate('window.old = true');
  await browser.call('Page.navigate', {url: new URL(address, url).href});
  await fresh(address);
}

/** Waits for a page that is not the one in which `old` was set. */
async function fresh(what) {
  await browser.until("!window.old && document.readyState === 'complete'", what);
}

/** Clicks on what leads to another page. */
async function go(element) {
  await browser.evaluate('window.old = true');
  await click(element);
  await fresh(element);
}

async function key(name, code, modifiers = 0) {
  const params = {key: name, code: name, windowsVirtualKeyCode: code, modifiers};
  await browser.call('Input.dispatchKeyEvent', {type: 'rawKeyDown', ...params});
  if (name === 'Enter' && !modifiers) await browser.call('Input.dispatchKeyEvent', {type: 'char', text: '\r', ...params});
  await browser.call('Input.dispatchKeyEvent', {type: 'keyUp', ...params});
}

/** Replaces what is in a field, by keys. */
async function type(field, text) {
  await click(field);
  await browser.evaluate(`${field}.select()`);
  if (text === '') await key('Backspace', 8);
  else await browser.call('Input.insertText', {text});
}

const link = (text) => `[...document.links].find((a) => a.textContent.trim() === ${JSON.stringify(text)})`;
const button = (text) => `[...document.querySelectorAll('button')].find((b) => b.textContent.trim() === ${JSON.stringify(text)})`;
const field = (name) => `document.getElementById('${name}')`;
const campaign = (id) => `document.querySelector('a[href="/campaign/${id}"]')`;
const tick = (id) => `document.querySelector('input[value="${id}"]')`;
const shown = () => browser.evaluate("[...document.querySelectorAll('#campaigns tbody tr')].filter((row) => !row.hidden).length");
const told = () => browser.evaluate("document.querySelector('main').innerText");
const title = () => browser.evaluate("document.querySelector('h1').innerText");
const drawn = () => browser.until('document.documentElement.dataset.drawn', 'all figures drawn');

async function campaigns() {
  await size(1280);
  await open('/');
  const all = await shown();
  const text = await told();
  check('all campaigns are listed', must(all === 4 && /nothing/.test(text), `${all}: ${text}`));
  check('hostile names are text', [
    ...must(text.includes('</script><img src=x onerror=alert(1)>'), 'the text itself is not shown'),
    ...must(await browser.evaluate("!document.querySelector('img, b')"), 'an element got in'),
  ]);
  await type(field('filter'), 'EVALUATE sim');
  const some = await shown();
  await type(field('filter'), 'no such words');
  const none = await shown();
  await type(field('filter'), '');
  check('the filter takes words as they are typed', must(
    some === 2 && none === 0 && await shown() === all, `${all}, ${some}, ${none}`));
  await type(field('filter'), 'nothing');
  await browser.evaluate('window.old = true');
  await key('Enter', 13);
  await fresh('filtered by the server');
  check('the same filter is asked of the server', [
    ...must(await shown() === 1, `${await shown()} rows`),
    ...must(new URL(await browser.evaluate('location.href')).search === '?filter=nothing', 'the address'),
  ]);
  await go(link('all'));
  check('and taken back', must(await shown() === all, `${await shown()} rows`));
}

async function report() {
  await open('/');
  await go(campaign(1));
  await drawn();
  const plots = await browser.evaluate("[...document.querySelectorAll('.plot')].filter((p) => p.querySelector('.main-svg')).length");
  check('a click opens a report with its figures', must(
    plots > 0 && /^SIMULATED, no server was measured: Storage of/.test(await title()), `${plots} plots, ${await title()}`));
  // Brushing over a figure: what is dragged over fills it.
  const range = "JSON.stringify(document.querySelector('.plot').layout?.xaxis?.range ?? null)";
  const before = await browser.evaluate(range);
  const [x, y] = middle(await harness.box("document.querySelector('.plot .nsewdrag')"));
  await harness.mouse('mouseMoved', x - 90, y - 60, {buttons: 0});
  await harness.drag([x - 90, y - 60], [x + 90, y + 60]);
  await browser.until(`${range} !== ${JSON.stringify(before)}`, 'a figure follows the brush', 20);
  check('a figure follows the brush', true);
  await shot('report');
  await go(link('Campaigns'));
  check('and there is a way back', must(await title() === 'Campaigns', await title()));
  await open('/campaign/3');
  await drawn();
  check('a report of hostile names has only text of them', must(
    await browser.evaluate("!document.querySelector('img') && !window.intruder"), 'an element got in'));
}

async function compared() {
  await open('/');
  check('nothing is compared with itself', must(await browser.evaluate("document.getElementById('compare').disabled"),
    'the button can be pressed with nothing ticked'));
  await click(tick(1));
  await click(tick(2));
  check('what is chosen is told', must(/chosen: 1, 2/.test(await told()), await told()));
  await shot('campaigns-1280');
  await go(field('compare'));
  await drawn();
  const side = (name) => browser.evaluate(
    `[...document.querySelectorAll('.answer p')].find((p) => p.innerText.startsWith('${name}: '))?.innerText`);
  const [a, b] = [await side('A'), await side('B')];
  check('two that were ticked are compared, the older first', must(
    a?.includes('(campaign 1)') && b?.includes('(campaign 2)'), `${a}; ${b}`));
  await go(link('Use 2 as the baseline'));
  check('and the other way round', must((await side('A'))?.includes('(campaign 2)'), await side('A')));
  await go(link('Campaign 1'));
  check('and each has its report', must(/^SIMULATED, no server was measured: Storage of/.test(await title()), await title()));
}

async function asked() {
  await open('/');
  await go(link('Ask by SQL'));
  const sql = "SELECT workload, count(*) AS trials FROM trials\nWHERE campaign = 1 GROUP BY 1 ORDER BY 1";
  await type(field('sql'), sql);
  await go(button('Ask'));
  const rows = () => browser.evaluate("document.querySelectorAll('.answer-table tbody tr').length");
  check('a statement is answered by a table', must(await rows() > 3, `${await rows()} rows: ${await told()}`));
  const address = await browser.evaluate('location.href');
  const many = await rows();
  await open('/');
  await open(address);
  check('its address is the answer', must(await rows() === many, `${await rows()} rows`));
  const kept = await browser.evaluate("document.getElementById('sql').value");
  check('the statement stays in the box', must(kept === sql, kept));
  await type(field('sql'), 'SELECT throughputt FROM trials');
  await browser.evaluate('window.old = true');
  await key('Enter', 13, 2);
  await fresh('asked by Ctrl-Enter');
  check('an error is told in the words of SQLite', must(
    /no such column: throughputt/.test(await told()) && /did you mean throughput\?/.test(await told()), await told()));
  await shot('query-error');
  await type(field('sql'), 'SELECT ');
  await browser.evaluate('document.getElementById("sql").setSelectionRange(7, 7)');
  await click("document.querySelector('details summary')");
  await click(button('throughput'));
  await click(button('origin'));
  check('a click puts a name where the cursor is', must(
    await browser.evaluate("document.getElementById('sql').value") === 'SELECT throughput origin',
    await browser.evaluate("document.getElementById('sql').value")));
  await go("document.querySelector('details[open] a')");
  check('each view has a statement that works', must(await rows() > 3, await told()));
  await open('/query?sql=' + encodeURIComponent("SELECT plan, host FROM campaign WHERE id = 3"));
  check('hostile cells are text', must(
    await browser.evaluate("!document.querySelector('img, b')") && (await told()).includes('<img src=x'), await told()));
}

async function widths() {
  const wide = encodeURIComponent('SELECT * FROM trials LIMIT 5');
  for (const [name, address] of [['campaigns', '/'], ['query', '/query'], ['answer', `/query?sql=${wide}`],
    ['compare', '/compare?campaign=1&campaign=2'], ['wrong', '/campaign/99']]) {
    const bad = [];
    for (const width of WIDTHS) {
      await size(width);
      await open(address);
      const over = await browser.evaluate('document.documentElement.scrollWidth - innerWidth');
      bad.push(...must(over <= 0, `${over} px too wide at ${width}`));
      if (name !== 'compare') await shot(`${name}-${width}`);
    }
    check(`no sideways scrolling of ${name} at ${WIDTHS.join(', ')} px`, bad);
    check(`${name}: no two elements have the same name, and headings go down by one`, await browser.evaluate(`(() => {
      const ids = [...document.querySelectorAll('[id]')].map((element) => element.id);
      const levels = [...document.querySelectorAll('h1,h2,h3,h4')].map((h) => Number(h.tagName[1]));
      return [...ids.filter((id, at) => ids.indexOf(id) !== at),
        ...levels.filter((level, at) => at && level > levels[at - 1] + 1).map((level) => 'h' + level)];
    })()`));
  }
  await size(1280);
  await browser.call('Emulation.setEmulatedMedia', {features: [{name: 'prefers-color-scheme', value: 'dark'}]});
  await open(`/query?sql=${wide}`);
  await shot('answer-dark');
  await open('/');
  await shot('campaigns-dark');
  await browser.call('Emulation.setEmulatedMedia', {features: []});
}

async function without_script() {
  await browser.call('Emulation.setScriptExecutionDisabled', {value: true});
  await open('/?filter=evaluate+sim');
  const [rows, able] = [await shown(), await browser.evaluate("!document.getElementById('compare').disabled")];
  await browser.call('Emulation.setScriptExecutionDisabled', {value: false});
  check('without a script, the filter and the button work', must(rows === 2 && able, `${rows} rows, ${able}`));
}

async function strangers() {
  const mine = harness.complaints.length;
  // A page of another site with a link to ours, a picture of it, and a script that reads it.
  const page = `<a id=go href="${url}">go</a><img src="${url}"><script>
    fetch(${JSON.stringify(url)}).then(() => { window.got = 'read'; }, () => { window.got = 'refused'; });</script>`;
  await browser.evaluate('window.old = true');
  await browser.call('Page.navigate', {url: `data:text/html,${encodeURIComponent(page)}`});
  await browser.until('window.got', 'an answer to a stranger');
  check('a page of another site reads nothing', must(await browser.evaluate('window.got') === 'refused', 'it was read'));
  await go("document.getElementById('go')");
  check('and who is sent by one is told how to come', must(
    await title() === 'Not possible' && /another site/.test(await told()), await told()));
  harness.complaints.splice(mine);
}

async function stops() {
  served.kill('SIGTERM');
  const late = new Promise((resolve) => setTimeout(() => resolve('nothing within 10 s'), 10000));
  const status = await Promise.race([ended, late]);
  check('it ends when it is told to', must(status === 130, `exit status ${status}`));
  served.kill('SIGKILL');
}

await harness.run(async () => {
  await campaigns();
  await report();
  await compared();
  await asked();
  await widths();
  await without_script();
  check('no request but for pages of the store', harness.requests.filter((to) => !to.startsWith(url)));
  await strangers();
  // The browser tells of a page with status 400 or 404; those were asked for.
  check('no complaint on the console', harness.complaints.filter((text) =>
    !/status of 400 .*throughputt/.test(text) && !/status of 404 .*\/campaign\/99/.test(text)));
}, stops);
