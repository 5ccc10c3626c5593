// The form of a study: a field for each parameter, in groups that fold.

/** What a person typed: a number, a truth value, null, JSON, or else text. */
function typed(text) {
  const trimmed = text.trim();
  if (/^(null|true|false)$/i.test(trimmed)) return JSON.parse(trimmed.toLowerCase());
  try {
    // Also what JSON writes otherwise, such as .5 and 007.
    if (/^-?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(trimmed)) return counted(Number(trimmed));
    if (/^[[{]/.test(trimmed)) return JSON.parse(trimmed, (_, it) => counted(it));
  } catch {
    // A text, which the study refuses by name.
  }
  return trimmed;
}

/** JSON would make null of a number that is too large. */
function counted(value) {
  if (value === Infinity || value === -Infinity) throw new RangeError("too large");
  return value;
}

function shownValue(value) {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** The step that is nearest to a value. */
function nearestStep(steps, value) {
  if (typeof value !== "number") return 0;
  let best = 0;
  let least = Infinity;
  steps.forEach((step, at) => {
    if (typeof step !== "number") return;
    const far = step > 0 && value > 0 ? Math.abs(Math.log(step / value)) : Math.abs(step - value) + 1e3;
    if (far < least) [best, least] = [at, far];
  });
  return best;
}

// Each makes what a person changes: the node, and how it shows a value.
const CONTROLS = {
  number(parameter, change) {
    const { steps } = parameter;
    const slider = html("input", {
      type: "range", min: 0, max: steps.length - 1, step: 1, class: "ms-slider", "aria-label": parameter.path,
      "data-path": parameter.path,
    });
    const box = html("input", {
      type: "text", inputmode: "decimal", class: "ms-number", "aria-label": `${parameter.path}, as a number`,
      placeholder: parameter.nullable ? "null" : "",
    });
    slider.addEventListener("input", () => {
      const value = steps[Number(slider.value)];
      box.value = shownValue(value);
      change(value);
    });
    // Emptied, it is as it was; null is written out.
    box.addEventListener("change", () => change(box.value.trim() === "" ? undefined : typed(box.value)));
    const show = (value) => {
      slider.value = nearestStep(steps, value);
      if (document.activeElement !== box) box.value = shownValue(value);
    };
    return { node: html("div", { class: "ms-pair" }, slider, box), show };
  },

  choice(parameter, change) {
    const options = parameter.steps.map((it) => [JSON.stringify(it), it === null ? "null" : String(it)]);
    const select = chooser(options, null, (it) => change(JSON.parse(it)), {
      "aria-label": parameter.path, "data-path": parameter.path,
    });
    return { node: select, show: (value) => { select.value = JSON.stringify(value ?? null); } };
  },

  flag(parameter, change) {
    const box = html("input", { type: "checkbox", "aria-label": parameter.path, "data-path": parameter.path });
    box.addEventListener("change", () => change(box.checked));
    return { node: box, show: (value) => { box.checked = value === true; } };
  },

  preset(parameter, change) {
    const options = parameter.steps.map((it) => [JSON.stringify(it), it === null ? "null" : it]);
    const other = html("input", {
      type: "text", class: "ms-text", hidden: true, placeholder: "a path, or a table as JSON",
      "aria-label": `${parameter.path}, as a path`,
    });
    other.addEventListener("change", () => { if (other.value.trim()) change(typed(other.value)); });
    const OTHER = "other";
    const select = chooser([...options, [OTHER, "a path or table …"]], null, (it) => {
      other.hidden = it !== OTHER;
      if (it === OTHER) other.focus();
      else change(JSON.parse(it));
    }, { "aria-label": parameter.path, "data-path": parameter.path });
    const show = (value) => {
      const text = JSON.stringify(value ?? null);
      const named = options.some(([it]) => it === text);
      select.value = named ? text : OTHER;
      other.hidden = named;
      if (!named && document.activeElement !== other) other.value = shownValue(value);
    };
    return { node: html("div", { class: "ms-stack" }, select, other), show };
  },

  text(parameter, change) {
    const box = html("input", { type: "text", class: "ms-text", "aria-label": parameter.path, "data-path": parameter.path });
    box.addEventListener("change", () => change(typed(box.value)));
    return { node: box, show: (value) => { if (document.activeElement !== box) box.value = value === null ? "null" : shownValue(value); } };
  },
};

/** What stands before the last dot. */
function groupOf(path) {
  return path.includes(".") ? path.slice(0, path.lastIndexOf(".")) : "";
}

/**
 * A field for each parameter. `change(path, value)` tells of a change, `undefined` that it is taken
 * back; `chart(path)` that a curve over the parameter is wanted.
 */
class Form {
  constructor(parameters, { change, chart }) {
    this.fields = new Map();
    this.groups = new Map();
    this.about = html("p", { class: "ms-about", "aria-live": "polite" });
    const find = html("input", { type: "search", class: "ms-text", placeholder: "Find a parameter", "aria-label": "Find a parameter" });
    find.addEventListener("input", () => this.filter(find.value.trim().toLowerCase()));
    this.node = html("div", { class: "ms-form" }, parameters.length > 8 ? find : null);
    // What the question itself says stands first and is in sight; parts of machines unfold.
    this.allOpen = parameters.length <= 12;
    if (parameters.some((it) => groupOf(it.path) === "")) this.group("");
    for (const it of parameters) this.add(it, change, chart);
    this.node.append(this.about);
  }

  add(parameter, change, chart) {
    const { path, unit, control } = parameter;
    const { node, show } = CONTROLS[control](parameter, (value) => change(path, value));
    const name = html("span", { class: "ms-name" }, path.split(".").pop());
    const head = html("div", { class: "ms-head" }, name, unit ? html("span", { class: "ms-unit" }, unit) : null);
    if (parameter.steps.length > 1) {
      head.append(html("button", {
        type: "button", class: "ms-icon ms-chart", title: `Draw the curve over ${path}`, "aria-label": `Draw the curve over ${path}`,
        onclick: () => chart(path),
      }, "∿"));
    }
    head.append(html("button", {
      type: "button", class: "ms-icon ms-back", title: `Take the change of ${path} back`, "aria-label": `Take the change of ${path} back`,
      onclick: () => change(path, undefined),
    }, "×"));
    const field = html("div", { class: `ms-field ms-of-${control}`, "data-field": path }, head, node);
    const tell = () => this.tell(parameter);
    field.addEventListener("pointerenter", tell);
    field.addEventListener("focusin", tell);
    this.group(groupOf(path)).body.append(field);
    this.fields.set(path, { parameter, field, show });
  }

  group(name) {
    const known = this.groups.get(name);
    if (known) return known;
    const count = html("span", { class: "ms-count" });
    const body = html("div", { class: "ms-group" });
    const node = name === "" ? body : html("details", { open: this.allOpen }, html("summary", {}, name, count), body);
    this.node.append(node);
    const group = { node, body, count };
    this.groups.set(name, group);
    return group;
  }

  /** What a parameter is. Its source is that of the default: another value has another. */
  tell({ path, meaning, allowed, more, source, ...parameter }) {
    const usual = same(this.values?.[path] ?? null, parameter.default ?? null);
    const parts = [
      meaning, allowed && `Allowed: ${allowed}`, more && `More: ${more}`, source && usual && `Source: ${source}`,
    ];
    this.about.replaceChildren(html("b", {}, path), ` ${parts.filter(Boolean).map((it) => it.replace(/\.$/, "")).join(". ")}.`);
  }

  filter(text) {
    for (const [path, { field, parameter }] of this.fields) {
      field.hidden = text !== "" && !`${path} ${parameter.meaning}`.toLowerCase().includes(text);
    }
    for (const [name, { node, body }] of this.groups) {
      const any = [...body.children].some((it) => !it.hidden);
      node.hidden = !any;
      if (name !== "" && text !== "") node.open = any;
    }
  }

  /** Shows the values in effect, which of them were changed here, and which one an error is about. */
  show(values, changed, charted, refused) {
    this.values = values;
    const counts = new Map();
    for (const [path, { field, show }] of this.fields) {
      if (Object.hasOwn(values, path)) show(values[path]);
      const isChanged = Object.hasOwn(changed, path);
      field.classList.toggle("ms-changed", isChanged);
      field.classList.toggle("ms-charted", path === charted);
      field.classList.toggle("ms-refused", refused.includes(path));
      if (isChanged) counts.set(groupOf(path), (counts.get(groupOf(path)) ?? 0) + 1);
    }
    for (const [name, { count }] of this.groups) count.textContent = counts.has(name) ? ` · ${counts.get(name)} changed` : "";
  }
}
