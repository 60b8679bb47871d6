// The viewer: what people do to it, and what it shows then. `window.laserpath` says where it stands.

// s, that the whole program plays in at most, at the rate to begin with.
const PLAYED = 20;

// Steps of the slider. Whole ones: a browser leaves out the last of fractions that add up to more than the whole.
const SLIDES = 1000;

class Viewer {
  constructor(data) {
    this.data = data;
    this.section = document.getElementById("viewer");
    this.canvas = this.part("canvas");
    this.view = new View(data.box, data.fwhm);
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    data.colours = data.themes[this.dark.matches ? "dark" : "light"];
    this.ground = new Ground(data);
    this.grown = new Grown(data);
    this.lines = new Lines(data.track);
    this.shown = { layer: "cure", outline: true, error: false, path: false, travel: true, places: true };
    this.time = data.track.total;
    this.playing = this.busy = this.held = false;
    this.place = this.pinned = this.probe = null;
    this.calm = matchMedia("(prefers-reduced-motion: reduce)");
    this.dark.addEventListener("change", () => this.dress());
    this.wireLayers();
    this.wireClock();
    this.wirePlaces();
    this.wireZoom();
    wireCanvas(this);
    new ResizeObserver(() => this.resize()).observe(this.canvas.parentElement);
    this.dress();
    this.resize();
    this.tell();
  }

  // In the colours of a light or a dark screen.
  dress() {
    this.data.colours = this.data.themes[this.dark.matches ? "dark" : "light"];
    this.ground.dress();
    this.lines.dress(this.data.colours);
    this.key();
    this.change();
  }

  get ended() {
    return this.time >= this.data.track.total;
  }

  part(selector) {
    return this.section.querySelector(selector);
  }

  parts(selector) {
    return [...this.section.querySelectorAll(selector)];
  }

  resize() {
    const { clientWidth, clientHeight } = this.canvas.parentElement;
    if (!clientWidth || !clientHeight) return;
    const dense = Math.min(devicePixelRatio || 1, 2);
    this.view.resize(clientWidth, clientHeight, dense);
    this.canvas.width = Math.round(clientWidth * dense);
    this.canvas.height = Math.round(clientHeight * dense);
    this.draw(performance.now());
  }

  // Layers

  wireLayers() {
    for (const input of this.parts("[name=layer]")) {
      input.addEventListener("change", () => this.show({ layer: input.value }));
    }
    for (const input of this.parts("[data-show]")) {
      input.addEventListener("change", () => this.show({ [input.dataset.show]: input.checked }));
    }
    for (const input of this.parts("input")) input.autocomplete = "off";
    this.show(this.shown);
  }

  show(changes) {
    Object.assign(this.shown, changes);
    for (const input of this.parts("[name=layer]")) input.checked = input.value === this.shown.layer;
    for (const input of this.parts("[data-show]")) input.checked = this.shown[input.dataset.show];
    this.key();
    this.change();
  }

  // What the colours mean.
  key() {
    const { colours, design, doses, edges, done, over, track } = this.data, { layer, error, path, travel } = this.shown;
    const items = [], swatch = (colour, text) => items.push(keyItem("swatch", colour, text));
    const bar = (table, low, text) => items.push(keyBar(table, low, text));
    if (layer === "cure") {
      swatch(colours.right, design ? `${done}s as drawn` : `${done}s`);
      if (design) swatch(colours.over, "too much");
      if (design && this.ended) swatch(colours.under, "missing");
    }
    if (layer === "dose") {
      bar(doses, "0", `${over} × critical dose`);
      swatch(colours.over, `above ${over} ×`);
      items.push(keyItem("line light", "#ffffff", `edge of what ${done}s`));
    }
    if (layer === "design") swatch(colours.design, "design");
    if (error && edges) {
      bar([colours.under, colours.even, colours.over], signed(`−${length(edges.limit)}`), `+${length(edges.limit)} edge error`);
      if (edges.missing.some((m) => m)) swatch(colours.none, "no edge near");
    }
    if (path) bar(colours.power, digits(track.low, 2), `${digits(track.high, 2)} mW`);
    if (path && travel) items.push(keyItem("line dashed", colours.travel, "travel"));
    this.part(".key").replaceChildren(...items);
  }

  // The clock

  wireClock() {
    const { total } = this.data.track, slider = this.part("[name=time]");
    slider.max = SLIDES;
    slider.addEventListener("input", () => this.setTime(slider.value / SLIDES * total));
    this.part(".play").addEventListener("click", () => this.play(!this.playing));
    const rates = this.part("[name=rate]"), slow = [...rates.options].map((o) => Number(o.value));
    rates.value = slow.find((rate) => total / rate <= PLAYED) || slow.at(-1);
    this.clock();
  }

