// What every script of checks has: its arguments, a browser that is listened to, checks that are
// counted, and a mouse that presses what a person would see.
import {mkdirSync, writeFileSync} from 'node:fs';
import {join} from 'node:path';
import {Browser, chromium} from './chromium.mjs';

/**
 * Reads `[--shots DIR]` and the rest of the arguments, and starts the browser. Without Chromium the
 * script ends with a line `SKIP`; with arguments that are not `enough`, with its `usage`.
 */
export async function begin(usage, enough = (args) => args.length > 0) {
  const args = process.argv.slice(2);
  const shots = args[0] === '--shots' ? args.splice(0, 2)[1] : undefined;
  if (!enough(args)) {
    console.error(`usage: ${usage}`);
    process.exit(2);
  }
  const path = chromium();
  if (!path) {
    console.log('SKIP in a browser: no Chromium (apt-get install chromium, or set CHROMIUM)');
    process.exit(0);
  }
  return new Harness(args, shots, await Browser.start(path));
}

export const must = (holds, problem) => (holds ? [] : [problem]);

export class Harness {
  /** What is checked now: stands before each check. */
  subject = '';
  failures = 0;
  /** Addresses that pages asked for, and what they complained of on the console. */
  requests = [];
  complaints = [];

  constructor(args, shots, browser) {
    Object.assign(this, {args, shots, browser});
    browser.listen((method, params) => {
      // A picture that a page draws for itself is asked of nobody.
      if (method === 'Network.requestWillBeSent' && !/^data:(,|image\/)/.test(params.request.url)) {
        this.requests.push(params.request.url);
      }
      if (method === 'Runtime.consoleAPICalled') {
        this.complaints.push(`${params.type}: ${params.args.map((arg) => arg.value ?? arg.description).join(' ')}`);
      }
      if (method === 'Runtime.exceptionThrown') this.complaints.push(params.exceptionDetails.exception?.description);
      if (method === 'Log.entryAdded') {
        this.complaints.push(`${params.entry.level}: ${params.entry.text} ${params.entry.url ?? ''}`);
      }
    });
  }

  /** One check: `problems` is what is wrong, if anything; `true` is nothing. */
  check(what, problems) {
    const bad = [problems].flat().filter((problem) => problem !== true && problem !== undefined);
    this.failures += bad.length ? 1 : 0;
    console.log(`${bad.length ? 'FAIL' : 'ok'} ${this.subject}: ${what}${bad.length ? `: ${bad.slice(0, 5).join('; ')}` : ''}`);
  }

  async size(width, height = 900) {
    await this.browser.call('Emulation.setDeviceMetricsOverride', {width, height, deviceScaleFactor: 1, mobile: false});
  }

  /**
   * Where the element of an expression is, brought into view first: under what stays at the head of
   * the page. What the mouse then meets is what was drawn last, so a busy machine is given the time
   * to draw.
   */
  async box(element) {
    return this.browser.evaluate(`(async () => {
      const element = ${element};
      if (!element) throw new Error('nothing there: ' + ${JSON.stringify(element)});
      element.scrollIntoView({behavior: 'instant', block: 'center', inline: 'center'});
      const place = () => { const {x, y, width, height} = element.getBoundingClientRect(); return {x, y, width, height}; };
      const same = (a, b) => Object.keys(a).every((side) => a[side] === b[side]);
      const frame = () => new Promise((done) => requestAnimationFrame(done));
      let at = place();
      for (let still = 0, frames = 0; still < 2 && frames < 100; frames++) {
        await frame();
        const now = place();
        still = same(at, now) ? still + 1 : 0;
        at = now;
      }
      return at;
    })()`);
  }

  mouse(type, x, y, more = {}) {
    return this.browser.call('Input.dispatchMouseEvent',
      {type, x, y, button: 'left', buttons: type === 'mouseReleased' ? 0 : 1, clickCount: 1, ...more});
  }

  /** Presses the middle of the element of an expression. */
  async click(element) {
    const at = middle(await this.box(element));
    await this.mouse('mousePressed', ...at);
    await this.mouse('mouseReleased', ...at);
  }

  /** Presses at one place, moves in steps, and lets go at the other. */
  async drag(from, to, steps = 8) {
    await this.mouse('mousePressed', ...from);
    for (let step = 1; step <= steps; step++) {
      await this.mouse('mouseMoved', ...[0, 1].map((axis) => from[axis] + ((to[axis] - from[axis]) * step) / steps));
    }
    await this.mouse('mouseReleased', ...to);
  }

  /** Puts one finger down, moves it in steps, and lifts it. */
  async swipe(from, to, steps = 8) {
    const finger = (type, touchPoints) => this.browser.call('Input.dispatchTouchEvent', {type, touchPoints});
    await finger('touchStart', [{x: from[0], y: from[1]}]);
    for (let step = 1; step <= steps; step++) {
      const [x, y] = [0, 1].map((axis) => from[axis] + ((to[axis] - from[axis]) * step) / steps);
      await finger('touchMove', [{x, y}]);
    }
    // A finger that is lifted while it moves flings the page on, and what touches a page that still
    // moves stops it and does nothing else, whatever it touches: it was so in CI once, where the next
    // swipe brushed nothing. One that rests a moment flings nothing.
    await new Promise((done) => setTimeout(done, 150));
    await finger('touchEnd', []);
  }

  /** Keeps a picture of a part of the page under `--shots`; by default of all of it down to `deepest`. */
  async shot(name, deepest, part) {
    if (!this.shots) return;
    mkdirSync(this.shots, {recursive: true});
    const {cssContentSize: size} = await this.browser.call('Page.getLayoutMetrics');
    const clip = part ?? {x: 0, y: 0, width: size.width, height: Math.min(size.height, deepest), scale: 1};
    const {data} = await this.browser.call('Page.captureScreenshot', {clip, captureBeyondViewport: true});
    writeFileSync(join(this.shots, `${name}.png`), Buffer.from(data, 'base64'));
  }

  /** Runs the checks, closes the browser, and ends the script with what came out. */
  async run(checks, last = async () => {}) {
    try {
      await checks();
    } catch (error) {
      this.check('the browser could be driven', [error.stack ?? error.message]);
    } finally {
      await this.browser.close();
      await last();
    }
    process.exit(this.failures ? 1 : 0);
  }
}

/** The middle of a box. */
export const middle = ({x, y, width, height}) => [x + width / 2, y + height / 2];
