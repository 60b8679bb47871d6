// Without what it needs (a browser before 2023) the page keeps its pictures.

async function start() {
  const section = document.getElementById("viewer");
  const data = await decoded(JSON.parse(document.getElementById("payload").textContent));
  document.documentElement.classList.add("live");
  const viewer = new Viewer(data), { origin } = data;
  window.laserpath = {
    ready: true,
    get time() { return viewer.time; },
    get total() { return data.track.total; },
    get position() {
      const now = laserAt(data.track, viewer.time);
      return { x: now.x + origin[0], y: now.y + origin[1], power: now.power, speed: now.speed };
    },
    get layer() { return viewer.shown.layer; },
    get shown() { return { ...viewer.shown }; },
    get view() { return { x: viewer.view.x + origin[0], y: viewer.view.y + origin[1], zoom: viewer.view.zoom }; },
    get place() { return viewer.place; },
    // mm² that are cured at the time shown, on the pixels of the page.
    get cured() { return curedArea(data.dose, viewer.ended ? null : viewer.grown.until(viewer.time)); },
    get playing() { return viewer.playing; },
    get moving() { return Boolean(viewer.flight || viewer.busy || viewer.asked); },
    dose: (x, y) => doseAt(data.dose, x - origin[0], y - origin[1]),
  };
  section.dataset.ready = "yes";
}

// On paper all that is folded is open; afterwards it is as it was.
let folded = [];
addEventListener("beforeprint", () => {
  folded = [...document.querySelectorAll("details:not([open])")];
  for (const one of folded) one.open = true;
});
addEventListener("afterprint", () => {
  for (const one of folded) one.open = false;
});

for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    const text = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(text);
      button.textContent = "Selected: press Ctrl-C";
    }
  });
  button.hidden = false;
}

if (document.getElementById("payload")) {
  start().catch((error) => {
    document.documentElement.classList.remove("live");
    console.error(error);
    window.laserpath = { ready: false, error: String(error) };
  });
}
