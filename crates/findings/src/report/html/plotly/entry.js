// The kinds of figure that a report draws. `scatter` is in the core.
//
// Left out on purpose: surface, scatter3d, scattergl, parcoords. They compile shaders and loops with
// `new Function`, which the report's Content-Security-Policy forbids.
const Plotly = require('plotly.js/lib/core');
Plotly.register([
  require('plotly.js/lib/bar'),
  require('plotly.js/lib/box'),
  require('plotly.js/lib/heatmap'),
  require('plotly.js/lib/histogram'),
]);
module.exports = Plotly;
