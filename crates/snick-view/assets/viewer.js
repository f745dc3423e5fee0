// The page: a header, the sizes, and one tab per view of the model.

import { readAddress, replaceAddress, writtenAddress } from "./address.js";
import { changesBySide, Comparison } from "./changes.js";
import { operations } from "./contents.js";
import { definitions, element, shortList } from "./dom.js";
import { checkList, unknownList } from "./findings.js";
import { GraphView } from "./graph.js";
import { Links } from "./links.js";
import { interval, Model } from "./model.js";
import { bytes, count } from "./numbers.js";
import { Panel } from "./panel.js";
import { costs, sizes } from "./sizes.js";
import { sliceList } from "./slices.js";
import { Table } from "./table.js";
import { Treemap } from "./treemap.js";

/** Maximum number of symbols to list at first. */
const MOST_SYMBOLS = 100;

/**
 * Shows data of the schema `snick.view/1` in an element, replacing its content. Returns `{ model, show(layer), unmount() }`;
 * a page that later shows other data unmounts first. With `hasAddress`, the part of the page's address after `#` says what
 * is shown. For pages that show a model again, the result also has `models`, `position()`, which is what the reader has
 * chosen as the fields of an address, and `restore(position)`.
 */
export function mount(place, data, { hasAddress = false } = {}) {
  if (data.schema !== "snick.view/1") throw new TypeError(`the viewer shows snick.view/1, not ${data.schema}`);
  const { diff } = data;
  const sides = changesBySide(diff);
  const models = [data, ...(diff ? [diff.other] : [])].map((of, side) => new Model(of, sides[side].changes, sides[side].counterparts));
  const links = models.map((model, side) => new Links(model, (layer) => choose(side).go(layer), (name) => choose(side).showSymbol(name)));
  const mounted = new AbortController();
  const views = [];
  /** Whether what is shown is written to the address. */
  let isWritten = false;
  const write = (view) => isWritten && replaceAddress(writtenAddress(view.address()));
  let shown = 0;
  const comparison = diff ? new Comparison(models, links, diff, (side, layer) => swap(side, layer)) : null;
  const view = (side) => (views[side] ??= new View(models[side], links[side], side, comparison, swap, write, mounted.signal));
  function choose(side) {
    shown = side;
    if (view(side).element.parentElement !== place) place.replaceChildren(view(side).element);
    write(view(side));
    return view(side);
  }
  /** Shows one of the models, in the same tab and at the same place of the screen. */
  function swap(side, layer) {
    const from = view(shown);
    const other = layer ?? models[side].layers[models[1 - side].counterparts.get(from.selected?.id)];
    choose(side).follow(from, side === from.side ? null : other);
    const focused = layer ? view(side).graph.canvas : view(side).element.querySelector("[aria-pressed=true]");
    focused.focus();
  }
  function restore(position) {
    isWritten = false;
    choose(position.model === "2" && diff ? 1 : 0).restore(position);
    isWritten = hasAddress;
  }
  place.classList.add("snick-viewer");
  const first = choose(0);
  if (hasAddress) {
    const read = () => restore(readAddress(location.hash));
    read();
    addEventListener("hashchange", read, { signal: mounted.signal });
  }
  // Paper is white, and the canvas is painted before the style for print applies.
  const print = (isPrinting) => () => {
    place.classList.toggle("printing", isPrinting);
    views.forEach((one) => one.print(isPrinting));
  };
  addEventListener("beforeprint", print(true), { signal: mounted.signal });
  addEventListener("afterprint", print(false), { signal: mounted.signal });
  const unmount = () => {
    mounted.abort();
    place.replaceChildren();
  };
  const position = () => view(shown).address();
  return { model: models[0], models, show: (layer) => first.go(layer), position, restore, unmount };
}

