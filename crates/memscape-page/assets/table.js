// A table: parallel axes and a scatter, both brushed, on canvas so that 10^5 rows stay quick.
//
// Lines between two axes are counted by where they begin and end, in LEVELS steps of the axis, and
// each pair of ends is drawn once, the darker the more rows it stands for: what is drawn does not
// grow with the rows.

const LEVELS = 128;
const MOST_AXES = 12;
const ROWS_SHOWN = 10;
// Pixels between two axes, at least.
const STEP = 84;

class TableView {
  /** `bytes` holds a column after the other as little-endian doubles; texts are codes, null is NaN. */
  constructor(el, spec, bytes, changed = () => {}) {
    this.spec = spec;
    this.changed = changed;
    this.rows = spec.rows;
    this.columns = spec.columns.map((it, at) => this.read(it, bytes, at));
    this.varying = this.columns.filter((it) => it.low < it.high);
    // What was varied stands first in a sweep's table; what takes many values came out of it.
    const results = this.varying.filter((it) => !it.categories && it.rich);
    const first = this.varying.slice(0, 5);
    this.axes = [...first, ...results.filter((it) => !first.includes(it)).slice(0, 2)];
    const numbers = this.varying.filter((it) => !it.categories);
    const [x, y] = results.length > 1 ? results : [...numbers, ...this.varying];
    this.scatter = { x: x ?? this.columns[0], y: y ?? x ?? this.columns[0], colour: null };
    this.brushes = new Map();
    this.selected = new Uint8Array(this.rows).fill(1);
    this.count = this.rows;
    this.build(el);
    this.draw();
    const observer = new ResizeObserver(() => {
      if (this.root.clientWidth && this.root.clientWidth !== this.width) this.draw();
    });
    observer.observe(this.root);
    this.close = () => observer.disconnect();
  }

