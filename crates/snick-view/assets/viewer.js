// The page: a header, the sizes, and one tab per view of the model.

import { definitions, element, link } from "./dom.js";
import { changeList, checkList, unknownList } from "./findings.js";
import { GraphView } from "./graph.js";
import { interval, Model } from "./model.js";
import { bytes, count } from "./numbers.js";
import { Panel } from "./panel.js";
import { sizes } from "./sizes.js";
import { sliceList } from "./slices.js";
import { Table } from "./table.js";
import { Treemap } from "./treemap.js";

/**
 * Shows data of the schema `snick.view/1` in an element, replacing its content. Returns `{ model, show(layer), unmount() }`;
 * a page that later shows other data unmounts first.
 */
export function mount(place, data) {
  if (data.schema !== "snick.view/1") throw new TypeError(`the viewer shows snick.view/1, not ${data.schema}`);
  const { diff } = data;
  const [marks, otherMarks] = [new Map(), new Map()];
  diff?.removed.forEach((id) => marks.set(id, "removed"));
  diff?.added.forEach((id) => otherMarks.set(id, "added"));
  diff?.changed.forEach(({ a, b }) => [marks.set(a, "changed"), otherMarks.set(b, "changed")]);
  const models = [new Model(data, marks)];
  if (diff) models.push(new Model(diff.other, otherMarks));
  const mounted = new AbortController();
  const views = [];
  const view = (side) => (views[side] ??= new View(models[side], side, models, diff, choose, mounted.signal));
  function choose(side, layer) {
    place.replaceChildren(view(side).element);
    if (layer) view(side).go(layer);
    return view(side);
  }
  place.classList.add("snick-viewer");
  const first = choose(0);
  const unmount = () => {
    mounted.abort();
    place.replaceChildren();
  };
  return { model: models[0], show: (layer) => first.go(layer), unmount };
}

class View {
  constructor(model, side, models, diff, choose, signal) {
    Object.assign(this, { model, side, models, diff, choose });
    this.go = (layer) => {
      this.open("Graph");
      this.graph.reveal(layer);
    };
    this.panel = new Panel(model, this.go);
    const graph = () => {
      this.graph = new GraphView(model, (item) => this.panel.show(item), signal);
      return element("div", { class: "split" }, this.graph.element, this.panel.element);
    };
    const { findings } = model.data.check;
    this.tabs = [
      ["Graph", "Graph", graph],
      ["Table", "Table", () => new Table(model, this.go).element],
      ["Overview", "Overview", () => this.overview()],
      ["Unknown", `Unknown (${model.data.unknown.dims})`, () => unknownList(model, this.go)],
      ["Slices", `Slices (${model.data.slices.length})`, () => sliceList(model, this.go)],
      ["Cost", "Memory and work", () => new Treemap(model, this.go).element],
      ["Check", `Check (${findings.length})`, () => checkList(model, this.go)],
    ];
    if (diff) this.tabs.push(["Changes", diff.equal ? "Changes (none)" : "Changes", () => changeList(models[0], models[1], diff, choose)]);
    this.panes = new Map();
    this.main = element("main", {});
    const buttons = this.tabs.map(([key, title]) => element("button", {
      type: "button", role: "tab", id: `tab-${side}-${key}`, "aria-controls": `pane-${side}-${key}`, onclick: () => this.open(key),
    }, title));
    this.list = element("div", { class: "tabs", role: "tablist", "aria-label": "Views", onkeydown: (event) => this.onKey(event) }, buttons);
    this.element = element("div", { class: "view" }, this.head(), this.list, this.main);
    this.open("Graph");
  }

  onKey(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const at = this.tabs.findIndex(([key]) => key === this.tab);
    this.open(this.tabs[(at + step + this.tabs.length) % this.tabs.length][0]);
    this.list.querySelector("[aria-selected=true]").focus();
  }

  /** Shows a tab, which is created when first opened. */
  open(key) {
    this.tab = key;
    const [, , make] = this.tabs.find(([name]) => name === key);
    if (!this.panes.has(key)) {
      const pane = element("div", { class: `pane ${key.toLowerCase()}`, role: "tabpanel", id: `pane-${this.side}-${key}`, "aria-labelledby": `tab-${this.side}-${key}` });
      this.panes.set(key, pane);
      this.main.append(pane);
      pane.append(make());
    }
    this.panes.forEach((pane, name) => (pane.hidden = name !== key));
    [...this.list.children].forEach((button, at) => {
      const isChosen = this.tabs[at][0] === key;
      button.setAttribute("aria-selected", isChosen);
      button.tabIndex = isChosen ? 0 : -1;
    });
  }

  head() {
    const { model, side, models, choose } = this;
    const { model: about, check, cost } = model.data;
    const verdict = { ok: "no problems", warning: "warnings", error: "errors" }[check.status];
    const swap = models.length > 1
      ? element("div", { class: "sides", role: "group", "aria-label": "Model" }, ["First model", "Second model"].map((text, at) =>
        element("button", { type: "button", "aria-pressed": String(at === side), onclick: () => choose(at) }, text)))
      : null;
    const facts = [about.format, `${count(model.layers.length)} layers`, cost ? `${count(cost.parameters)} parameters` : null, cost ? bytes(cost.weights_bytes) : null];
    const dynamic = model.inputSymbols().length;
    return element(
      "header", {},
      element("div", { class: "title" }, element("h1", {}, about.name || about.files[0] || "Model"),
        element("button", { type: "button", class: `verdict ${check.status}`, onclick: () => this.open("Check") }, `check: ${verdict}`), swap),
      element("p", { class: "facts" }, facts.filter(Boolean).join(" · ")),
      element("details", { class: "size-list", open: dynamic > 0 && dynamic <= 4 && window.innerWidth > 760 }, element("summary", {}, `Sizes (${dynamic})`), sizes(model)),
    );
  }

  overview() {
    const { model, go } = this;
    const { data } = model;
    const ends = (list, title) => {
      const rows = list.map(({ name, layer }) => {
        const fact = element("code", {});
        const update = () => {
          const [output] = model.layers[layer].outputs;
          fact.textContent = model.fact(output);
          fact.className = output && model.isOpenOutput(output) ? "open" : "";
        };
        model.onChange(update);
        update();
        return element("div", { class: "port" }, link(name, () => go(model.layers[layer])), " ", fact);
      });
      return element("section", {}, element("h2", {}, title), rows);
    };
    const used = new Map();
    model.layers.forEach((layer) => used.set(layer.op, (used.get(layer.op) ?? 0) + 1));
    const operations = [...used].sort((a, b) => b[1] - a[1]).map(([op, times]) => [op, String(times)]);
    const types = Object.entries(data.model.constants).map(([type, [elements, size]]) => [type, `${count(elements)} elements, ${bytes(size)}`]);
    const legend = [...model.symbols].map(([name, symbol]) => [name, `${interval(symbol)}: ${symbol.reason ?? "an input declares it"}`]);
    const notes = [...data.model.notes, ...(data.cost?.notes ?? [])].map((note) => element("li", {}, note));
    const sections = [["Symbols", legend.slice(0, 300)], ["Constants by type", types], ["Operations", operations]];
    return element(
      "div", { class: "columns" }, ends(data.inputs, "Inputs"), ends(data.outputs, "Outputs"),
      sections.filter(([, rows]) => rows.length > 0).map(([title, rows]) => element("section", {}, element("h2", {}, title), definitions(rows))),
      notes.length > 0 ? element("section", {}, element("h2", {}, "Notes"), element("ul", {}, notes)) : null,
    );
  }
}
