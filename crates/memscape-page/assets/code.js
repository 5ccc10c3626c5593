// A point as text that asks for it again.

/** A value as Python writes it; JSON's texts, lists and numbers are Python's too. */
function python(value) {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (Array.isArray(value)) return `[${value.map(python).join(", ")}]`;
  if (typeof value === "object") {
    return `{${Object.entries(value).map(([key, it]) => `${JSON.stringify(key)}: ${python(it)}`).join(", ")}}`;
  }
  return JSON.stringify(value);
}

/** A value as TOML writes it, which has no null: study files take the text for it. */
function toml(value) {
  if (value === null) return '"null"';
  if (Array.isArray(value)) return `[${value.map(toml).join(", ")}]`;
  if (typeof value === "object") {
    return `{ ${Object.entries(value).map(([key, it]) => `${JSON.stringify(key)} = ${toml(it)}`).join(", ")} }`;
  }
  // 1e21 is a float in JSON's letters as in TOML's.
  return JSON.stringify(value);
}

/** Parameters over others: what is below a table that was given goes into it. */
function merged(base, over) {
  const all = structuredClone(base);
  for (const [path, value] of Object.entries(over)) {
    const table = Object.keys(all).find((it) => path.startsWith(`${it}.`) && isTable(all[it]));
    if (!table) {
      all[path] = value;
      continue;
    }
    const names = path.slice(table.length + 1).split(".");
    let place = all[table];
    for (const name of names.slice(0, -1)) place = isTable(place[name]) ? place[name] : (place[name] = {});
    place[names.at(-1)] = value;
  }
  return all;
}

function isTable(value) {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function asPython(study, parameters) {
  const plain = Object.entries(parameters).filter(([path]) => /^[A-Za-z_]\w*$/.test(path));
  const dotted = Object.entries(parameters).filter(([path]) => !/^[A-Za-z_]\w*$/.test(path));
  const lines = dotted.length
    ? [`    {\n${dotted.map(([path, it]) => `        ${JSON.stringify(path)}: ${python(it)},\n`).join("")}    },`]
    : [];
  lines.push(...plain.map(([path, it]) => `    ${path}=${python(it)},`));
  const call = lines.length ? `(\n    ${JSON.stringify(study)},\n${lines.join("\n")}\n)` : `(${JSON.stringify(study)})`;
  return `import memscape as ms\n\nms.run${call}\n`;
}

function asToml(study, parameters) {
  const lines = Object.entries(parameters).map(([path, it]) => `${JSON.stringify(path)} = ${toml(it)}\n`);
  return `study = ${JSON.stringify(study)}\n${lines.length ? `\n[base]\n${lines.join("")}` : ""}`;
}

/** A filter of a polars.DataFrame called `table`. */
function asFilter(brushes, columns) {
  const conditions = [...brushes].map(([index, [low, high]]) => {
    const { name, categories, flag } = columns[index];
    const column = `pl.col(${JSON.stringify(name)})`;
    if (!categories) return `${column}.is_between(${python(low)}, ${python(high)})`;
    const within = categories.filter((_, code) => low <= code && code <= high);
    return `${column}.is_in(${python(flag ? within.map((it) => it === "true") : within)})`;
  });
  const lines = conditions.map((it) => `    ${it},\n`).join("");
  return `import polars as pl\n\ntable${lines ? `.filter(\n${lines})` : ""}\n`;
}
