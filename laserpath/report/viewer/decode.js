// The numbers of the page, unpacked: the other end of payload.py.
// Lengths are mm from the origin, which keeps them small: canvas paths are drawn in single precision.

async function inflated(base64) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Zigzag numbers of 7 bits a byte. Beyond 2^31 only sums and products are exact, so no shifts.
async function integers(base64) {
  const bytes = await inflated(base64);
  let n = 0;
  for (const byte of bytes) n += byte < 128;
  const values = new Float64Array(n);
  for (let at = 0, k = 0; k < n; k++) {
    let number = 0, weight = 1, byte;
    do {
      byte = bytes[at++];
      number += (byte & 127) * weight;
      weight *= 128;
    } while (byte > 127);
    values[k] = number % 2 ? -(number + 1) / 2 : number / 2;
  }
  return values;
}

async function curve(base64, unit) {
  const values = await integers(base64);
  for (let k = 1; k < values.length; k++) values[k] += values[k - 1];
  return values.map((v) => v * unit);
}

async function raster(packed, origin) {
  const { rows, columns } = packed, left = await integers(packed.values);
  const values = new Float32Array(rows * columns), above = new Float64Array(columns);
  for (let i = 0; i < rows; i++) {
    let row = 0;
    for (let j = 0; j < columns; j++) {
      row += left[i * columns + j];
      above[j] += row;
      values[i * columns + j] = above[j] * packed.step;
    }
  }
  const [x, y] = packed.origin;
  return { rows, columns, values, pitch: packed.pitch, x: x - origin[0], y: y - origin[1] };
}

async function outline(packed, quantum) {
  const [counts, x, y] = await Promise.all([
    integers(packed.counts), curve(packed.x, quantum), curve(packed.y, quantum),
  ]);
  const path = new Path2D();
  let at = 0;
  for (const count of counts) {
    path.moveTo(x[at], y[at]);
    for (let k = at + 1; k < at + count; k++) path.lineTo(x[k], y[k]);
    path.closePath();
    at += count;
  }
  return { path, x, y };
}

async function contour(packed, quantum) {
  const [x, y, normal, error, missing] = await Promise.all([
    curve(packed.x, quantum), curve(packed.y, quantum), curve(packed.normal, 2 * Math.PI / packed.turn),
    curve(packed.error, quantum), integers(packed.missing),
  ]);
  return { x, y, normal, error, missing, limit: packed.limit, spacing: packed.spacing };
}

async function laser(packed, quantum) {
  const [x, y, t, power] = await Promise.all([
    curve(packed.x, quantum), curve(packed.y, quantum), curve(packed.t, packed.tick),
    curve(packed.power, packed.level),
  ]);
  let low = Infinity, high = 0;
  for (const p of power) if (p > 0) (low = Math.min(low, p)), (high = Math.max(high, p));
  return { x, y, t, power, total: packed.total, low: Math.min(low, high), high, pieces: power.length };
}

async function decoded(packed) {
  const { quantum, origin } = packed;
  const [dose, design, edges, track] = await Promise.all([
    raster(packed.dose, origin),
    packed.design && outline(packed.design, quantum),
    packed.edges && contour(packed.edges, quantum),
    laser(packed.track, quantum),
  ]);
  const places = packed.places.map(([x, y, u, v, error]) => ({ x: x - origin[0], y: y - origin[1], u, v, error }));
  const [x0, y0, x1, y1] = packed.box;
  const box = [x0 - origin[0], y0 - origin[1], x1 - origin[0], y1 - origin[1]];
  return { ...packed, box, dose, design, edges, track, places };
}
