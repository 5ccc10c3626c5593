// A study: its form, its answer, and points kept beside it.

const MOST_PINS = 6;
/** Longer lines are not read. */
const MOST_GIVEN = 8;

class StudyView {
  /**
   * `ask(question)` promises a reply: `{ row, error, values }`, or a curve's points; `told(parameters)`
   * hears of each point that was answered; `address` keeps what is shown, and has what was.
   */
  constructor(el, spec, ask, told = () => {}, address = { read: () => ({}), write: () => {} }) {
    this.spec = spec;
    this.ask = ask;
    this.told = told;
    this.address = address;
    const { changes, pins, curve, column } = address.read();
    this.changes = changes ?? {};
    // The changes that `row` or `error` answers; `changes` may be ahead of them.
    this.answered = {};
    this.pins = [];
    // Points that were kept before, and have no answer yet.
    this.kept = (pins ?? []).slice(0, MOST_PINS);
    this.values = Object.fromEntries(spec.parameters.map((it) => [it.path, it.value]));
    this.row = null;
    this.error = null;
    this.points = null;
    const charted = spec.parameters.filter((it) => it.steps.length > 1).map((it) => it.path);
    this.charted = [curve, spec.curve].find((it) => charted.includes(it)) ?? charted[0] ?? null;
    const columns = this.numbers().map((it) => it.name);
    this.column = [column, spec.aim?.column].find((it) => columns.includes(it)) ?? columns[0];
    this.sum = spec.sums[0] ?? null;
    this.build(el);
    this.refresh().then(() => this.pinAgain());
  }

  numbers() {
    return this.spec.columns.filter((it) => it.kind === "float" || it.kind === "int");
  }

  unitOf(column) {
    return this.spec.columns.find((it) => it.name === column)?.unit ?? "";
  }

  build(el) {
    const { spec } = this;
    this.form = new Form(spec.parameters, {
      change: (path, value) => this.change(path, value),
      chart: (path) => this.chart(path),
    });
    this.state = html("span", { class: "ms-state" });
    this.problem = html("div", { class: "ms-problem", role: "alert", hidden: true });
    this.heads = html("div", { class: "ms-heads", "aria-live": "polite" });
    this.figure = html("div", { class: "ms-figure" });
    this.pinned = html("div", { class: "ms-pins" });
    this.columns = html("details", { class: "ms-all" }, html("summary", {}, "The whole answer"), html("div", {}));
    this.pinner = html("button", { type: "button", class: "ms-button", onclick: () => this.pin() }, "Pin this point");
    const buttons = html("div", { class: "ms-buttons" },
      this.pinner,
      html("button", { type: "button", class: "ms-button", onclick: () => this.reset() }, "Reset"),
      copyButton("Copy as Python", () => asPython(spec.study, this.parameters())),
      copyButton("Copy as TOML", () => asToml(spec.study, this.parameters())),
      this.state,
    );
    this.root = html("div", { class: "ms-study" },
      html("div", { class: "ms-top" }, html("b", {}, spec.study), ` ${spec.summary}${this.given()}`),
      html("div", { class: "ms-columns" }, this.form.node,
        html("div", { class: "ms-answer" }, this.heads, this.problem, this.choosers(), this.figure, buttons, this.pinned, this.columns)));
    el.append(this.root);
  }

  choosers() {
    const { spec } = this;
    this.overChooser = chooser(
      spec.parameters.filter((it) => it.steps.length > 1).map((it) => [it.path, it.path]), this.charted, (it) => this.chart(it),
      { "aria-label": "The curve's parameter" });
    const columns = chooser(this.numbers().map((it) => [it.name, it.name]), this.column, (it) => {
      this.column = it;
      this.draw();
    }, { "aria-label": "The curve's column" });
    const row = html("div", { class: "ms-choosers" }, "Curve of ", columns, " over ", this.overChooser);
    if (spec.sums.length > 1) {
      row.append(" · Parts of ", chooser(spec.sums.map((it, at) => [String(at), it.whole]), "0", (it) => {
        this.sum = spec.sums[Number(it)];
        this.draw();
      }, { "aria-label": "What is taken apart" }));
    }
    return row;
  }

