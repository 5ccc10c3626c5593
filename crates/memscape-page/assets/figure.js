// The live figure of a study: what the answer's time is made of, and one parameter's curve.

const WIDTH = 620;
const LEFT = 66;
const RIGHT = 16;

// More names than this do not stand beside each other.
const TILTED = 5;

/** Colours by position; after the last one they come again, lighter. */
function colourOf(look, index) {
  const colour = look.distinct[index % look.distinct.length];
  const round = Math.floor(index / look.distinct.length);
  return round === 0 ? colour : `color-mix(in srgb, ${colour} ${Math.max(30, 100 - 35 * round)}%, white)`;
}

function svgRoot(height, title, text) {
  const root = shape("svg", { viewBox: `0 0 ${WIDTH} ${height}`, class: "ms-svg", role: "img", "aria-label": `${title}. ${text}` });
  root.append(shape("title", {}, title), shape("desc", {}, text));
  return root;
}

function text(words, x, y, attributes = {}) {
  return shape("text", { x, y, ...attributes }, words);
}

/**
 * A stacked bar for each answer. `answers` are `{ name, colour, row }`, the first one what the form
 * says now; `sum` is `{ whole, parts }`; `unit` that of the whole.
 */
function breakdown(answers, sum, unit, look) {
  const shown = answers.filter((it) => it.row && typeof it.row[sum.whole] === "number");
  const value = (row, part) => (typeof row[part] === "number" ? row[part] : 0);
  const most = Math.max(0, ...shown.map(({ row }) => sum.parts.reduce((all, part) => all + Math.max(0, value(row, part)), 0)));
  const [factor, inUnit] = readable(most, unit);
  const used = sum.parts.filter((part) => shown.some(({ row }) => value(row, part) > 0));
  const BAR = 22;
  const legend = legendRows(used.map((part) => label(part)));
  const top = 20 + legend.height;
  const height = top + shown.length * (BAR + 8) + 40;
  const words = shown.map(({ name, row }) => `${name}: ${worded(row[sum.whole], unit)}`).join("; ");
  const root = svgRoot(height, `What ${inline(sum.whole)} is made of`, words);
  root.append(text(`What ${inline(sum.whole)} is made of`, 0, 12, { class: "ms-title" }));
  used.forEach((part, at) => {
    const [x, y] = legend.places[at];
    root.append(
      shape("rect", { x, y: 20 + y, width: 9, height: 9, fill: colourOf(look, sum.parts.indexOf(part)) }),
      text(label(part), x + 13, 28 + y, { class: "ms-legend" }),
    );
  });
  const across = scale("linear", [0, most * factor || 1], [LEFT, WIDTH - RIGHT - 70]);
  for (const tick of ticks(across, 5)) {
    root.append(
      shape("line", { x1: across.place(tick), x2: across.place(tick), y1: top, y2: height - 38, stroke: look.grid }),
      text(digits(tick), across.place(tick), height - 25, { class: "ms-tick", "text-anchor": "middle" }),
    );
  }
  root.append(text(withUnit(sum.whole, inUnit), (LEFT + WIDTH - RIGHT - 70) / 2, height - 8, { class: "ms-label", "text-anchor": "middle" }));
  shown.forEach(({ name, colour, row }, at) => {
    const y = top + at * (BAR + 8) + 4;
    let from = 0;
    const bar = shape("g", { class: "ms-bar", "data-bar": name });
    for (const part of used) {
      const part_value = Math.max(0, value(row, part));
      const [x, end] = [across.place(from * factor), across.place((from + part_value) * factor)];
      bar.append(shape("rect", {
        x, y, width: Math.max(0, end - x), height: BAR, fill: colourOf(look, sum.parts.indexOf(part)), stroke: "white", "stroke-width": 0.5,
        "data-part": part,
      }, shape("title", {}, `${label(part)}: ${worded(part_value, unit)}`)));
      from += part_value;
    }
    bar.append(
      shape("rect", { x: LEFT - 62, y: y + BAR / 2 - 4, width: 8, height: 8, fill: colour, class: "ms-mark" }),
      text(name, LEFT - 50, y + BAR / 2 + 4, { class: "ms-tick" }),
      text(worded(row[sum.whole], unit), across.place(from * factor) + 5, y + BAR / 2 + 4, { class: "ms-value" }),
    );
    root.append(bar);
  });
  return root;
}

/** Where the entries of a legend stand, in rows. */
function legendRows(names) {
  const places = [];
  let [x, y] = [LEFT, 0];
  for (const name of names) {
    const width = 24 + 5.6 * name.length;
    if (x + width > WIDTH - RIGHT && x > LEFT) [x, y] = [LEFT, y + 14];
    places.push([x, y]);
    x += width;
  }
  return { places, height: names.length ? y + 18 : 0 };
}

