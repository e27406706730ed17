// Whether colours are told apart by everybody: as they are seen with all cones, without those for red
// (protanopia) and without those for green (deuteranopia).
//
// Viénot, Brettel and Mollon, "Digital video colourmaps for checking the legibility of displays by
// dichromats", Color Research and Application 24 (1999); distances are those of CIE 1976 (L*a*b*).

/** Two colours that are closer are alike: what can just be seen side by side is 2.3. */
const LEAST = 15;

const EYES = {
  'all cones': [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
  'no red cones': [[0.11238, 0.88762, 0], [0.11238, 0.88762, 0], [0.00401, -0.00401, 1]],
  'no green cones': [[0.29275, 0.70725, 0], [0.29275, 0.70725, 0], [-0.02234, 0.02234, 1]],
};

const linear = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16) / 255)
  .map((of) => (of <= 0.04045 ? of / 12.92 : ((of + 0.055) / 1.055) ** 2.4));
const times = (matrix, of) => matrix.map((row) => row.reduce((sum, by, at) => sum + by * of[at], 0));
const XYZ = [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.072175], [0.0193339, 0.119192, 0.9503041]];
const WHITE = [0.95047, 1, 1.08883];

function lab(of) {
  const [x, y, z] = times(XYZ, of).map((part, at) => part / WHITE[at])
    .map((part) => (part > 216 / 24389 ? Math.cbrt(part) : ((24389 / 27) * part + 16) / 116));
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

/** Pairs of these colours that are alike to some eye, in words. */
function alike(colours) {
  return Object.entries(EYES).flatMap(([eye, matrix]) => {
    const seen = colours.map((colour) => lab(times(matrix, linear(colour)).map((part) => Math.min(Math.max(part, 0), 1))));
    return colours.flatMap((one, at) => colours.slice(at + 1).flatMap((other, more) => {
      const apart = Math.hypot(...seen[at].map((part, of) => part - seen[at + 1 + more][of]));
      return apart < LEAST ? [`${one} and ${other} are ${apart.toFixed(1)} apart with ${eye}`] : [];
    }));
  });
}

export const PALETTE = {alike};