  /** What everything here is asked with: of a page that is mailed, nothing else says which model it is about. */
  given() {
    const all = Object.entries(this.spec.given).map(([path, it]) => `${path} = ${String(shownValue(it)).split("/").pop()}`);
    const more = all.length > MOST_GIVEN ? [`${all.length - MOST_GIVEN} more`] : [];
    return all.length ? `, with ${[...all.slice(0, MOST_GIVEN), ...more].join(", ")}` : "";
  }

  /** What is shown: of a page that holds a grid, its place on every axis, which the study's defaults need not be. */
  parameters() {
    const { grid } = this.spec;
    const places = grid ? Object.fromEntries(grid.axes.map(({ path, values, first }) => [path, values[first]])) : {};
    return merged(merged(this.spec.given, places), this.changes);
  }

  change(path, value) {
    if (value === undefined) delete this.changes[path];
    else this.changes[path] = value;
    this.refresh();
  }

  chart(path) {
    this.charted = path;
    this.overChooser.value = path;
    this.refresh();
  }

  reset() {
    this.changes = {};
    this.refresh();
  }

  /** Asks for what the form says now. What changes meanwhile is asked for after that, once. */
  async refresh() {
    this.since ??= performance.now();
    if (this.busy) {
      this.stale = true;
      return;
    }
    this.busy = true;
    const slow = setTimeout(() => { this.state.textContent = "asking …"; }, 250);
    do {
      this.stale = false;
      const since = this.since;
      this.since = null;
      const changes = structuredClone(this.changes);
      await this.answer(changes, since);
      if (!this.stale) {
        this.told(merged(this.spec.given, changes));
        await this.follow(changes, since);
      }
    } while (this.stale);
    clearTimeout(slow);
    this.busy = false;
  }

  async answer(changes, since) {
    let reply;
    try {
      reply = await this.ask({ parameters: changes });
    } catch (error) {
      reply = { row: null, error: error.message, values: null };
    }
    this.answered = changes;
    this.error = reply.error;
    if (reply.row) this.row = reply.row;
    if (reply.values) this.values = reply.values;
    this.draw();
    this.tell("answer", since);
  }

  /** The curve; it is the same where only the curve's own parameter moved. */
  async follow(changes, since) {
    if (!this.charted) return;
    const key = this.curveOf(changes);
    const here = this.values[this.charted];
    if (this.points?.key === key && this.points.complete && this.points.x.some((it) => same(it, here))) {
      this.tell("curve", since);
      await this.chartPins();
      return;
    }
    let points;
    try {
      points = await this.ask({ parameters: changes, curve: this.charted });
    } catch (error) {
      points = { error: error.message };
    }
    if (this.stale) return;
    this.points = points.error ? { error: points.error } : { ...points, key };
    this.draw();
    this.tell("curve", since);
    await this.chartPins();
  }

  /** Curves of the points kept beside, over what the curve is over now. */
  async chartPins() {
    const path = this.charted;
    const others = this.pins.filter((it) => it.over !== path);
    for (const pin of others) {
      const points = await this.ask({ parameters: pin.changes, curve: path }).catch(() => null);
      if (this.charted !== path || this.stale) return;
      Object.assign(pin, { over: path, points: points?.x ? points : null });
    }
    if (others.length) this.draw();
  }

  /** What tells one curve from another. */
  curveOf(changes) {
    const { [this.charted]: own, ...others } = changes;
    return JSON.stringify([this.charted, others]);
  }

  pointsOf(key) {
    return this.points?.key === key ? this.points : null;
  }

  tell(what, since) {
    const took = performance.now() - since;
    this.root.dataset[`${what}Ms`] = took.toFixed(1);
    this.root.dataset[`${what}s`] = String(Number(this.root.dataset[`${what}s`] ?? 0) + 1);
    if (what === "curve") this.state.textContent = `${this.root.dataset.answerMs} ms, curve ${took.toFixed(0)} ms`;
  }

