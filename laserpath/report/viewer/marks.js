// What lies on the map and beside it: rings and numbers of the worst places, the cross, the key.

const RING = 7, LABEL = 9;

// Rings around the places, as wide as the miss where that can be seen, and their numbers beside them.
function drawPlaces(context, view, places, current, colours) {
  const rings = places.map((place) => {
    const [x, y] = view.px(place.x, place.y);
    const miss = Math.min(Math.abs(place.error), 0.3 * view.fwhm) * view.zoom;
    return { x, y, radius: Math.max(RING, Math.min(40, 1.4 * miss)) };
  });
  const taken = rings.map((ring) => ({ ...ring }));
  places.forEach((place, k) => {
    const label = freePlace(rings[k], place, taken);
    taken.push({ ...label, radius: LABEL });
    place.label = label;
    drawPlace(context, rings[k], label, k + 1, k === current, colours);
  });
}

// Outside the design if it can be, on no other ring or number.
function freePlace(ring, place, taken) {
  const away = ring.radius + 14, base = Math.atan2(-place.v, place.u);
  const spots = [0, 0.8, -0.8, 1.6, -1.6, 2.4, -2.4, Math.PI].map((turn) => {
    return { x: ring.x + away * Math.cos(base + turn), y: ring.y + away * Math.sin(base + turn) };
  });
  const room = (spot) => Math.min(...taken.map((one) => Math.hypot(one.x - spot.x, one.y - spot.y) - one.radius - LABEL));
  return spots.find((spot) => room(spot) > 0) || spots[0];
}

function drawPlace(context, ring, label, number, current, { ink, halo }) {
  const long = Math.hypot(label.x - ring.x, label.y - ring.y), [u, v] = [(label.x - ring.x) / long, (label.y - ring.y) / long];
  const path = new Path2D();
  path.arc(ring.x, ring.y, ring.radius, 0, 2 * Math.PI);
  path.moveTo(ring.x + ring.radius * u, ring.y + ring.radius * v);
  path.lineTo(label.x, label.y);
  for (const [width, colour] of [[3, `${halo}b0`], [1.2, ink]]) {
    context.lineWidth = width;
    context.strokeStyle = colour;
    context.stroke(path);
  }
  context.beginPath();
  context.arc(label.x, label.y, LABEL, 0, 2 * Math.PI);
  context.fillStyle = current ? ink : halo;
  context.fill();
  context.stroke();
  context.fillStyle = current ? halo : ink;
  context.font = "600 11px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText(String(number), label.x, label.y + 0.5);
}

function drawCross(context, view, px, py) {
  const [x, y] = view.px(px, py);
  for (const [width, colour] of [[3, "#ffffff"], [1.2, "#c2185b"]]) {
    context.lineWidth = width;
    context.strokeStyle = colour;
    context.beginPath();
    context.moveTo(x - 10, y);
    context.lineTo(x + 10, y);
    context.moveTo(x, y - 10);
    context.lineTo(x, y + 10);
    context.stroke();
  }
}

function keyItem(kind, colour, text) {
  const item = document.createElement("span"), mark = document.createElement("i");
  mark.className = kind;
  mark.style.setProperty("--colour", colour);
  item.append(mark, text);
  return item;
}

function keyBar(stops, low, text) {
  const item = keyItem("scale", "none", text);
  item.firstChild.style.background = `linear-gradient(to right, ${stops.join()})`;
  item.prepend(low);
  return item;
}