/**
 * A column over one parameter. `curves` are `{ name, colour, x, y, errors, at }` with `at` the value
 * where each stands, the first one what the form says now; `pick(value)` takes another value.
 */
function curve(curves, { path, unit, column, columnUnit }, look, pick) {
  const all = curves[0].x;
  const numeric = all.every((it) => typeof it === "number") && all.length > 1;
  const tilted = !numeric && all.length > TILTED;
  const HEIGHT = tilted ? 290 : 250;
  const [top, bottom] = [26, HEIGHT - (tilted ? 84 : 42)];
  const title = `${label(column)} over ${inline(path)}`;
  const known = curves.flatMap(({ y }) => y.filter((it) => typeof it === "number"));
  const say = known.length ? `${worded(Math.min(...known), columnUnit)} to ${worded(Math.max(...known), columnUnit)}` : "no answers";
  const root = svgRoot(HEIGHT, title, say);
  root.append(text(title, 0, 12, { class: "ms-title" }));
  if (!known.length) {
    root.append(text(`no value of ${path} has an answer here`, WIDTH / 2, HEIGHT / 2, { class: "ms-label", "text-anchor": "middle" }));
    return root;
  }
  const [factor, inUnit] = readable(Math.max(...known.map(Math.abs)), columnUnit);
  // Lengths of bars are compared, so that they begin at 0; what is spread too far for that has dots.
  const values = known.map((it) => it * factor);
  const up = upScale(numeric || isSpread(values) ? values : [0, ...values], [bottom, top]);
  const across = numeric
    ? acrossScale(curves.flatMap(({ x, y }) => x.filter((it, at) => typeof it === "number" && typeof y[at] === "number")), all)
    : { place: (value) => LEFT + ((all.findIndex((it) => same(it, value)) + 0.5) / all.length) * (WIDTH - LEFT - RIGHT) };
  for (const tick of ticks(up, 5)) {
    root.append(
      shape("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: up.place(tick), y2: up.place(tick), stroke: look.grid }),
      text(digits(tick), LEFT - 6, up.place(tick) + 4, { class: "ms-tick", "text-anchor": "end" }),
    );
  }
  root.append(
    shape("path", { d: `M${LEFT} ${top}V${bottom}H${WIDTH - RIGHT}`, fill: "none", stroke: look.ink, "stroke-width": 0.8 }),
    text(withUnit(column, inUnit), 12, (top + bottom) / 2, { class: "ms-label", "text-anchor": "middle", transform: `rotate(-90 12 ${(top + bottom) / 2})` }),
    text(withUnit(path, unit), (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 4, { class: "ms-label", "text-anchor": "middle" }),
  );
  if (numeric) drawNumericTicks(root, across, all, bottom);
  else drawNames(root, across, all, bottom);
  const area = shape("g");
  for (const it of [...curves].reverse()) {
    if (numeric) drawLine(area, it, across, up, factor, columnUnit, it === curves[0]);
    else drawBars(area, it, curves, across, up, factor, columnUnit, (WIDTH - LEFT - RIGHT) / all.length);
  }
  drawRefused(area, curves[0], across, bottom);
  root.append(area);
  if (pick) picker(root, all, across, [top, bottom], pick);
  return root;
}

function same(a, b) {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

function upScale(values, to) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  if (isSpread(values)) return scale("log", [low / 1.15, high * 1.15], to);
  const from = low >= 0 && low < 0.6 * high ? 0 : low - 0.06 * (high - low || Math.abs(high) || 1);
  return scale("linear", [from, high + 0.08 * (high - from || Math.abs(high) || 1)], to);
}

/** What has answers decides how, all that was asked how far. */
function acrossScale(answered, asked) {
  const kind = isSpread(answered) ? "log" : "linear";
  const values = asked.filter((it) => kind === "linear" || it > 0);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return scale(kind, low === high ? [low - 1, high + 1] : [low, high], [LEFT + 8, WIDTH - RIGHT - 8]);
}

function drawNumericTicks(root, across, all, bottom) {
  const doubled = all.filter((it) => it >= 1 && Number.isInteger(Math.log2(it)));
  const at = across.kind === "log" && doubled.length > 3 && all.every(Number.isInteger) ? thinned(doubled, 12) : ticks(across, 8);
  for (const tick of at) {
    root.append(
      shape("line", { x1: across.place(tick), x2: across.place(tick), y1: bottom, y2: bottom + 4, stroke: "currentColor" }),
      text(digits(tick), across.place(tick), bottom + 15, { class: "ms-tick", "text-anchor": "middle" }),
    );
  }
}

function drawNames(root, across, all, bottom) {
  const tilted = all.length > TILTED;
  const most = tilted ? 18 : 20;
  thinned(all, 44).forEach((value) => {
    const name = value === null ? "null" : String(value);
    const short = name.length > most ? `${name.slice(0, most - 1)}…` : name;
    const [x, y] = [across.place(value), bottom + (tilted ? 8 : 15)];
    const turn = tilted ? { "text-anchor": "end", transform: `rotate(-38 ${x} ${y})` } : { "text-anchor": "middle" };
    root.append(shape("text", { x, y, class: all.length > 12 ? "ms-small" : "ms-tick", ...turn }, shape("title", {}, name), short));
  });
}

function drawLine(area, it, across, up, factor, unit, isNow) {
  // Between two answers that others were refused, the line is only a hint.
  const known = [];
  const hint = [];
  let before = null;
  it.x.forEach((x, at) => {
    const y = it.y[at];
    if (typeof x !== "number" || typeof y !== "number" || !Number.isFinite(across.place(x))) return;
    const here = `${across.place(x).toFixed(2)} ${up.place(y * factor).toFixed(2)}`;
    if (before) (before.at === at - 1 ? known : hint).push(`M${before.here}L${here}`);
    before = { at, here };
  });
  const stroke = { fill: "none", stroke: it.colour, "stroke-width": isNow ? 1.8 : 1.2, "stroke-linecap": "round", "stroke-dasharray": isNow ? null : "5 3" };
  area.append(
    shape("path", { d: hint.join(""), ...stroke, "stroke-opacity": 0.35 }),
    shape("path", { d: known.join(""), ...stroke, "data-curve": it.name }),
  );
  if (isNow) {
    it.x.forEach((x, at) => {
      if (typeof x === "number" && typeof it.y[at] === "number") {
        area.append(shape("circle", { cx: across.place(x), cy: up.place(it.y[at] * factor), r: 1.8, fill: it.colour },
          shape("title", {}, `${digits(x)}: ${worded(it.y[at], unit)}`)));
      }
    });
  }
  const at = it.x.findIndex((x) => same(x, it.at));
  if (at >= 0 && typeof it.y[at] === "number" && typeof it.at === "number") {
    const [x, y] = [across.place(it.at), up.place(it.y[at] * factor)];
    area.append(shape("circle", { cx: x, cy: y, r: isNow ? 5 : 4, fill: isNow ? it.colour : "white", stroke: isNow ? "white" : it.colour, "stroke-width": 1.5, class: "ms-here" },
      shape("title", {}, `${it.name}, ${digits(it.at)}: ${worded(it.y[at], unit)}`)));
    if (isNow) area.append(text(worded(it.y[at], unit), Math.min(x + 8, WIDTH - 70), Math.max(y - 8, 24), { class: "ms-value" }));
  }
}

function drawBars(area, it, curves, across, up, factor, unit, room) {
  const width = (0.75 * room) / curves.length;
  const first = curves.indexOf(it);
  it.x.forEach((x, at) => {
    const y = it.y[at];
    if (typeof y !== "number" || !curves[0].x.some((other) => same(other, x))) return;
    const left = across.place(x) - 0.375 * room + first * width;
    const here = same(x, it.at);
    const [from, to] = [up.place(0), up.place(y * factor)];
    const mark = up.kind === "log"
      ? ["circle", { cx: left + width / 2, cy: to, r: Math.min(4, width) }]
      : ["rect", { x: left, width: Math.max(1, width - 0.5), y: Math.min(from, to), height: Math.abs(from - to) }];
    area.append(shape(mark[0], { ...mark[1], fill: it.colour, "fill-opacity": here ? 1 : 0.45, class: here ? "ms-here" : null },
      shape("title", {}, `${it.name}, ${x}: ${worded(y, unit)}`)));
  });
}

/** What was refused, and why, below the curve. */
function drawRefused(area, it, across, bottom) {
  it.x.forEach((x, at) => {
    if (!it.errors[at] || !Number.isFinite(across.place(x))) return;
    area.append(text("×", across.place(x), bottom - 2, { class: "ms-no", "text-anchor": "middle" }));
    area.lastChild.append(shape("title", {}, `${x}: ${it.errors[at]}`));
  });
}

/** A click on the curve takes the nearest value. */
function picker(root, all, across, [top, bottom], pick) {
  const take = (event) => {
    const box = root.getBoundingClientRect();
    const x = ((event.clientX - box.left) / box.width) * WIDTH;
    let best = null;
    for (const value of all) {
      if (!Number.isFinite(across.place(value))) continue;
      const far = Math.abs(across.place(value) - x);
      if (!best || far < best[0]) best = [far, value];
    }
    if (best) pick(best[1]);
  };
  root.append(shape("rect", {
    x: LEFT, y: top, width: WIDTH - LEFT - RIGHT, height: bottom - top, fill: "transparent", class: "ms-picker", onclick: take,
  }));
}
