// Numbers as people read them.

const signed = (text) => text.replace("-", "−");

// Three significant digits, never an exponent.
function digits(value, n = 3) {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const places = Math.max(0, n - 1 - Math.floor(Math.log10(Math.abs(value))));
  return signed(value.toFixed(Math.min(places, 9)));
}

// A length in µm, or in nm or mm where that reads better.
function length(mm) {
  const size = Math.abs(mm);
  if (size >= 1) return `${digits(mm)} mm`;
  return size >= 1e-4 || size === 0 ? `${digits(mm * 1000)} µm` : `${digits(mm * 1e6)} nm`;
}

// A length of one digit.
function roundWords(mm) {
  const [value, unit] = mm >= 0.9999 ? [mm, "mm"] : mm >= 0.9999e-3 ? [mm * 1e3, "µm"] : [mm * 1e6, "nm"];
  return `${Number(value.toPrecision(1))} ${unit}`;
}

// A time of a whole of so many seconds: no digit jumps while it runs.
function clock(seconds, whole) {
  const places = whole < 1 ? 4 : whole < 20 ? 2 : 1;
  if (whole < 60) return `${seconds.toFixed(places)} s`;
  // Rounded first: 59.97 s is a minute, and not 60.0 s of none.
  const tenths = Math.round(10 * seconds), minutes = Math.floor(tenths / 600);
  const rest = (tenths / 10 - 60 * minutes).toFixed(1).padStart(4, "0");
  if (whole < 3600) return `${minutes}:${rest} min`;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest.slice(0, 2)} h`;
}

// The largest of 1, 2, 5 times a power of ten that is not above a length.
function roundLength(longest) {
  const decade = 10 ** Math.floor(Math.log10(longest));
  return [5, 2, 1].map((m) => m * decade).find((step) => step <= longest * (1 + 1e-9));
}
