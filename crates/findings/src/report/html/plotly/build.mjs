// Builds plotly-custom.min.js from npm, once, by hand; the result is committed, so that cargo
// needs no node. In this directory:
//
//   npm ci && node build.mjs
//
// It also writes the version, the licence, and the checksums that the report's
// Content-Security-Policy is made of (../assets.sha256).
import {createHash} from 'node:crypto';
import {copyFileSync, readFileSync, writeFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import {build} from 'esbuild';
import {environmentPlugin} from 'esbuild-plugin-environment';
import {glsl} from 'esbuild-plugin-glsl';

const require = createRequire(import.meta.url);
const css = require('esbuild-plugin-inline-css');
const {version} = require('plotly.js/package.json');
const bundle = 'plotly-custom.min.js';

await build({
  entryPoints: ['entry.js'],
  bundle: true,
  minify: true,
  charset: 'ascii',
  format: 'iife',
  globalName: 'Plotly',
  target: 'es2018',
  outfile: bundle,
  legalComments: 'none',
  banner: {js: `/* plotly.js v${version}, custom bundle (scatter, bar, box, heatmap, histogram). ` +
    'Copyright Plotly, Inc. Licensed under the MIT license; see LICENSE. */'},
  plugins: [css(), glsl({minify: true}), environmentPlugin({NODE_DEBUG: 'false'})],
  alias: {regl: '@plotly/regl', stream: 'stream-browserify'},
  define: {global: 'window', 'define.amd': 'false'},
  logLevel: 'info',
});

// Inside <script> a closing tag would end the script early, and a comment opener change its parsing.
const text = readFileSync(bundle, 'utf8')
  .replace(/<\/(script)/gi, '<\\/$1')
  .replace(/<!--/g, '<\\!--');
writeFileSync(bundle, text);
copyFileSync('node_modules/plotly.js/LICENSE', 'LICENSE');
writeFileSync('VERSION', `plotly.js ${version}\n`);

const sum = (file) => createHash('sha256').update(readFileSync(file)).digest('hex');
const scripts = ['page.js', 'explorer.js', 'scatter.js', 'grid.js'];
const lines = [`plotly/${bundle}`, ...scripts].map((file) => `${sum(`../${file}`)}  ${file}\n`);
writeFileSync('../assets.sha256', lines.join(''));
