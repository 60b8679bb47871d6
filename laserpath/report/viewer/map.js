// The map: what is seen of the exposure, and where. y is up in mm and down on the screen.

const SHADES = 24;

function makeCanvas(width, height) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  return canvas;
}

function onCanvas(image) {
  const canvas = makeCanvas(image.width, image.height);
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

// What is drawn on a canvas, in one colour.
function tinted(canvas, colour) {
  const context = canvas.getContext("2d");
  context.globalCompositeOperation = "source-in";
  context.fillStyle = colour;
  context.fillRect(0, 0, canvas.width, canvas.height);
  return canvas;
}

// (x, y): mm in the middle.  zoom: CSS pixels per mm.  width, height: CSS pixels.  dense: device pixels per CSS pixel.
class View {
  constructor(box, fwhm) {
    this.box = box;
    this.fwhm = fwhm;
    this.width = this.height = this.dense = 1;
    this.fit();
  }

  resize(width, height, dense) {
    const fitted = this.fitted;
    Object.assign(this, { width, height, dense });
    if (fitted) this.fit();
  }

  get whole() {
    const [x0, y0, x1, y1] = this.box, rim = 4 * this.fwhm;
    const room = Math.min(this.width, this.height) > 300 ? 24 : 8;
    return Math.min((this.width - 2 * room) / (x1 - x0 + rim), (this.height - 2 * room) / (y1 - y0 + rim));
  }

  fit() {
    const [x0, y0, x1, y1] = this.box;
    this.go((x0 + x1) / 2, (y0 + y1) / 2, this.whole);
    this.fitted = true;
  }

  // Within the design's surroundings, and not so near that a pixel is a thousandth of the spot.
  go(x, y, zoom) {
    const [x0, y0, x1, y1] = this.box;
    this.x = Math.max(x0, Math.min(x1, x));
    this.y = Math.max(y0, Math.min(y1, y));
    this.zoom = Math.max(this.whole / 4, Math.min(500 / this.fwhm, zoom));
    this.fitted = false;
  }

  // Zoom so that what is under (left, top) stays there.
  zoomAt(left, top, times) {
    const [x, y] = this.mm(left, top);
    const zoom = Math.max(this.whole / 4, Math.min(500 / this.fwhm, this.zoom * times));
    this.go(x - (left - this.width / 2) / zoom, y + (top - this.height / 2) / zoom, zoom);
  }

  pan(right, down) {
    this.go(this.x - right / this.zoom, this.y + down / this.zoom, this.zoom);
  }

  mm(left, top) {
    return [this.x + (left - this.width / 2) / this.zoom, this.y - (top - this.height / 2) / this.zoom];
  }

  px(x, y) {
    return [this.width / 2 + (x - this.x) * this.zoom, this.height / 2 - (y - this.y) * this.zoom];
  }

  // A canvas that is drawn on in mm.
  toMm(context) {
    const z = this.zoom * this.dense;
    context.setTransform(z, 0, 0, -z, (this.width / 2 - this.x * this.zoom) * this.dense, (this.height / 2 + this.y * this.zoom) * this.dense);
  }

  get key() {
    return [this.x, this.y, this.zoom, this.width, this.height, this.dense].join();
  }
}

// The layers below the laser: drawn once for a view, and kept.
class Ground {
  constructor(data) {
    this.data = data;
    this.canvas = makeCanvas(1, 1);
    this.doses = scale(data.doses, 256);
    this.dress();
  }

  // In the colours that the data have now.
  dress() {
    const { under, even, over } = this.data.colours;
    this.errors = scale([under, even, over], SHADES);
    this.key = this.seen = "";
  }

  // coarse: screen pixels per point of the dose, along each axis.  grown: what is exposed yet, null at the end.
  draw(view, shown, coarse, grown, time) {
    const key = [view.key, shown.layer, shown.outline, shown.error, coarse, grown && time].join();
    if (key === this.key) return;
    this.key = key;
    this.canvas.width = Math.round(view.width * view.dense);
    this.canvas.height = Math.round(view.height * view.dense);
    const context = this.canvas.getContext("2d"), { colours, design, edges } = this.data;
    context.fillStyle = colours.paper;
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    if (shown.layer === "design") this.fill(context, view, colours.design);
    if (shown.layer === "cure") this.cure(context, view, coarse, grown);
    if (shown.layer === "dose") this.dose(context, view, coarse, grown);
    if (design && shown.outline) this.outline(context, view, shown.layer === "dose" ? (grown ? "#ffffff" : "#000000") : colours.ink);
    if (edges && shown.error) this.error(context, view);
    context.setTransform(1, 0, 0, 1, 0, 0);
  }

  fill(context, view, colour) {
    if (!this.data.design) return;
    view.toMm(context);
    context.fillStyle = colour;
    context.fill(this.data.design.path, "evenodd");
  }

  outline(context, view, colour) {
    view.toMm(context);
    context.lineWidth = 1 / view.zoom;
    context.strokeStyle = colour;
    context.stroke(this.data.design.path);
  }

  // (doses, width, height). The dose at the end is kept while only the time goes on.
  points(view, coarse, grown) {
    const step = coarse / (view.zoom * view.dense), [x, y] = view.mm(0, 0);
    const width = Math.ceil(this.canvas.width / coarse), height = Math.ceil(this.canvas.height / coarse);
    const at = (field) => sampled(field, x + step / 2, y - step / 2, step, width, height), seen = [view.key, coarse].join();
    if (seen !== this.seen) (this.seen = seen), (this.last = at(this.data.dose));
    if (!grown) return [this.last, width, height];
    const doses = at(grown);
    for (let k = 0; k < doses.length; k++) doses[k] *= this.last[k];
    return [doses, width, height];
  }

  put(context, small, coarse) {
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(small, 0, 0, small.width * coarse, small.height * coarse);
  }

  dose(context, view, coarse, grown) {
    const { colours, over } = this.data;
    this.put(context, onCanvas(doseImage(...this.points(view, coarse, grown), this.doses, colours.over, over)), coarse);
  }

  // Outside the design what cures is too much; inside, what does not by the end is missing.
  cure(context, view, coarse, grown) {
    const { colours, design } = this.data, mask = onCanvas(cureMask(...this.points(view, coarse, grown)));
    this.put(context, tinted(mask, design ? colours.over : colours.right), coarse);
    if (!design) return;
    context.save();
    view.toMm(context);
    context.clip(design.path, "evenodd");
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = grown ? colours.paper : colours.under;
    context.fillRect(0, 0, this.canvas.width, this.canvas.height);
    this.put(context, tinted(mask, colours.right), coarse);
    context.restore();
  }

  // Strokes along the outline, the large errors last, so that they lie on top.
  error(context, view) {
    const { x, y, normal, error, missing, limit, spacing } = this.data.edges;
    const classes = Array.from({ length: SHADES + 1 }, () => new Path2D()), half = 0.55 * spacing;
    for (let k = 0; k < x.length; k++) {
      const part = Math.max(0, Math.min(1, (error[k] / limit + 1) / 2));
      const path = classes[missing[k] ? SHADES : Math.round(part * (SHADES - 1))];
      const u = -Math.sin(normal[k]) * half, v = Math.cos(normal[k]) * half;
      path.moveTo(x[k] - u, y[k] - v);
      path.lineTo(x[k] + u, y[k] + v);
    }
    view.toMm(context);
    context.lineWidth = Math.max(3, Math.min(7, 0.12 * this.data.fwhm * view.zoom)) / view.zoom;
    const order = Array.from({ length: SHADES }, (_, k) => k);
    order.sort((a, b) => Math.abs(a - (SHADES - 1) / 2) - Math.abs(b - (SHADES - 1) / 2));
    for (const k of order) (context.strokeStyle = css(this.errors, k)), context.stroke(classes[k]);
    (context.strokeStyle = this.data.colours.none), context.stroke(classes[SHADES]);
  }
}