  read(column, bytes, at) {
    const values = new Float64Array(bytes, at * this.rows * 8, this.rows);
    let [low, high] = [Infinity, -Infinity];
    const distinct = new Set();
    for (const value of values) {
      if (Number.isNaN(value)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
      if (distinct.size <= 24) distinct.add(value);
    }
    const some = [...distinct];
    // What takes few values is told by them; what takes many and is spread, by its powers of ten.
    const log = !column.categories && low > 0 && high / low > (distinct.size <= 24 ? 7 : 100);
    const from = log ? [low, high] : [low, high > low ? high : low + 1];
    return { ...column, index: at, values, low, high, many: distinct.size > 24, rich: distinct.size > Math.min(24, this.rows / 2), few: some.sort((a, b) => a - b), kind: log ? "log" : "linear", from };
  }

  build(el) {
    this.status = html("span", { class: "ms-status", "aria-live": "polite" });
    this.parallel = html("canvas", { class: "ms-parallel", role: "img", "aria-label": "Parallel axes" });
    this.dots = html("canvas", { class: "ms-dots", role: "img", "aria-label": "Scatter" });
    this.adder = html("select", { class: "ms-select", "aria-label": "Add an axis" });
    this.adder.addEventListener("change", () => this.add(Number(this.adder.value)));
    const options = this.columns.map((it) => [String(it.index), it.name]);
    const choose = (key, words) => chooser(options, String(this.scatter[key].index), (it) => {
      const before = this.scatter[key];
      this.scatter[key] = this.columns[Number(it)];
      this.letGo(before);
    }, { "aria-label": words });
    const colours = chooser([["", "no colour"], ...options], "", (it) => {
      this.scatter.colour = it === "" ? null : this.columns[Number(it)];
      this.draw();
    }, { "aria-label": "Colour of the scatter" });
    this.chips = html("div", { class: "ms-chips" });
    this.listing = html("div", { class: "ms-listing" });
    this.root = html("div", { class: "ms-tableview" },
      html("div", { class: "ms-buttons" }, this.status,
        html("button", { type: "button", class: "ms-button", onclick: () => this.clear() }, "Show all"),
        copyButton("Copy as Python", () => asFilter(this.brushes, this.columns))),
      html("div", { class: "ms-choosers" }, this.chips, this.adder),
      html("div", { class: "ms-wide" }, this.parallel),
      html("div", { class: "ms-choosers" }, "Scatter of ", choose("y", "Up"), " over ", choose("x", "Across"), " · ", colours),
      this.dots, this.listing);
    if (this.spec.left_out.length) {
      this.root.append(html("p", { class: "ms-note" }, `Not shown, as they hold too many different texts, or no plain values: ${this.spec.left_out.join(", ")}`));
    }
    el.append(this.root);
    dragged(this.parallel, (from, to) => this.brushAxis(from, to));
    dragged(this.dots, (from, to) => this.brushDots(from, to));
  }

  // What is chosen.

  add(index) {
    this.axes.push(this.columns[index]);
    this.draw();
  }

  clear() {
    this.brushes.clear();
    this.select();
  }

  /** A column that is not drawn any more keeps nothing from being shown. */
  letGo(column) {
    if (![...this.axes, this.scatter.x, this.scatter.y].includes(column)) this.brushes.delete(column.index);
    this.select();
  }

  select() {
    const since = performance.now();
    this.selected.fill(1);
    for (const [index, [low, high]] of this.brushes) {
      const { values } = this.columns[index];
      for (let row = 0; row < this.rows; row += 1) {
        if (!(low <= values[row] && values[row] <= high)) this.selected[row] = 0;
      }
    }
    let count = 0;
    for (let row = 0; row < this.rows; row += 1) count += this.selected[row];
    this.count = count;
    this.draw();
    this.root.dataset.brushMs = (performance.now() - since).toFixed(1);
    this.changed(Object.fromEntries([...this.brushes].map(([index, [low, high]]) => {
      const { name, categories } = this.columns[index];
      return [name, categories ? categories.filter((_, code) => low <= code && code <= high) : { min: low, max: high }];
    })));
  }

  brush(column, a, b) {
    const [low, high] = a < b ? [a, b] : [b, a];
    this.brushes.set(column.index, [low, high]);
  }

  brushAxis([x, y], [, end]) {
    const { left, step } = this.frame;
    const column = this.axes[Math.max(0, Math.min(this.axes.length - 1, Math.round((x - left) / step)))];
    if (!column) return;
    if (Math.abs(end - y) < 3) this.brushes.delete(column.index);
    else this.brush(column, ...[y, end].map((it) => this.up(column).inverse(it)));
    this.select();
  }

  brushDots(from, to) {
    const [across, up] = this.places;
    const { x, y } = this.scatter;
    if (Math.abs(to[0] - from[0]) < 3 && Math.abs(to[1] - from[1]) < 3) {
      this.brushes.delete(x.index);
      this.brushes.delete(y.index);
    } else {
      this.brush(x, across.inverse(from[0]), across.inverse(to[0]));
      this.brush(y, up.inverse(from[1]), up.inverse(to[1]));
    }
    this.select();
  }

  // What is drawn.

  draw() {
    this.width = this.root.clientWidth || 900;
    this.drawParallel();
    this.drawDots();
    this.drawChips();
    this.drawListing();
    this.status.textContent = `${this.count.toLocaleString("en-US")} of ${this.rows.toLocaleString("en-US")} rows`;
    this.root.dataset.selected = String(this.count);
  }

  up(column) {
    return scale(column.kind, column.from, [this.frame.bottom, this.frame.top]);
  }

  drawParallel() {
    const height = 300;
    const left = 60;
    // A narrow page is scrolled: names and values need room between axes.
    const width = Math.max(this.width, 2 * left + STEP * (this.axes.length - 1));
    this.parallel.style.minWidth = width > this.width ? `${width}px` : "";
    const context = canvas(this.parallel, width, height);
    const step = (width - 2 * left) / Math.max(1, this.axes.length - 1);
    this.frame = { left, step, top: 44, bottom: height - 18 };
    const levels = this.axes.map((it) => this.levels(it));
    const all = this.count === this.rows;
    if (!all) context.drawImage(this.behind(levels, left, step, width, height), 0, 0, width, height);
    for (let at = 0; at + 1 < this.axes.length; at += 1) {
      const x = left + at * step;
      this.drawPairs(context, levels[at], levels[at + 1], x, step, rgb(this.spec.look.distinct[0]), 1, all ? null : this.selected);
    }
    this.axes.forEach((it, at) => this.drawAxis(context, it, left + at * step, at));
  }

  /** All rows in grey, which stay while brushes move. */
  behind(levels, left, step, width, height) {
    const key = JSON.stringify([this.axes.map((it) => it.index), width]);
    if (this.grey?.key !== key) {
      const node = document.createElement("canvas");
      const context = canvas(node, width, height);
      for (let at = 0; at + 1 < levels.length; at += 1) {
        this.drawPairs(context, levels[at], levels[at + 1], left + at * step, step, "150, 150, 150", 0.35, null);
      }
      this.grey = { key, node };
    }
    return this.grey.node;
  }

  /** The level of each row on an axis; -1 without a value. */
  levels(column) {
    column.levels ??= (() => {
      const place = scale(column.kind, column.from, [0, LEVELS - 1]).place;
      const found = new Int16Array(this.rows);
      for (let row = 0; row < this.rows; row += 1) {
        const value = column.values[row];
        found[row] = Number.isNaN(value) ? -1 : Math.round(place(value));
      }
      return found;
    })();
    return column.levels;
  }

  drawPairs(context, from, to, x, step, colour, strength, within) {
    const counts = new Uint32Array(LEVELS * LEVELS);
    let most = 0;
    for (let row = 0; row < this.rows; row += 1) {
      if ((within && !within[row]) || from[row] < 0 || to[row] < 0) continue;
      const pair = from[row] * LEVELS + to[row];
      counts[pair] += 1;
      if (counts[pair] > most) most = counts[pair];
    }
    if (!most) return;
    const { top, bottom } = this.frame;
    const y = (level) => bottom - (level / (LEVELS - 1)) * (bottom - top);
    // A path for each of a few shades, light ones first.
    const SHADES = 6;
    const shades = Array.from({ length: SHADES }, () => new Path2D());
    let pairs = 0;
    for (let pair = 0; pair < counts.length; pair += 1) {
      if (!counts[pair]) continue;
      pairs += 1;
      const shade = Math.min(SHADES - 1, Math.floor((SHADES * Math.log1p(counts[pair])) / Math.log1p(most + 1)));
      shades[shade].moveTo(x, y(Math.floor(pair / LEVELS)));
      shades[shade].lineTo(x + step, y(pair % LEVELS));
    }
    const thin = Math.max(0.06, Math.min(0.8, 160 / pairs));
    shades.forEach((path, shade) => {
      context.strokeStyle = `rgba(${colour}, ${strength * Math.min(1, thin * (1 + 2 * shade / SHADES) + 0.04 * shade)})`;
      context.lineWidth = 1;
      context.stroke(path);
    });
  }

  drawAxis(context, column, x, at) {
    const { top, bottom } = this.frame;
    const { look } = this.spec;
    const up = this.up(column);
    context.strokeStyle = look.ink;
    context.lineWidth = 1;
    line(context, x, top, x, bottom);
    context.fillStyle = look.ink;
    context.font = `bold 11px ${FONT}`;
    context.textAlign = at === 0 ? "left" : at === this.axes.length - 1 ? "right" : "center";
    const start = at === 0 ? x - 54 : at === this.axes.length - 1 ? x + 54 : x;
    const room = at === 0 || at === this.axes.length - 1 ? this.frame.step / 2 + 54 : this.frame.step;
    const words = withUnit(column.name, column.unit);
    context.fillText(fitted(context, words, room - 8), start, at % 2 === 0 || this.axes.length < 6 ? 16 : 31);
    context.font = `10px ${FONT}`;
    context.textAlign = "left";
    let before = Infinity;
    for (const value of this.ticksOf(column, up)) {
      line(context, x - 3, up.place(value), x + 3, up.place(value));
      // Texts need room; a mark alone does not.
      if (Math.abs(before - up.place(value)) < 11) continue;
      before = up.place(value);
      const name = column.categories ? column.categories[value] ?? "" : atTick(value);
      const shown = fitted(context, name, 84);
      const width = context.measureText(shown).width;
      // Beside the last axis the page ends.
      const from = at === this.axes.length - 1 ? x - 6 - width : x + 6;
      context.fillStyle = "rgba(255, 255, 255, 0.8)";
      context.fillRect(from - 1, up.place(value) - 6, width + 2, 12);
      context.fillStyle = look.ink;
      context.fillText(shown, from, up.place(value) + 3.5);
    }
    const brush = this.brushes.get(column.index);
    if (brush) {
      const [low, high] = brush.map((it) => Math.max(top, Math.min(bottom, up.place(it))));
      context.fillStyle = "rgba(187, 85, 102, 0.25)";
      context.strokeStyle = "rgb(187, 85, 102)";
      context.fillRect(x - 8, high, 16, low - high);
      context.strokeRect(x - 8, high, 16, low - high);
    }
  }

  ticksOf(column, { kind, from }) {
    if (column.categories) return thinned(column.categories.map((_, code) => code), 16).filter((it) => column.low <= it && it <= column.high);
    return column.many ? ticks({ kind, from }, 5) : thinned(column.few, 9);
  }

  drawDots() {
    const height = 320;
    const { look } = this.spec;
    const { x, y, colour } = this.scatter;
    const context = canvas(this.dots, this.width, height, true);
    const [left, right, top, bottom] = [74, this.width - 20, 12, height - 40];
    const padded = (column) => {
      if (column.kind === "log") return [column.from[0] / 1.05, column.from[1] * 1.05];
      const room = 0.03 * (column.from[1] - column.from[0]);
      return [column.from[0] - room, column.from[1] + room];
    };
    const across = scale(x.kind, padded(x), [left, right]);
    const up = scale(y.kind, padded(y), [bottom, top]);
    this.places = [across, up];
    context.font = `10px ${FONT}`;
    context.fillStyle = look.ink;
    context.strokeStyle = look.grid;
    context.textAlign = "right";
    // Texts need room; a line alone does not.
    let below = Infinity;
    for (const tick of this.ticksOf(y, up)) {
      line(context, left, up.place(tick), right, up.place(tick));
      if (Math.abs(below - up.place(tick)) < 11) continue;
      below = up.place(tick);
      context.fillText(fitted(context, y.categories ? y.categories[tick] : atTick(tick), left - 22), left - 6, up.place(tick) + 3.5);
    }
    context.textAlign = "center";
    let end = -Infinity;
    for (const tick of this.ticksOf(x, across)) {
      line(context, across.place(tick), top, across.place(tick), bottom);
      const shown = fitted(context, x.categories ? x.categories[tick] : atTick(tick), 70);
      const half = context.measureText(shown).width / 2;
      if (across.place(tick) - half < end + 6) continue;
      end = across.place(tick) + half;
      context.fillText(shown, across.place(tick), bottom + 14);
    }
    this.pour(context, across, up);
    context.strokeStyle = look.ink;
    line(context, left, top, left, bottom);
    line(context, left, bottom, right, bottom);
    context.font = `11px ${FONT}`;
    context.fillStyle = look.ink;
    const words = (column) => withUnit(column.name, column.unit);
    context.fillText(words(x) + (colour ? `; dark: more ${inline(colour.name)}` : ""), (left + right) / 2, height - 8);
    context.save();
    context.translate(12, (top + bottom) / 2);
    context.rotate(-Math.PI / 2);
    context.fillText(words(y), 0, 0);
    context.restore();
    this.drawRectangle(context, across, up);
  }

  /** Points straight into the canvas's pixels: those that are not selected, then the others. */
  pour(context, across, up) {
    const { x, y, colour } = this.scatter;
    const { canvas: { width, height } } = context;
    const dense = context.getTransform().a;
    const image = context.getImageData(0, 0, width, height);
    const pixels = new Uint32Array(image.data.buffer);
    const size = Math.max(1, Math.round((this.rows > 20000 ? 1.5 : this.rows > 2000 ? 2.5 : 4) * dense));
    const shade = colour ? scale(colour.kind, colour.from, [0, this.spec.look.ramp.length - 1]).place : () => 0;
    const shades = (colour ? this.spec.look.ramp : [this.spec.look.distinct[0]]).map(pixel);
    const grey = pixel("#D2D2D2");
    const put = (row, value) => {
      const px = Math.round(across.place(x.values[row]) * dense - size / 2);
      const py = Math.round(up.place(y.values[row]) * dense - size / 2);
      for (let dy = 0; dy < size; dy += 1) {
        for (let dx = 0; dx < size; dx += 1) {
          if (px + dx >= 0 && px + dx < width && py + dy >= 0 && py + dy < height) pixels[(py + dy) * width + px + dx] = value;
        }
      }
    };
    for (let pass = 0; pass < 2; pass += 1) {
      for (let row = 0; row < this.rows; row += 1) {
        if (this.selected[row] !== pass || Number.isNaN(x.values[row]) || Number.isNaN(y.values[row])) continue;
        const at = colour ? shade(colour.values[row]) : 0;
        put(row, pass === 0 ? grey : shades[Number.isNaN(at) ? 0 : Math.round(at)]);
      }
    }
    context.putImageData(image, 0, 0);
  }

  drawRectangle(context, across, up) {
    const [x, y] = [this.brushes.get(this.scatter.x.index), this.brushes.get(this.scatter.y.index)];
    if (!x && !y) return;
    const [x0, x1] = (x ?? across.from).map((it) => across.place(Math.max(across.from[0], Math.min(across.from[1], it))));
    const [y0, y1] = (y ?? up.from).map((it) => up.place(Math.max(up.from[0], Math.min(up.from[1], it))));
    context.strokeStyle = "rgb(187, 85, 102)";
    context.strokeRect(x0, y1, x1 - x0, y0 - y1);
  }

  drawChips() {
    refill(this.chips, ...this.axes.map((column, at) => html("span", { class: "ms-chip" }, column.name,
      at > 0 ? html("button", { type: "button", class: "ms-icon", title: "To the left", "aria-label": `${column.name} to the left`, onclick: () => {
        [this.axes[at - 1], this.axes[at]] = [column, this.axes[at - 1]];
        this.draw();
      } }, "‹") : null,
      html("button", { type: "button", class: "ms-icon", title: "Remove this axis", "aria-label": `Remove ${column.name}`, onclick: () => {
        this.axes = this.axes.filter((it) => it !== column);
        this.letGo(column);
      } }, "×"))));
    const free = this.columns.filter((it) => !this.axes.includes(it));
    this.adder.disabled = this.axes.length === MOST_AXES;
    const words = this.adder.disabled ? `${MOST_AXES} axes at most` : "add an axis …";
    this.adder.replaceChildren(html("option", { value: "" }, words), ...free.map((it) => html("option", { value: it.index }, it.name)));
  }

  /** The first selected rows, in the columns that are drawn. */
  drawListing() {
    const rows = [];
    for (let row = 0; row < this.rows && rows.length < ROWS_SHOWN; row += 1) if (this.selected[row]) rows.push(row);
    const cell = (column, row) => {
      const value = column.values[row];
      if (Number.isNaN(value)) return "–";
      return column.categories ? column.categories[value] : digits(value, 5);
    };
    const { x, y, colour } = this.scatter;
    const shown = [...new Set([...this.axes, x, y, ...(colour ? [colour] : [])])];
    const head = html("tr", {}, ...shown.map((it) => html("th", {}, it.name)));
    this.listing.replaceChildren(html("table", { class: "ms-table" }, html("thead", {}, head),
      html("tbody", {}, ...rows.map((row) => html("tr", {}, ...shown.map((it) => html("td", {}, cell(it, row))))))));
  }
}

const FONT = "Arimo, 'Liberation Sans', Arial, Helvetica, sans-serif";

/** A canvas of this size on the page, as fine as the screen; `read` if its pixels are. */
function canvas(node, width, height, read = false) {
  const dense = window.devicePixelRatio || 1;
  node.width = Math.round(width * dense);
  node.height = Math.round(height * dense);
  node.style.height = `${height}px`;
  const context = node.getContext("2d", { willReadFrequently: read });
  context.setTransform(dense, 0, 0, dense, 0, 0);
  context.fillStyle = "white";
  context.fillRect(0, 0, width, height);
  return context;
}

function line(context, x0, y0, x1, y1) {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}

function fitted(context, words, width) {
  if (context.measureText(words).width <= width) return words;
  let short = words;
  while (short.length > 1 && context.measureText(`${short}…`).width > width) short = short.slice(0, -1);
  return `${short}…`;
}

function channels(colour) {
  return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
}

function rgb(colour) {
  return channels(colour).join(", ");
}

/** A colour as canvases keep it. */
function pixel(colour) {
  const [red, green, blue] = channels(colour);
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

/** Tells where a drag over a node began and ended, while it goes on too. */
function dragged(node, tell) {
  let from = null;
  let next = null;
  const at = (event) => {
    const box = node.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };
  node.addEventListener("pointerdown", (event) => {
    from = at(event);
    node.setPointerCapture(event.pointerId);
  });
  node.addEventListener("pointermove", (event) => {
    if (!from) return;
    const waiting = next !== null;
    next = at(event);
    if (!waiting) {
      requestAnimationFrame(() => {
        if (from && next) tell(from, next);
        next = null;
      });
    }
  });
  node.addEventListener("pointerup", (event) => {
    if (from) tell(from, at(event));
    from = null;
  });
  // The finger scrolls instead.
  node.addEventListener("pointercancel", () => { from = null; });
}