  // Points kept beside.

  pin() {
    if (!this.row) return;
    // What is answered, not what the form says: the two may be far apart while a slow study thinks.
    const changes = this.answered;
    const points = this.pointsOf(this.curveOf(changes));
    const taken = [...this.pins.map((it) => it.number), ...this.kept.map(([number]) => number)];
    const free = [...Array(MOST_PINS).keys()].find((it) => !taken.includes(it));
    this.pins.push({ number: free, changes, row: this.row, values: this.values, over: points && this.charted, points });
    this.pins.sort((a, b) => a.number - b.number);
    this.draw();
  }

  /** Points that were kept before, asked anew. What has no answer any more stays, without one. */
  async pinAgain() {
    while (this.kept.length) {
      const [number, changes] = this.kept[0];
      const { row, values } = await this.ask({ parameters: changes }).catch(() => ({}));
      this.kept.shift();
      this.pins.push({ number, changes, row: row ?? null, values: values ?? {}, over: null, points: null });
      this.pins.sort((a, b) => a.number - b.number);
      this.draw();
    }
    await this.chartPins();
  }

  nameOf(pin) {
    return "ABCDEF"[pin.number];
  }

  colourOf(pin) {
    return colourOf(this.spec.look, pin.number + 1);
  }

  // What is shown.

