"use strict";
// Turns the part by its views, and goes through its layers. Both work by pointer, finger and keyboard.
(() => {
  const find = (name) => document.getElementById(name);
  const { views, pictures, layers } = JSON.parse(find("data").textContent);
  const [view, side, below] = ["view", "side", "below"].map(find);
  const [layer, which, said] = ["layer", "which", "said"].map(find);
  const sides = views.length / 2, PIXELS = 28;

  const turn = () => { view.src = views[Number(side.value) + (below.checked ? sides : 0)]; };
  const turnTo = (number, under) => {
    side.value = ((number % sides) + sides) % sides;
    below.checked = under;
    turn();
  };
  const show = () => {
    const one = layers[which.value];
    layer.src = pictures[one.picture];
    said.textContent = `${one.number} of ${layers[layers.length - 1].number}, z ${one.z} mm`;
  };

  let held = null;
  view.addEventListener("pointerdown", (event) => {
    held = { x: event.clientX, y: event.clientY, side: Number(side.value), below: below.checked };
    view.setPointerCapture(event.pointerId);
  });
  view.addEventListener("pointermove", (event) => {
    if (!held) return;
    const up = event.clientY - held.y;
    const under = Math.abs(up) > 2 * PIXELS ? up < 0 : held.below;
    turnTo(held.side - Math.round((event.clientX - held.x) / PIXELS), under);
  });
  for (const end of ["pointerup", "pointercancel"]) view.addEventListener(end, () => { held = null; });
  view.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: 1, ArrowRight: -1 }[event.key];
    const under = { ArrowUp: true, ArrowDown: false }[event.key];
    if (by === undefined && under === undefined) return;
    event.preventDefault();
    turnTo(Number(side.value) + (by || 0), under === undefined ? below.checked : under);
  });
  side.addEventListener("input", turn);
  below.addEventListener("change", turn);
  which.addEventListener("input", show);
  for (const one of document.querySelectorAll("[data-layer]")) {
    one.addEventListener("click", () => {
      which.value = one.dataset.layer;
      show();
      layer.scrollIntoView({ block: "nearest" });
    });
  }
  turn();
  show();
})();
