// What has been exposed up to a time. The page carries the dose at the end; each place has got a share of it by a
// time, as if the track were written by a Gaussian spot. So the last picture is the measured dose, whatever the spot.

// Radius, in standard deviations of the spot, beyond which a point of light leaves nothing.
const REACH = 3.5;

class Grown {
  constructor({ dose, fwhm, order, track }) {
    Object.assign(this, { field: dose, sigma: fwhm / Math.sqrt(8 * Math.log(2)), order, track });
    this.sum = new Float32Array(dose.rows * dose.columns);
    this.share = new Float32Array(this.sum.length);
    this.time = 0;
    this.all = null;
  }

  // The share of the dose that each pixel has got by a time, 0 to 1. It never falls as the time grows.
  until(time) {
    if (!this.all) {
      this.expose(0, this.track.total);
      this.all = this.sum.slice();
      this.time = this.track.total;
    }
    if (time < this.time) (this.time = 0), this.sum.fill(0);
    this.expose(this.time, time);
    this.time = time;
    const { sum, all, share } = this, least = 1e-6 * this.most(), part = time / this.track.total;
    for (let k = 0; k < sum.length; k++) share[k] = all[k] > least ? Math.min(1, sum[k] / all[k]) : part;
    return { ...this.field, values: share };
  }

  most() {
    return (this.highest ||= this.all.reduce((most, value) => Math.max(most, value), 0));
  }

  // Adds what is exposed between two times.
  expose(from, to) {
    const { t, power, pieces } = this.track;
    if (!pieces || to <= from) return;
    for (let k = Math.min(knotAt(t, from), pieces - 1); k < pieces && t[k] < to; k++) {
      const long = t[k + 1] - t[k], a = Math.max(0, (from - t[k]) / long), b = Math.min(1, (to - t[k]) / long);
      if (power[k] > 0 && long > 0 && b > a) this.line(k, a, b, power[k] ** this.order * (b - a) * long);
    }
  }

  // The part of a piece between a and b, in points less than a standard deviation apart.
  line(k, a, b, energy) {
    const { x, y } = this.track, u = x[k + 1] - x[k], v = y[k + 1] - y[k];
    const n = Math.max(1, Math.ceil(Math.hypot(u, v) * (b - a) / this.sigma));
    for (let i = 0; i < n; i++) {
      const part = a + (b - a) * (i + 0.5) / n;
      this.point(x[k] + part * u, y[k] + part * v, energy / n);
    }
  }

  point(px, py, energy) {
    const { x, y, pitch, rows, columns } = this.field, s = this.sigma / pitch, reach = REACH * s;
    const j = (px - x) / pitch, i = (py - y) / pitch, scale = -0.5 / (s * s);
    const left = Math.max(0, Math.ceil(j - reach)), right = Math.min(columns - 1, Math.floor(j + reach));
    const low = Math.max(0, Math.ceil(i - reach)), high = Math.min(rows - 1, Math.floor(i + reach));
    const across = [];
    for (let c = left; c <= right; c++) across.push(Math.exp(scale * (c - j) ** 2));
    for (let r = low; r <= high; r++) {
      const weight = energy * Math.exp(scale * (r - i) ** 2), row = r * columns;
      for (let c = left; c <= right; c++) this.sum[row + c] += weight * across[c - left];
    }
  }
}

// mm² that cure of a dose, of which each place has its share (null: all).
function curedArea(dose, share) {
  const { rows, columns, pitch, x, y } = dose, top = y + (rows - 1) * pitch;
  const all = sampled(dose, x, top, pitch, columns, rows), part = share && sampled(share, x, top, pitch, columns, rows);
  let n = 0;
  for (let k = 0; k < all.length; k++) n += all[k] * (part ? part[k] : 1) >= 1;
  return n * pitch * pitch;
}