  setTime(time) {
    const ended = this.ended;
    this.time = Math.max(0, Math.min(this.data.track.total, time));
    if (this.ended !== ended) this.key();
    this.clock();
    this.change();
  }

  play(playing) {
    if (playing && this.time >= this.data.track.total) this.setTime(0);
    this.playing = playing;
    this.last = null;
    const button = this.part(".play");
    button.classList.toggle("playing", playing);
    button.setAttribute("aria-label", playing ? "Pause" : "Play");
    this.change();
  }

  clock() {
    const { track } = this.data, now = laserAt(track, this.time), slider = this.part("[name=time]");
    const words = `${clock(this.time, track.total)} of ${clock(track.total, track.total)}`;
    const lit = now.power > 0 ? `${digits(now.power)} mW` : "laser off";
    slider.value = track.total ? this.time / track.total * SLIDES : SLIDES;
    slider.setAttribute("aria-valuetext", `${words}, ${lit}`);
    this.part(".elapsed").textContent = words;
    this.part(".doing").textContent = this.time < track.total ? `${lit} at ${digits(now.speed)} mm/s` : "";
  }

  // Places

  wirePlaces() {
    for (const button of document.querySelectorAll("[data-place]")) {
      button.addEventListener("click", () => this.goTo(Number(button.dataset.place)));
    }
  }

  goTo(index) {
    const place = this.data.places[index];
    if (!place) return;
    this.select(index);
    const frame = this.canvas.parentElement, seen = frame.getBoundingClientRect();
    if (seen.top < 0 || seen.bottom > innerHeight) {
      frame.scrollIntoView({ block: "center", behavior: this.calm.matches ? "auto" : "smooth" });
    }
    this.pinned = [place.x, place.y];
    this.probe = null;
    this.tell();
    this.fly(place.x, place.y, Math.min(this.view.width, this.view.height) / (4 * this.data.fwhm));
  }

  select(index) {
    this.place = index;
    for (const button of document.querySelectorAll("[data-place]")) {
      button.setAttribute("aria-current", String(Number(button.dataset.place) === index));
    }
  }

  // Where one looks

  wireZoom() {
    const { view } = this, middle = (times) => () => this.move(() => view.zoomAt(view.width / 2, view.height / 2, times));
    this.part(".in").addEventListener("click", middle(1.6));
    this.part(".out").addEventListener("click", middle(1 / 1.6));
    this.part(".fit").addEventListener("click", () => {
      const { box } = view;
      this.fly((box[0] + box[2]) / 2, (box[1] + box[3]) / 2, view.whole, () => view.fit());
    });
  }

  // A change of the view by hand: drawn coarser until it rests, where a fine picture takes long.
  move(change) {
    this.flight = null;
    change();
    this.rest();
    this.change();
  }

  rest() {
    this.busy = true;
    clearTimeout(this.resting);
    this.resting = setTimeout(() => {
      this.busy = false;
      this.change();
    }, 150);
  }

  fly(x, y, zoom, arrived = () => {}) {
    const { view } = this, from = [view.x, view.y, Math.log(view.zoom)], to = [x, y, Math.log(zoom)];
    const land = () => (view.go(x, y, zoom), arrived(), this.change());
    if (this.calm.matches) return land();
    this.flight = { from, to, land, start: performance.now() };
    this.change();
  }

  flown(now) {
    const { from, to, start, land } = this.flight, part = Math.min(1, (now - start) / 500);
    if (part === 1) {
      this.flight = null;
      return land();
    }
    const eased = part * part * (3 - 2 * part), [x, y, zoom] = from.map((v, k) => v + (to[k] - v) * eased);
    // What is flown to comes to the middle as the zoom goes, not before.
    const share = Math.abs(to[2] - from[2]) < 1e-3 ? eased : (Math.exp(-from[2]) - Math.exp(-zoom)) / (Math.exp(-from[2]) - Math.exp(-to[2]));
    this.view.go(from[0] + (to[0] - from[0]) * share, from[1] + (to[1] - from[1]) * share, Math.exp(zoom));
    this.rest();
    this.change();
    return x + y;
  }

