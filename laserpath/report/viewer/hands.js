// Mouse, fingers and keys on the map.

function wireCanvas(viewer) {
  const { canvas, view } = viewer, down = new Map();
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  let travelled = 0;

  canvas.addEventListener("pointerdown", (event) => {
    if (event.button > 0) return;
    canvas.setPointerCapture(event.pointerId);
    hold(true);
    if (!down.size) travelled = 0;
    down.set(event.pointerId, at(event));
  });

  canvas.addEventListener("pointermove", (event) => {
    const now = at(event), before = down.get(event.pointerId);
    if (!before) {
      if (event.pointerType === "mouse") (viewer.probe = view.mm(...now)), viewer.tell();
      return;
    }
    const others = [...down].filter(([id]) => id !== event.pointerId).map(([, place]) => place);
    down.set(event.pointerId, now);
    travelled += Math.hypot(now[0] - before[0], now[1] - before[1]);
    // A finger that taps trembles.
    if (others.length === 0 && travelled > 6) viewer.move(() => view.pan(now[0] - before[0], now[1] - before[1]));
    if (others.length === 1) viewer.move(() => pinch(view, others[0], before, now));
  });

  // The wheel is the page's until somebody clicks into the map, and again when the mouse has left it.
  const hold = (held) => ((viewer.held = held), held && viewer.hint(false));
  const up = (event) => {
    const alone = down.size === 1 && down.has(event.pointerId);
    down.delete(event.pointerId);
    if (alone && travelled <= 6 && event.type === "pointerup") tap(viewer, at(event));
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "mouse") (viewer.probe = null), viewer.tell(), hold(false);
  });
  canvas.addEventListener("wheel", (event) => {
    if (!viewer.held && !event.ctrlKey && !event.metaKey) return viewer.hint(true);
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : 1;
    viewer.move(() => view.zoomAt(...at(event), Math.exp(-Math.max(-120, Math.min(120, event.deltaY * lines)) / 300)));
  }, { passive: false });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hold(false);
    else if (!event.ctrlKey && !event.metaKey && !event.altKey && heeds(viewer, event)) pressed(viewer, event);
  });
}

function tap(viewer, [left, top]) {
  const { view, data, shown } = viewer;
  const near = data.places.findIndex(({ x, y, label }) => {
    const [px, py] = view.px(x, y), far = Math.hypot(px - left, py - top);
    return far < RING + 3 || (label && Math.hypot(label.x - left, label.y - top) < LABEL + 4);
  });
  if (shown.places && near >= 0) return viewer.goTo(near);
  return viewer.pin(...view.mm(left, top));
}

// One finger stays, the other moves: what is under both stays under both.
function pinch(view, still, before, now) {
  const span = (p) => Math.hypot(p[0] - still[0], p[1] - still[1]);
  const middle = (p) => [(p[0] + still[0]) / 2, (p[1] + still[1]) / 2];
  const [from, to] = [middle(before), middle(now)];
  view.pan(to[0] - from[0], to[1] - from[1]);
  if (span(before) > 1) view.zoomAt(...to, span(now) / span(before));
}

// Whether a key is the map's: nothing else that has the focus takes it, and the map is seen. The page scrolls by
// the arrows as long as the map shows all, which then has nowhere to move.
function heeds({ canvas, view }, { key, target }) {
  if (target === canvas) return true;
  if (target.closest("select, textarea, [contenteditable], input:not([type=checkbox], [type=radio])")) return false;
  const moves = key.startsWith("Arrow") || key === "Home", taken = target.closest("button, a, summary, input");
  if ((taken && (moves || key === " ")) || (moves && view.fitted)) return false;
  const box = canvas.getBoundingClientRect(), middle = (box.top + box.bottom) / 2;
  return middle > 0 && middle < innerHeight;
}

// Keys move the map under a cross in its middle, which is what is told.
function pressed(viewer, event) {
  const { view } = viewer, step = Math.min(view.width, view.height) / 8, middle = [view.width / 2, view.height / 2];
  const moves = {
    ArrowLeft: () => view.pan(step, 0), ArrowRight: () => view.pan(-step, 0),
    ArrowUp: () => view.pan(0, step), ArrowDown: () => view.pan(0, -step),
    "+": () => view.zoomAt(...middle, 1.6), "=": () => view.zoomAt(...middle, 1.6),
    "-": () => view.zoomAt(...middle, 1 / 1.6), 0: () => view.fit(), Home: () => view.fit(),
  };
  if (event.key === " ") viewer.play(!viewer.playing);
  else if (moves[event.key]) {
    viewer.move(moves[event.key]);
    viewer.pin(view.x, view.y);
  } else return;
  event.preventDefault();
}
