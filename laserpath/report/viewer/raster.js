// Dose and cure, for every pixel of the screen: cubic B-splines (payload.py) along x, then along y.

// Weights and places of the four coefficients around u, mirrored at the ends as scipy does it.
function taps(first, step, count, length) {
  const index = new Int32Array(4 * count), weight = new Float32Array(4 * count);
  for (let k = 0; k < count; k++) {
    const u = first + k * step;
    if (u < -0.5 || u > length - 0.5) continue;
    const i = Math.floor(u), f = u - i, g = 1 - f;
    weight.set([g * g * g / 6, (4 - 6 * f * f + 3 * f * f * f) / 6, (4 - 6 * g * g + 3 * g * g * g) / 6, f * f * f / 6], 4 * k);
    for (let n = 0; n < 4; n++) {
      let at = Math.abs(i - 1 + n);
      if (at > length - 1) at = 2 * (length - 1) - at;
      index[4 * k + n] = Math.max(0, Math.min(length - 1, at));
    }
  }
  return { index, weight };
}

// Dose in critical doses at width × height points, the first at (x, y) mm, `step` mm apart, y downward.
function sampled(field, x, y, step, width, height) {
  const across = taps((x - field.x) / field.pitch, step / field.pitch, width, field.columns);
  const down = taps((y - field.y) / field.pitch, -step / field.pitch, height, field.rows);
  const kept = new Map(), result = new Float32Array(width * height);
  const row = (i) => {
    let line = kept.get(i);
    if (!line) {
      line = new Float32Array(width);
      const { index, weight } = across, from = i * field.columns;
      for (let k = 0, n = 0; k < width; k++, n += 4) {
        line[k] = weight[n] * field.values[from + index[n]] + weight[n + 1] * field.values[from + index[n + 1]]
          + weight[n + 2] * field.values[from + index[n + 2]] + weight[n + 3] * field.values[from + index[n + 3]];
      }
      if (kept.size > 64) kept.delete(kept.keys().next().value);
      kept.set(i, line);
    }
    return line;
  };
  for (let k = 0, n = 0; k < height; k++, n += 4) {
    const [a, b, c, d] = down.weight.subarray(n, n + 4);
    if (a + b + c + d === 0) continue;
    const [p, q, r, s] = [row(down.index[n]), row(down.index[n + 1]), row(down.index[n + 2]), row(down.index[n + 3])];
    for (let j = 0, at = k * width; j < width; j++, at++) result[at] = a * p[j] + b * q[j] + c * r[j] + d * s[j];
  }
  return result;
}

function doseAt(field, x, y) {
  return sampled(field, x, y, field.pitch, 1, 1)[0];
}

// The slope of the dose, critical doses per pixel: |∂D/∂x| + |∂D/∂y|.
function slope(dose, at, j, k, width, height) {
  const x = dose[at + (j < width - 1)] - dose[at - (j > 0)], y = dose[at + (k < height - 1) * width] - dose[at - (k > 0) * width];
  return (Math.abs(x) + Math.abs(y)) / 2 + 1e-6;
}

const rgb = (hex) => [1, 3, 5].map((k) => parseInt(hex.slice(k, k + 2), 16));

// A table of n colours through evenly spaced stops.
function scale(stops, n) {
  const table = new Uint8ClampedArray(3 * n), known = stops.map(rgb);
  for (let k = 0; k < n; k++) {
    const u = k / (n - 1) * (stops.length - 1), i = Math.min(Math.floor(u), stops.length - 2);
    for (let c = 0; c < 3; c++) table[3 * k + c] = known[i][c] + (known[i + 1][c] - known[i][c]) * (u - i);
  }
  return table;
}

const css = (table, k) => `rgb(${table[3 * k]},${table[3 * k + 1]},${table[3 * k + 2]})`;

// Opaque where it cures, and in between at the edge, which is where the dose goes through 1.
function cureMask(dose, width, height) {
  const image = new ImageData(width, height), data = image.data;
  for (let k = 0, at = 0; k < height; k++) {
    for (let j = 0; j < width; j++, at++) {
      const d = dose[at];
      // Far from the edge there is no need to know how steep the dose is.
      if (d > 2) data[4 * at + 3] = 255;
      else if (d > 0.5) data[4 * at + 3] = 255 * Math.max(0, Math.min(1, (d - 1) / slope(dose, at, j, k, width, height) + 0.5));
    }
  }
  return image;
}

// Colours up to the largest dose wanted, one colour beyond it, and a white line where it cures.
function doseImage(dose, width, height, table, over, most) {
  const image = new ImageData(width, height), beyond = rgb(over), data = image.data, n = table.length / 3;
  for (let k = 0, at = 0; k < height; k++) {
    for (let j = 0; j < width; j++, at++) {
      const d = dose[at], i = 3 * Math.max(0, Math.min(n - 1, Math.round(d / most * (n - 1))));
      const line = d > 0.5 && d < 2 ? Math.max(0, Math.min(1, 1.4 - Math.abs(d - 1) / slope(dose, at, j, k, width, height))) : 0;
      const p = 4 * at;
      for (let c = 0; c < 3; c++) {
        const shade = d > most ? beyond[c] : table[i + c];
        data[p + c] = shade + (255 - shade) * line;
      }
      data[p + 3] = 255;
    }
  }
  return image;
}