  // How to zoom, said to a wheel that scrolls the page.
  hint(seen) {
    const hint = this.part(".hint"), key = /Mac|iP/.test(navigator.platform) ? "⌘" : "Ctrl";
    hint.textContent = `Hold ${key} and turn the wheel to zoom, or click the map first`;
    hint.classList.toggle("seen", seen);
    clearTimeout(this.hinted);
    if (seen) this.hinted = setTimeout(() => this.hint(false), 1200);
  }

  // What is there

  pin(x, y) {
    this.pinned = [x, y];
    this.probe = null;
    this.select(null);
    this.tell();
    this.change();
  }

  tell(at = this.probe || this.pinned) {
    const { data } = this, set = (name, text) => (this.part(`[data-tell=${name}]`).textContent = text);
    if (!at) {
      for (const item of this.parts("dd[data-tell]")) item.textContent = "–";
      return set("place", "point at the map, or tap it");
    }
    const told = tellAt(data, at[0], at[1]);
    for (const item of this.parts("[data-tell]")) item.textContent = told[item.dataset.tell];
  }

  // Drawing

  change() {
    this.asked ||= requestAnimationFrame((now) => {
      this.asked = null;
      if (this.flight) this.flown(now);
      if (this.playing) this.advance(now);
      this.draw(now);
    });
  }

  advance(now) {
    const passed = this.last === null ? 0 : Math.min(0.1, (now - this.last) / 1000);
    this.last = now;
    this.setTime(this.time + passed * Number(this.part("[name=rate]").value));
    if (this.time >= this.data.track.total) this.play(false);
    this.change();
  }

  draw() {
    const { view, shown, ground, lines, time } = this, context = this.canvas.getContext("2d"), done = this.ended;
    const started = performance.now(), fine = this.canvas.width * this.canvas.height > 1.6e6 ? 2 : 1;
    const before = ground.key, coarse = (this.busy || this.playing) && this.slow ? 3 : fine;
    ground.draw(view, shown, coarse, done ? null : this.grown.until(time), time);
    if (ground.key !== before && coarse === fine) this.slow = performance.now() - started > 25;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(ground.canvas, 0, 0);
    const now = laserAt(this.data.track, time);
    if (shown.path) {
      lines.draw(view, done ? this.data.track.pieces : now.piece, shown.travel);
      context.drawImage(lines.canvas, 0, 0);
    }
    if (!done) lines.head(context, view, now, shown);
    context.setTransform(view.dense, 0, 0, view.dense, 0, 0);
    if (shown.places) drawPlaces(context, view, this.data.places, this.place, this.data.colours);
    if (this.pinned && this.place === null) drawCross(context, view, ...this.pinned);
    this.rule();
    // One finger scrolls the page past the whole map, and moves a map that is zoomed in.
    this.canvas.style.touchAction = view.zoom <= 1.02 * view.whole ? "pan-y" : "none";
  }

  rule() {
    const long = roundLength(Math.min(150, 0.35 * this.view.width) / this.view.zoom), rule = this.part(".rule");
    rule.style.width = `${long * this.view.zoom}px`;
    rule.textContent = roundWords(long);
  }
}

function tellAt(data, x, y) {
  const { origin, fwhm, critical, order, dose, design, edges, track } = data;
  const places = Math.max(3, 2 - Math.floor(Math.log10(fwhm))), d = doseAt(dose, x, y);
  const edge = edges && nearestEdge(edges, x, y), line = nearestLine(track, x, y);
  const energy = order === 1 ? `${digits(d * critical * 100)} mJ/cm²` : `${digits(d * critical)} mW^${order} s/mm^${2 * order}`;
  const wanted = !design ? "no design" : isInside(design, x, y) ? "yes, drawn" : "no, outside the drawing";
  const away = (at) => (at > fwhm / 4 ? `, ${length(at)} away` : "");
  return {
    place: signed(`${(x + origin[0]).toFixed(places)}, ${(y + origin[1]).toFixed(places)} mm`),
    dose: `${digits(Math.max(0, d))} × critical, ${energy}`,
    state: d >= 1 ? `${data.done}s` : `does not ${data.done}`,
    wanted,
    error: !edge ? "–" : (edge.missing ? "no edge prints" : `${edge.error > 0 ? "+" : ""}${length(edge.error)}`) + away(edge.away),
    line: !line ? "none" : `${digits(line.power)} mW at ${digits(line.speed)} mm/s${away(line.away)}`,
    when: !line ? "–" : `at ${clock(line.time, track.total)}`,
  };
}

const flat = makeCanvas(1, 1).getContext("2d");

function isInside(design, x, y) {
  return flat.isPointInPath(design.path, x, y, "evenodd");
}