  draw() {
    this.address.write({
      changes: this.changes, pins: [...this.pins.map((it) => [it.number, it.changes]), ...this.kept], curve: this.charted, column: this.column,
    });
    const refused = this.error ? [...this.error.matchAll(/`([^`]+)`/g)].map((it) => it[1]) : [];
    this.form.show({ ...this.values, ...this.changes }, this.changes, this.charted, refused);
    this.pinner.disabled = Boolean(this.error) || this.pins.length + this.kept.length === MOST_PINS;
    this.problem.hidden = !this.error;
    this.problem.textContent = this.error ?? "";
    this.root.classList.toggle("ms-stale", Boolean(this.error));
    this.drawHeads();
    this.drawFigure();
    this.drawPins();
    this.drawColumns();
  }

  drawHeads() {
    if (!this.row) return;
    const tiles = this.spec.headline.map((name) => {
      const column = this.spec.columns.find((it) => it.name === name);
      return html("div", { class: `ms-tile${name === this.spec.aim?.column ? " ms-aim" : ""}`, title: column.meaning },
        html("span", { class: "ms-tile-name" }, label(name)),
        html("span", { class: "ms-tile-value", "data-column": name }, worded(this.row[name], column.unit)));
    });
    this.heads.replaceChildren(...tiles);
  }

  drawFigure() {
    const { look } = this.spec;
    const now = { name: "now", colour: colourOf(look, 0), row: this.error ? null : this.row };
    const answers = [now, ...this.pins.map((it) => ({ name: this.nameOf(it), colour: this.colourOf(it), row: it.row }))];
    const parts = [];
    if (this.sum && answers.some((it) => it.row)) parts.push(breakdown(answers, this.sum, this.unitOf(this.sum.whole), look));
    if (this.points?.error) parts.push(html("p", { class: "ms-note" }, `No curve: ${this.points.error}`));
    else if (this.points) parts.push(this.drawCurve());
    this.figure.replaceChildren(...parts);
  }

  drawCurve() {
    const { look, parameters } = this.spec;
    const { path } = this.points;
    const of = (points, name, colour, at) => ({
      name, colour, at, x: points.x, y: points.columns[this.column] ?? points.x.map(() => null), errors: points.errors,
    });
    const kept = this.pins.filter((it) => it.points?.path === path);
    const curves = [
      of(this.points, "now", colourOf(look, 0), this.values[path]),
      ...kept.map((it) => of(it.points, this.nameOf(it), this.colourOf(it), it.values[path])),
    ];
    const unit = parameters.find((it) => it.path === path)?.unit;
    const drawn = curve(curves, { path, unit, column: this.column, columnUnit: this.unitOf(this.column) }, look,
      (value) => this.change(path, value));
    if (!this.points.complete) {
      drawn.append(text("in part: the rest takes too long", WIDTH - RIGHT, 12, { class: "ms-tick", "text-anchor": "end" }));
    }
    return drawn;
  }

  drawPins() {
    if (!this.pins.length) {
      this.pinned.replaceChildren();
      return;
    }
    const columns = this.spec.headline;
    const head = html("tr", {}, html("th", {}, ""), html("th", {}, "changed"), ...columns.map((it) => html("th", {}, label(it))), html("th", {}, ""));
    const line = (name, colour, changes, row, buttons) => html("tr", {},
      html("td", {}, html("span", { class: "ms-swatch", style: `background: ${colour}` }), name),
      html("td", { class: "ms-what" }, Object.entries(changes).map(([path, it]) => `${path} = ${shownValue(it) || "null"}`).join(", ") || "nothing"),
      ...columns.map((it) => html("td", {}, worded(row?.[it], this.unitOf(it)))), html("td", {}, ...buttons));
    const rows = this.pins.map((it) => line(this.nameOf(it), this.colourOf(it), it.changes, it.row, [
      html("button", { type: "button", class: "ms-icon", title: "Go back to this point", "aria-label": `Go back to ${this.nameOf(it)}`, onclick: () => {
        this.changes = structuredClone(it.changes);
        this.refresh();
      } }, "↩"),
      html("button", { type: "button", class: "ms-icon", title: "Remove this point", "aria-label": `Remove ${this.nameOf(it)}`, onclick: () => {
        this.pins = this.pins.filter((other) => other !== it);
        this.draw();
      } }, "×"),
    ]));
    const now = line("now", colourOf(this.spec.look, 0), this.answered, this.error ? null : this.row, []);
    refill(this.pinned, html("table", { class: "ms-table" }, html("thead", {}, head), html("tbody", {}, now, ...rows)));
  }

  drawColumns() {
    if (!this.row) return;
    const rows = this.spec.columns.map((it) => html("tr", {},
      html("td", {}, it.name), html("td", { class: "ms-right" }, worded(this.row[it.name], it.unit)), html("td", { class: "ms-what" }, it.meaning)));
    this.columns.lastChild.replaceChildren(html("table", { class: "ms-table" }, ...rows));
  }
}

/** A grid that was computed before, asked as a study is: `{ axes: [{ path, values }], columns, errors }`. */
function askGrid({ axes, columns, errors }) {
  const strides = axes.map((_, at) => axes.slice(at + 1).reduce((all, it) => all * it.values.length, 1));
  const digitsOf = (parameters) => axes.map(({ path, values, first }) => {
    const given = Object.hasOwn(parameters, path) ? parameters[path] : values[first];
    const at = values.findIndex((it) => same(it, given));
    if (at < 0) throw new Error(`this page holds ${path} = ${values.map(shownValue).join(", ")} only; \`memscape explore\` asks the model itself`);
    return at;
  });
  const rowAt = (places) => places.reduce((all, it, at) => all + it * strides[at], 0);
  return async ({ parameters, curve: path }) => {
    const places = digitsOf(parameters);
    const values = Object.fromEntries(axes.map((it, at) => [it.path, it.values[places[at]]]));
    if (path === undefined) {
      const row = rowAt(places);
      const error = errors[row] ?? null;
      const found = Object.fromEntries(Object.entries(columns).map(([name, all]) => [name, all[row]]));
      return { row: error ? null : found, error, values };
    }
    const axis = axes.findIndex((it) => it.path === path);
    const rows = axes[axis].values.map((_, at) => rowAt(places.with(axis, at)));
    const picked = Object.entries(columns).map(([name, all]) => [name, rows.map((it) => all[it])]);
    return { path, x: axes[axis].values, columns: Object.fromEntries(picked), errors: rows.map((it) => errors[it] ?? null), complete: true };
  };
}
