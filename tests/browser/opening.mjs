// How long a report takes from opening it until it can be worked with: for `./bench`, which says how
// long is meant to be long enough. Prints one line of JSON, times in ms; checks nothing.
//
//   node tests/browser/opening.mjs REPORT.html
import {resolve} from 'node:path';
import {pathToFileURL} from 'node:url';
import {Browser, chromium} from './chromium.mjs';

const path = chromium();
if (!path) {
  console.error('no Chromium here: apt-get install chromium, or set CHROMIUM');
  process.exit(2);
}
const browser = await Browser.start(path);
try {
  const size = {width: 1280, height: 900, deviceScaleFactor: 1, mobile: false};
  await browser.call('Emulation.setDeviceMetricsOverride', size);
  const start = performance.now();
  const since = () => Math.round(performance.now() - start);
  await browser.call('Page.navigate', {url: pathToFileURL(resolve(process.argv[2])).href});
  // Asked in the page, as every question from outside waits for what the page has to do first.
  const when = (mark) => browser.evaluate(`new Promise((done) => {
    const seen = () => document.documentElement?.dataset.${mark} !== undefined && done(true);
    new MutationObserver(seen).observe(document, {attributes: true, childList: true, subtree: true});
    seen();
  })`);
  // The page as it opens, then its folds.
  await when('drawn');
  const drawn_ms = since();
  const rest = browser.evaluate('window.brickyard.unfold().then(() => true)');
  await when('painted');
  const painted_ms = since();
  await rest;
  // One step with the keyboard on the first axis: the table, the scatter plot and the figures follow.
  const brushed = await browser.evaluate(`new Promise((done) => {
    const axis = document.querySelector('[data-axis]');
    if (!axis) { done(null); return; }
    const html = document.documentElement;
    delete html.dataset.settled;
    axis.scrollIntoView({behavior: 'instant', block: 'center'});
    axis.focus();
    const start = performance.now();
    new MutationObserver(() => html.dataset.settled !== undefined && done(performance.now() - start))
      .observe(html, {attributes: true});
    axis.dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowDown', code: 'ArrowDown', bubbles: true}));
  })`);
  const brush_ms = brushed === null ? null : Math.round(brushed);
  console.log(JSON.stringify({painted_ms, drawn_ms, brush_ms}));
} finally {
  await browser.close();
}
