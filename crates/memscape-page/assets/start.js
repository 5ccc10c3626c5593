// Where the views are put: a notebook's output, a page that a server answers, a page by itself.

/** Puts what a specification describes into an element. */
function show(el, spec, { ask, bytes, changed, address }) {
  el.classList.add("ms-explorer");
  if (spec.view === "table") return new TableView(el, spec, bytes, changed);
  return new StudyView(el, spec, spec.grid ? askGrid(spec.grid) : ask, changed, address);
}

/** The page's address keeps what it shows: reloaded, bookmarked or sent, it shows that again. */
function ownAddress() {
  let waiting;
  // A bookmark that is opened here; what is written below tells of no change.
  addEventListener("hashchange", () => location.reload());
  return {
    read: () => {
      try {
        const { changes, pins, curve, column } = JSON.parse(decodeURIComponent(location.hash.slice(1)));
        return { changes: { ...changes }, pins: [...pins], curve, column };
      } catch {
        // None, or not one of ours.
        return {};
      }
    },
    write: (shown) => {
      clearTimeout(waiting);
      // Browsers take few changes a second.
      waiting = setTimeout(() => {
        if (location.protocol !== "about:") history.replaceState(null, "", `#${encodeURIComponent(JSON.stringify(shown))}`);
      }, 200);
    },
  };
}

/** A question to a notebook's kernel: a message there, and the one that answers it. */
function askKernel(model) {
  const waiting = new Map();
  const own = Math.random().toString(36).slice(2);
  let asked = 0;
  const heard = (message) => {
    const answer = waiting.get(message.id);
    waiting.delete(message.id);
    answer?.(message.reply);
  };
  model.on("msg:custom", heard);
  const ask = (question) => new Promise((resolve) => {
    asked += 1;
    // Several views of one widget hear each other's answers.
    const id = `${own}-${asked}`;
    waiting.set(id, resolve);
    model.send({ id, question });
  });
  return { ask, close: () => model.off("msg:custom", heard) };
}

/** A question to the server of this page. */
async function askServer(question) {
  const reply = await fetch("ask", {
    method: "POST", headers: { "Content-Type": "application/json", Accept: "application/json" }, body: JSON.stringify(question),
  }).catch((error) => { throw new Error(`${error.message}: is \`memscape explore\` still running?`); });
  const said = await reply.json();
  if (!reply.ok) throw new Error(said.error);
  return said;
}

/** The page that `memscape explore` serves. */
export async function page(el) {
  try {
    const spec = await (await fetch("spec.json")).json();
    const bytes = spec.view === "table" ? await (await fetch("table.bin")).arrayBuffer() : null;
    show(el, spec, { ask: askServer, bytes, address: ownAddress() });
  } catch (error) {
    el.append(html("p", { class: "ms-problem" }, `${error.message}: is \`memscape explore\` still running?`));
  }
}

/** A page that holds everything. */
export function whole(el, spec, encoded) {
  const bytes = encoded ? Uint8Array.from(atob(encoded), (it) => it.charCodeAt(0)).buffer : null;
  show(el, spec, { bytes, address: ownAddress() });
}

/** A notebook's widget. */
function render({ model, el }) {
  const spec = model.get("spec");
  if (spec.view === "table") {
    const { buffer, byteOffset, byteLength } = model.get("bytes");
    const view = show(el, spec, {
      bytes: buffer.slice(byteOffset, byteOffset + byteLength),
      changed: (brushes) => {
        model.set("brushes", brushes);
        model.save_changes();
      },
    });
    return () => view.close();
  }
  const { ask, close } = askKernel(model);
  show(el, spec, {
    ask,
    changed: (parameters) => {
      model.set("parameters", parameters);
      model.save_changes();
    },
  });
  return close;
}

export default { render };
