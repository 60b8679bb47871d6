// The laser in time: the lines that it has drawn, where it is, and what it does there.

// The last knot at or before a time.
function knotAt(t, time) {
  let low = 0, high = t.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (t[middle] <= time) low = middle; else high = middle;
  }
  return low;
}

// What the laser does at a time: place, mW, mm/s.
function laserAt(track, time) {
  const { x, y, t, power, pieces } = track;
  if (!pieces) return { x: x[0] || 0, y: y[0] || 0, power: 0, speed: 0, piece: 0 };
  const k = Math.min(knotAt(t, time), pieces - 1), long = t[k + 1] - t[k];
  const part = long > 0 ? Math.min(1, Math.max(0, (time - t[k]) / long)) : 1;
  const [u, v] = [x[k + 1] - x[k], y[k + 1] - y[k]];
  return {
    x: x[k] + u * part, y: y[k] + v * part, piece: k,
    power: power[k], speed: long > 0 ? Math.hypot(u, v) / long : 0,
  };
}

// The nearest of the lit lines: how far, when the laser was nearest, and what it did.
function nearestLine(track, px, py) {
  const { x, y, t, power, pieces } = track;
  let best = Infinity, found = null;
  for (let k = 0; k < pieces; k++) {
    if (!(power[k] > 0)) continue;
    const u = x[k + 1] - x[k], v = y[k + 1] - y[k], square = u * u + v * v;
    const part = square > 0 ? Math.max(0, Math.min(1, ((px - x[k]) * u + (py - y[k]) * v) / square)) : 0;
    const a = px - x[k] - part * u, b = py - y[k] - part * v, away = a * a + b * b;
    if (away < best) (best = away), (found = [k, part, Math.sqrt(square)]);
  }
  if (!found) return null;
  const [k, part, length] = found, long = t[k + 1] - t[k];
  return { away: Math.sqrt(best), time: t[k] + part * long, power: power[k], speed: length / long };
}

function nearestEdge(edges, px, py) {
  let best = Infinity, at = -1;
  for (let k = 0; k < edges.x.length; k++) {
    const away = (edges.x[k] - px) ** 2 + (edges.y[k] - py) ** 2;
    if (away < best) (best = away), (at = k);
  }
  return at < 0 ? null : { away: Math.sqrt(best), error: edges.error[at], missing: !!edges.missing[at] };
}

// The lines drawn up to a time, kept on a canvas of their own: playing adds to it.
class Lines {
  constructor(track) {
    this.track = track;
    this.canvas = makeCanvas(1, 1);
    this.drawn = 0;
  }

  dress(colours) {
    this.colours = colours;
    this.powers = scale(colours.power, SHADES);
    this.key = "";
  }

  shade(power) {
    const { low, high } = this.track;
    return Math.round((high > low ? (power - low) / (high - low) : 1) * (SHADES - 1));
  }

  draw(view, piece, travel) {
    const context = this.canvas.getContext("2d"), key = view.key + travel;
    if (key !== this.key || piece < this.drawn) {
      this.canvas.width = Math.round(view.width * view.dense);
      this.canvas.height = Math.round(view.height * view.dense);
      this.key = key;
      this.drawn = 0;
    }
    this.add(context, view, this.drawn, piece, travel);
    this.drawn = piece;
  }

  // The pieces from one to before another, a stroke for each shade.
  add(context, view, from, to, travel) {
    const { x, y, power } = this.track, lit = new Map();
    const dark = new Path2D();
    for (let k = from; k < to; k++) {
      let path = dark;
      if (power[k] > 0) {
        const shade = this.shade(power[k]);
        path = lit.get(shade) || new Path2D();
        lit.set(shade, path);
      }
      path.moveTo(x[k], y[k]);
      path.lineTo(x[k + 1], y[k + 1]);
    }
    view.toMm(context);
    context.lineCap = "round";
    context.lineWidth = this.width(view);
    for (const [shade, path] of lit) (context.strokeStyle = css(this.powers, shade)), context.stroke(path);
    if (travel) this.dashed(context, view, dark);
    context.setTransform(1, 0, 0, 1, 0, 0);
  }

  dashed(context, view, path) {
    context.lineWidth = 1 / view.zoom;
    context.lineCap = "butt";
    context.strokeStyle = this.colours.travel;
    context.setLineDash([5 / view.zoom, 4 / view.zoom]);
    context.stroke(path);
    context.setLineDash([]);
  }

  // mm: thin lines that stay lines, however near.
  width(view) {
    return Math.max(1.2, Math.min(3.5, 0.25 * view.fwhm * view.zoom)) / view.zoom;
  }

  // The piece that is being drawn, where the path is shown, and the laser at its end.
  head(context, view, now, { path: whole, travel }) {
    const { x, y } = this.track, k = now.piece;
    const path = new Path2D();
    path.moveTo(x[k], y[k]);
    path.lineTo(now.x, now.y);
    view.toMm(context);
    context.lineCap = "round";
    context.lineWidth = this.width(view);
    context.strokeStyle = css(this.powers, this.shade(now.power));
    if (whole && now.power > 0) context.stroke(path);
    else if (whole && travel) this.dashed(context, view, path);
    const [left, top] = view.px(now.x, now.y), spot = Math.max(5, view.fwhm / 2 * view.zoom);
    context.setTransform(view.dense, 0, 0, view.dense, 0, 0);
    context.beginPath();
    context.arc(left, top, spot, 0, 2 * Math.PI);
    context.fillStyle = now.power > 0 ? css(this.powers, this.shade(now.power)) : "#ffffff";
    context.globalAlpha = now.power > 0 && spot > 12 ? 0.55 : 0.9;
    context.fill();
    context.globalAlpha = 1;
    context.lineWidth = 2;
    context.strokeStyle = "#ffffff";
    context.stroke();
    context.lineWidth = 1;
    context.strokeStyle = "#222222";
    context.stroke();
    context.setTransform(1, 0, 0, 1, 0, 0);
  }
}
