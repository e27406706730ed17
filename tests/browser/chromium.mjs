// Drives headless Chromium through its debugging pipe: no packages, no port.
import {spawn} from 'node:child_process';
import {existsSync, mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

const PLACES = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const FLAGS = [
  '--headless=new', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--no-first-run',
  '--disable-background-networking', '--disable-component-update', '--disable-sync',
  '--disable-dev-shm-usage', '--force-color-profile=srgb', '--remote-debugging-pipe',
];

/** Where Chromium is: $CHROMIUM, or a usual place; undefined when there is none. */
export function chromium() {
  return [process.env.CHROMIUM, ...PLACES].find((path) => path && existsSync(path));
}

/** A running browser with one page. */
export class Browser {
  #process; #folder; #session; #next = 1; #waiting = new Map(); #listeners = [];

  static async start(path) {
    const browser = new Browser();
    browser.#folder = mkdtempSync(join(tmpdir(), 'brickyard-browser-'));
    browser.#process = spawn(path, [...FLAGS, `--user-data-dir=${browser.#folder}`, 'about:blank'],
      {stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});
    browser.#process.on('exit', () => browser.#fail(new Error('the browser ended')));
    browser.#process.on('error', (error) => browser.#fail(error));
    browser.#process.stdio[3].on('error', (error) => browser.#fail(error));
    let rest = '';
    browser.#process.stdio[4].setEncoding('utf8').on('data', (chunk) => {
      const parts = (rest + chunk).split('\0');
      rest = parts.pop();
      parts.forEach((part) => browser.#receive(JSON.parse(part)));
    });
    const {targetInfos} = await browser.#send('Target.getTargets');
    const {targetId} = targetInfos.find((target) => target.type === 'page');
    const {sessionId} = await browser.#send('Target.attachToTarget', {targetId, flatten: true});
    browser.#session = sessionId;
    for (const domain of ['Page', 'Runtime', 'Log', 'Network']) await browser.call(`${domain}.enable`);
    return browser;
  }

  /** Calls a method of the DevTools protocol on the page. */
  call(method, params = {}) {
    return this.#send(method, params, this.#session);
  }

  /** Hears every event of the page. */
  listen(listener) {
    this.#listeners.push(listener);
  }

  /** The value of an expression in the page. */
  async evaluate(expression) {
    const {result, exceptionDetails} = await this.call('Runtime.evaluate',
      {expression, returnByValue: true, awaitPromise: true});
    if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
    return result.value;
  }

  /** Waits until an expression is true in the page. */
  async until(expression, what, seconds = 60) {
    for (const end = Date.now() + seconds * 1000; Date.now() < end;) {
      // While a page is being replaced there is nothing to ask.
      if (await this.evaluate(`Boolean(${expression})`).catch(() => false)) return;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    throw new Error(`${what}: not within ${seconds} s`);
  }

  /** Ends the browser and removes its folder. */
  async close() {
    const ended = new Promise((resolve) => this.#process.once('exit', resolve));
    this.#send('Browser.close').catch(() => {});
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 5000))]);
    if (this.#process.exitCode === null) this.#process.kill('SIGKILL');
    rmSync(this.#folder, {recursive: true, force: true, maxRetries: 5, retryDelay: 200});
  }

  #send(method, params = {}, sessionId = undefined) {
    const id = this.#next++;
    const answer = new Promise((resolve, reject) => this.#waiting.set(id, {resolve, reject, method}));
    this.#process.stdio[3].write(`${JSON.stringify({id, method, params, sessionId})}\0`);
    return answer;
  }

  #receive(message) {
    const waiting = this.#waiting.get(message.id);
    if (!waiting) {
      this.#listeners.forEach((listener) => listener(message.method, message.params));
      return;
    }
    this.#waiting.delete(message.id);
    if (message.error) waiting.reject(new Error(`${waiting.method}: ${message.error.message}`));
    else waiting.resolve(message.result);
  }

  #fail(error) {
    this.#waiting.forEach((waiting) => waiting.reject(error));
    this.#waiting.clear();
  }
}
