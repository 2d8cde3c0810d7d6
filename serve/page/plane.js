// The plane of the ground: from places in metres to points of the picture.

/** The map of the unit square to four points, row by row, as Heckbert derives it ("Fundamentals of Texture Mapping", 1989, 2.2.3). */
function ofSquare([[x0, y0], [x1, y1], [x2, y2], [x3, y3]]) {
  const [ax, bx, sx] = [x1 - x2, x3 - x2, x0 - x1 + x2 - x3];
  const [ay, by, sy] = [y1 - y2, y3 - y2, y0 - y1 + y2 - y3];
  const size = ax * by - bx * ay;
  const [g, h] = [(sx * by - bx * sy) / size, (ax * sy - sx * ay) / size];
  return [
    [x1 - x0 + g * x1, x3 - x0 + h * x3, x0],
    [y1 - y0 + g * y1, y3 - y0 + h * y3, y0],
    [g, h, 1],
  ];
}

function inverse([[a, b, c], [d, e, f], [g, h, i]]) {
  return [
    [e * i - f * h, c * h - b * i, b * f - c * e],
    [f * g - d * i, a * i - c * g, c * d - a * f],
    [d * h - e * g, b * g - a * h, a * e - b * d],
  ];
}

function product(a, b) {
  return a.map((row) => [0, 1, 2].map((column) => row.reduce((sum, value, k) => sum + value * b[k][column], 0)));
}

function homogeneous(map, [x, y]) {
  return map.map(([a, b, c]) => a * x + b * y + c);
}

/** The four places of a ground: as they are given, or the corners of the rectangle of this width and length. */
export function placesOf(metres) {
  if (Array.isArray(metres[0])) return metres;
  const [width, length] = metres;
  return [[0, 0], [width, 0], [width, length], [0, length]];
}

/**
 * The map from places in metres to points of the picture, or null where there is none: three points on a line, or points and places in
 * different orders. It gives null for a place that is at the horizon or beyond it.
 */
export function mapThrough(points, places) {
  const map = product(ofSquare(points), inverse(ofSquare(places)));
  const depths = places.map((place) => homogeneous(map, place)[2]);
  const sign = Math.sign(depths[0]);
  if (!sign || !map.flat().every(Number.isFinite) || !depths.every((depth) => Math.sign(depth) === sign)) return null;
  return (place) => {
    const [x, y, depth] = homogeneous(map, place);
    return depth * sign > 1e-9 ? [x / depth, y / depth] : null;
  };
}

/** How many metres apart the lines of a grid are, of which at most forty cross this length: 1, 2, 5, 10, 20 and so on. */
export function gridStep(length) {
  if (length <= 2) return 0.1;
  let step = 1;
  for (let count = 0; length / step > 40; count += 1) step *= count % 3 === 1 ? 2.5 : 2;
  return step;
}

/** The lines of a grid over these places, each with two ends on the picture. */
export function gridLines(points, places) {
  const map = mapThrough(points, places);
  if (!map) return null;
  const bounds = [0, 1].map((axis) => [0, 1].map((end) => (end ? Math.max : Math.min)(...places.map((place) => place[axis]))));
  const step = gridStep(Math.max(...bounds.map(([from, to]) => to - from)));
  const lines = [];
  for (const axis of [0, 1]) {
    const [from, to] = bounds[axis];
    const others = bounds[1 - axis];
    const counts = Array.from({ length: Math.floor((to - from) / step + 1e-9) + 1 }, (_, count) => from + count * step);
    for (const at of counts) {
      const ends = others.map((other) => map(axis === 0 ? [at, other] : [other, at]));
      if (ends.every(Boolean)) lines.push(ends);
    }
  }
  return { step, lines };
}