class View {
  /** Calls `onChange` when the address of what is shown changes. */
  constructor(model, links, side, comparison, swap, onChange, signal) {
    Object.assign(this, { model, links, side, comparison, swap, onChange, selected: null, tab: "Graph" });
    this.go = (layer) => {
      this.open("Graph");
      this.graph.reveal(layer);
    };
    this.panel = new Panel(model, links, side, comparison, () => this.graph);
    const close = element("button", { type: "button", class: "close", "aria-label": "Close", title: "Close (Escape)", onclick: () => this.close() }, "×");
    this.drawer = element("div", { class: "drawer", hidden: true }, close, this.panel.element);
    const graph = () => {
      this.graph = new GraphView(model, (item) => this.select(item), signal);
      // In a search field, Escape closes the results.
      const onkeydown = ({ key, target }) => key === "Escape" && !target.matches("input") && this.close();
      return element("div", { class: "split", onkeydown }, this.graph.element, this.drawer);
    };
    const { findings } = model.data.check;
    const unknown = () => `Unknown (${model.openSizes()})`;
    this.tabs = [
      ["Graph", "Graph", graph],
      ["Table", "Table", () => (this.table = new Table(model, this.go)).element],
      ["Overview", "Overview", () => this.overview()],
      ["Unknown", unknown(), () => this.unknown()],
      ["Slices", `Slices (${model.data.slices.length})`, () => sliceList(model, links)],
      ["Cost", "Memory and work", () => new Treemap(model, this.go).element],
      ["Check", `Check (${findings.length})`, () => checkList(model, links)],
    ];
    if (comparison) this.tabs.push(["Changes", comparison.diff.equal ? "Changes (none)" : "Changes", () => comparison.overview()]);
    this.panes = new Map();
    this.main = element("main", {});
    const buttons = this.tabs.map(([key, title]) => element("button", {
      type: "button", role: "tab", id: `tab-${side}-${key}`, onclick: () => this.open(key),
    }, title));
    this.list = element("div", { class: "tabs", role: "tablist", onkeydown: (event) => this.onKey(event) }, buttons);
    this.notice = element("p", { class: "notice", role: "status", hidden: true });
    this.element = element("div", { class: "view" }, this.head(), element("nav", { "aria-label": "Views" }, this.list), this.notice, this.main);
    model.onChange(() => {
      this.list.querySelector(`#tab-${side}-Unknown`).textContent = unknown();
      this.onChange(this);
    });
    this.open("Graph");
  }

  /** Shows the selected layer or scope, or nothing, beside the graph. */
  select(item) {
    this.selected = item;
    if (item) this.panel.show(item);
    this.drawer.hidden = !item;
    this.notice.hidden = true;
    this.onChange(this);
  }

  /** Shows a symbol in the panel. */
  showSymbol(symbol) {
    this.open("Graph");
    this.panel.show({ symbol });
    this.drawer.hidden = false;
  }

  /** Shows the same tab as the view of the other model, and a layer at the place of the layer that is selected there. */
  follow(other, layer) {
    if (!layer) return this.open(other.tab);
    this.open("Graph");
    this.graph.revealAt(layer, other.graph.spot());
    this.open(other.tab);
  }

  close() {
    this.graph.select(null);
    this.graph.canvas.focus();
  }

  /** What is shown, as fields of an address. */
  address() {
    const { selected, graph, tab, side, model } = this;
    const layer = selected?.id === undefined ? null : selected;
    const at = layer ? layer.graph : graph.at;
    return {
      model: side > 0 ? "2" : undefined, graph: at > 0 ? String(at) : undefined,
      layer: layer?.name, tab: tab === "Graph" ? undefined : tab, sizes: [...model.chosen].map(([symbol, size]) => [symbol, String(size)]),
    };
  }

  /** Shows what the fields of an address say. */
  restore({ graph, layer, tab, sizes }) {
    const { model } = this;
    if (sizes.length > 0 || model.chosen.size > 0) model.chooseAll(sizes);
    const at = graph === undefined ? undefined : Number(graph);
    const found = layer === undefined ? undefined : model.layers.find((one) => one.name === layer && (at === undefined || one.graph === at));
    if (found) this.go(found);
    else {
      if (model.data.graphs[at]) this.graph.show(at);
      this.graph.select(null);
    }
    this.open(this.tabs.some(([key]) => key === tab) ? tab : "Graph");
    if (found && tab === "Table") this.table.reveal(found);
    if (layer === undefined || found) return;
    this.notice.textContent = `No layer has the name “${layer}”.`;
    this.notice.hidden = false;
  }

