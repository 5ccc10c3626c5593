// What every view draws with: elements, numbers as people read them, scales and axes.

const SVG = "http://www.w3.org/2000/svg";

function made(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== null && value !== undefined && value !== false) node.setAttribute(name, value);
  }
  node.append(...children.filter((it) => it !== null && it !== undefined));
  return node;
}

// JupyterLab takes arrow keys for its own unless what has the focus says that it needs them.
const KEYS = { "data-lm-suppress-shortcuts": true };
const TAKES_KEYS = ["button", "input", "select", "summary"];

/** An element of the page; texts become text, never markup. */
function html(name, attributes, ...children) {
  const all = TAKES_KEYS.includes(name) ? { ...KEYS, ...attributes } : attributes;
  return made(document.createElement(name), all, children);
}

/** Puts others in place of what a node holds. What had the keyboard has it again, if it is there by its name. */
function refill(node, ...children) {
  const name = node.contains(document.activeElement) && document.activeElement.getAttribute("aria-label");
  node.replaceChildren(...children);
  if (name) [...node.querySelectorAll("[aria-label]")].find((it) => it.getAttribute("aria-label") === name)?.focus();
}

/** An element of a figure. */
function shape(name, attributes, ...children) {
  return made(document.createElementNS(SVG, name), attributes, children);
}

/** A number to so many significant digits, without needless zeros; a count is written whole. */
function digits(value, count = 4) {
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (Number.isInteger(value) && size < 1e6) return value.toLocaleString("en-US");
  if (size >= 1e9 || size < 1e-4) return powered(value, count);
  return value.toLocaleString("en-US", { maximumSignificantDigits: count });
}

function powered(value, count = 4) {
  return value.toExponential(count - 1).replace(/\.?0+e/, "e").replace("e+", "e");
}

// A number at an axis, where there is little room.
function atTick(value) {
  const plain = digits(value);
  return plain.length > 9 ? powered(value) : plain;
}

// From the unit of a column to the one a person would choose.
const LARGER = {
  ns: [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [0, "ns"]],
  s: [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [0, "ns"]],
  B: [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [0, "B"]],
};
const SMALLEST = { ns: 1, s: 1e-9, B: 1 };

/** The factor and unit in which numbers up to `most` are read most easily. */
function readable(most, unit) {
  const found = LARGER[unit]?.find(([least]) => Math.abs(most) >= least);
  if (!found || most === 0) return [1, unit ?? ""];
  return [1 / (found[0] || SMALLEST[unit]), found[1]];
}

/** A value of a column with its unit. */
function worded(value, unit) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (!unit && Number.isInteger(value) && Math.abs(value) < 1e12) return value.toLocaleString("en-US");
  const [factor, shown] = readable(value, unit);
  return shown ? `${digits(value * factor)} ${shown}` : digits(value);
}

// Endings of names that say no more than the unit does.
const UNIT_WORDS = /_(tokens_per_s|gb_per_s|ns|us|ms|s|ps|bytes|kib|mib|gib|gb|gb_s|mt_s|mhz|ghz|gops|tops|pj|nj|mj|j|w|usd|percent)$/;
// Words that have a spelling of their own: those of the figures, and some more.
const SPELLED = new Map([
  "CPU", "DIMM", "DMA", "DRAM", "FFN", "GEMM", "GEMV", "GPU", "KV", "L1", "L2", "LM", "NDP", "NPU", "NUMA", "PCIe",
  "PIM", "SLC", "TOPS", "TTFT", "tCCD", "tCK", "tFAW", "tRAS", "tRC", "tRCD", "tREFI", "tRFCab", "tRP", "tRPab",
  "tRRD", "tRTP", "tRTRS", "tRTW", "tWL", "tWR", "tWTR", "SoC", "MAC", "MLP", "FC", "DDB", "OWR",
].map((it) => [it.toLowerCase(), it]));

/** `time_ns` as "Time", `memory.trcd_ns` as "tRCD", `gpu.memory_gb` as "GPU memory". */
function label(name) {
  const [leaf = name, owner] = name.split(".").filter((it) => it !== "value").reverse();
  const bare = leaf.replace(UNIT_WORDS, "");
  // A rate is nothing without what it is per.
  const words = (/_per$/.test(bare) ? leaf : bare).split("_").map(spelled);
  // `memory` and `bandwidth` are of several things: one word says whose it is, too.
  if (owner && words.length === 1 && words[0] === bare) words.unshift(...owner.split("_").map(spelled));
  const [first, ...others] = words;
  return [/[A-Z]/.test(first) ? first : first.charAt(0).toUpperCase() + first.slice(1), ...others].join(" ");
}

/** A word of a name as it is written, one or several of what it names. */
function spelled(word) {
  const plural = word.endsWith("s") ? SPELLED.get(word.slice(0, -1)) : undefined;
  return SPELLED.get(word) ?? (plural ? `${plural}s` : word);
}

/** A label within a sentence. */
function inline(name) {
  const words = label(name);
  return /^[A-Z][a-z]/.test(words) ? words.charAt(0).toLowerCase() + words.slice(1) : words;
}

/** The same with its unit, as axes are labelled. */
function withUnit(name, unit) {
  return unit ? `${label(name)} (${unit})` : label(name);
}

/** From values to places; `inverse` leads back. */
function scale(kind, from, to) {
  const [a, b] = kind === "log" ? from.map(Math.log) : from;
  const width = b - a || 1;
  const place = (value) => to[0] + (((kind === "log" ? Math.log(value) : value) - a) / width) * (to[1] - to[0]);
  const inverse = (at) => {
    const value = a + ((at - to[0]) / (to[1] - to[0])) * width;
    return kind === "log" ? Math.exp(value) : value;
  };
  return { kind, from, to, place, inverse };
}

/** Round numbers within a scale, about so many. */
function ticks({ kind, from: [low, high] }, count = 5) {
  if (kind === "log") {
    const decades = Math.log10(high / low);
    if (decades >= 1) {
      const step = Math.max(1, Math.ceil(decades / count));
      const within = decades < 2.5 ? [1, 2, 5] : [1];
      const found = [];
      for (let it = Math.floor(Math.log10(low)); it <= Math.log10(high) + 1e-9; it += step) {
        found.push(...within.map((digit) => digit * 10 ** it));
      }
      return found.filter((it) => low * (1 - 1e-9) <= it && it <= high * (1 + 1e-9));
    }
  }
  const width = high - low;
  if (!(width > 0)) return [low];
  const rough = width / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((it) => it * power).find((it) => it >= rough) ?? 10 * power;
  const found = [];
  for (let it = Math.ceil(low / step - 1e-9); it * step <= high + 1e-9 * width; it += 1) found.push(it * step);
  return found;
}

/** Whether numbers are spread so that equal factors are better seen than equal steps. */
function isSpread(values) {
  const positive = values.filter((it) => it > 0);
  return positive.length === values.length && positive.length > 2 && Math.max(...values) / Math.min(...values) > 30;
}

/** Every so many of a list, its ends kept. */
function thinned(all, most) {
  if (all.length <= most) return all;
  const step = Math.ceil((all.length - 1) / (most - 1));
  return all.filter((_, at) => at % step === 0);
}

/** Copies a text, also where a page may not use the clipboard by itself. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = html("textarea", { style: "position: fixed; opacity: 0" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}

/** A button that copies, and says so. */
function copyButton(name, text) {
  const button = html("button", { type: "button", class: "ms-button" }, name);
  button.addEventListener("click", async () => {
    await copy(text());
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = name; }, 1200);
  });
  return button;
}

/** A list to choose from. */
function chooser(options, chosen, change, attributes = {}) {
  const select = html("select", { class: "ms-select", ...attributes });
  for (const [value, text] of options) select.append(html("option", { value }, text));
  select.value = chosen;
  select.addEventListener("change", () => change(select.value));
  return select;
}