  print(isPrinting) {
    this.graph.print(isPrinting);
    this.table?.print(isPrinting);
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
      const isScrolled = !["Graph", "Table", "Cost"].includes(key);
      const pane = element("div", {
        class: `pane ${key.toLowerCase()}`, role: "tabpanel", id: `pane-${this.side}-${key}`, "aria-labelledby": `tab-${this.side}-${key}`,
        tabindex: isScrolled ? "0" : null,
      });
      this.panes.set(key, pane);
      this.main.append(pane);
      pane.append(make());
      this.list.querySelector(`#tab-${this.side}-${key}`).setAttribute("aria-controls", pane.id);
    }
    this.panes.forEach((pane, name) => (pane.hidden = name !== key));
    [...this.list.children].forEach((button, at) => {
      const isChosen = this.tabs[at][0] === key;
      button.setAttribute("aria-selected", isChosen);
      button.tabIndex = isChosen ? 0 : -1;
      if (isChosen) this.list.scrollLeft = Math.min(Math.max(this.list.scrollLeft, button.offsetLeft + button.offsetWidth - this.list.clientWidth), button.offsetLeft);
    });
    this.onChange(this);
  }

  head() {
    const { model, side, comparison, swap } = this;
    const { model: about, check, cost } = model.data;
    const verdict = { ok: "no problems", warning: "warnings", error: "errors" }[check.status];
    const names = comparison
      ? element("div", { class: "sides", role: "group", "aria-label": "Model" }, comparison.names.map((name, at) =>
        element("button", { type: "button", "aria-pressed": String(at === side), onclick: () => at !== side && swap(at) }, name)))
      : null;
    const fixed = [about.format, `${count(model.layers.length)} layers`, cost ? `${count(cost.parameters)} parameters` : null, cost ? bytes(cost.weights_bytes) : null];
    const facts = element("p", { class: "facts" });
    const update = () => {
      const macs = cost ? model.evaluate(cost.macs) : null;
      facts.textContent = [...fixed, macs ? `${count(macs)} MACs` : null].filter(Boolean).join(" · ");
    };
    model.onChange(update);
    update();
    const hasOwnName = about.name && ![about.title, about.title.replace(/\.[^.]*$/, "")].includes(about.name);
    const dynamic = model.inputSizes().length;
    const list = element("div", { class: "size-list", id: `sizes-${side}`, hidden: true }, dynamic > 0 ? sizes(model) : null);
    const toggle = element("button", { type: "button", class: "pill", "aria-expanded": "false", "aria-controls": list.id }, `Sizes (${dynamic})`);
    toggle.addEventListener("click", () => {
      list.hidden = !list.hidden;
      toggle.setAttribute("aria-expanded", !list.hidden);
    });
    return element(
      "header", {},
      element(
        "div", { class: "title" }, element("h1", {}, about.title || "Model"), hasOwnName ? element("span", { class: "graph-name" }, about.name) : null,
        facts, element("button", { type: "button", class: `pill verdict ${check.status}`, onclick: () => this.open("Check") }, `check: ${verdict}`),
        dynamic > 0 ? toggle : null, names,
      ),
      list,
    );
  }

  /** The unknown sizes, which depend on the chosen ones. */
  unknown() {
    const list = element("div", {});
    const { model, links } = this;
    const update = () => {
      list.replaceChildren(unknownList(model, links));
      if (model.chosen.size === 0 || model.openSizes() === 0) return;
      // Inference may compute a size from floating-point numbers, which no expression over symbols describes.
      const shapes = model.data.inputs.map(({ layer }, at) => `${at}${model.layers[layer].outputs[0]?.dims ? model.shape(model.layers[layer].outputs[0]) : ""}`);
      list.append(element("p", { class: "hint" }, "Sizes without a formula may be known to ", element("code", {}, `snick infer --shape "${shapes.filter((shape) => shape.includes("[")).join(",")}"`), "."));
    };
    model.onChange(update);
    update();
    return list;
  }

  overview() {
    const { model, links } = this;
    const { data } = model;
    const ends = (list, title) => {
      const rows = list.map(({ name, layer }) => {
        const fact = element("span", {});
        const update = () => fact.replaceChildren(links.value(model.layers[layer].outputs[0]));
        model.onChange(update);
        update();
        return element("div", { class: "port" }, links.layer(layer, name), " ", fact);
      });
      return element("section", {}, element("h2", {}, title), rows);
    };
    const used = operations(model.layers).map(([op, times]) => [op, String(times)]);
    const types = Object.entries(data.model.constants).map(([type, [elements, size]]) => [type, `${count(elements)} elements, ${bytes(size)}`]);
    const meaning = ([name, symbol]) => element("div", { class: "attribute" }, element("dt", {}, links.symbol(name)), element("dd", {}, `${interval(symbol)}: `, links.reason(symbol)));
    const symbols = shortList([...model.symbols], MOST_SYMBOLS, meaning, { into: element("dl", { class: "attributes" }) });
    const run = element("div", {});
    const updateRun = () => run.replaceChildren(definitions(costs(model)));
    model.onChange(updateRun);
    updateRun();
    const notes = [...data.model.notes, ...(data.cost?.notes ?? [])].map((note) => element("li", {}, links.text(note)));
    const about = [["Graph", data.model.name], ["Files", data.model.files.join(", ")]].filter(([, value]) => value);
    const sections = [["Model", about], ["Constants by type", types], ["Operations", used]];
    return element(
      "div", { class: "columns" }, ends(data.inputs, "Inputs"), ends(data.outputs, "Outputs"),
      data.cost ? element("section", {}, element("h2", {}, "A run"), run) : null,
      model.symbols.size > 0 ? element("section", {}, element("h2", {}, "Symbols"), symbols) : null,
      sections.filter(([, rows]) => rows.length > 0).map(([title, rows]) => element("section", {}, element("h2", {}, title), definitions(rows))),
      notes.length > 0 ? element("section", {}, element("h2", {}, "Notes"), element("ul", {}, notes)) : null,
    );
  }
}
