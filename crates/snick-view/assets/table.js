// The layers as a table. Only visible rows are in the page.

import { operations } from "./contents.js";
import { copyButton, element, link } from "./dom.js";
import { bytes, count } from "./numbers.js";

const ROW = 28;

/** Maximum number of rows to print. */
const MOST_PRINTED = 5000;

const COLUMNS = [
  { name: "Layer", of: (layer) => layer.name },
  { name: "Operation", of: (layer) => layer.op },
  { name: "Shape", of: (layer, model) => layer.outputs.map((output) => model.fact(output)).join(" ") },
  { name: "MACs", of: (layer, model) => model.cost(layer)[0], shown: count },
  { name: "Writes", of: (layer, model) => model.cost(layer)[2], shown: bytes },
  { name: "Weights", of: (layer, model) => BigInt(model.weights(layer)), shown: bytes },
  { name: "Place", of: (layer) => layer.loc ?? "" },
];

export class Table {
  constructor(model, onGo) {
    Object.assign(this, { model, onGo, column: null, isDescending: false });
    const filter = { type: "search", placeholder: "Filter: name, operation, shape", "aria-label": "Filter layers", oninput: () => this.update() };
    this.filter = element("input", filter);
    this.operations = element("select", { "aria-label": "Operation", onchange: () => this.update() });
    this.operations.append(element("option", { value: "" }, "All operations"), ...operations(model.layers).map(([op, times]) => element("option", { value: op }, `${op} (${times})`)));
    this.summary = element("span", { role: "status" });
    this.headings = COLUMNS.map((column) => element("div", { role: "columnheader" }, link(column.name, () => this.sort(column))));
    this.rows = element("div", { class: "rows", role: "rowgroup" });
    this.scroller = element("div", { class: "scroller", tabindex: "0", role: "table", "aria-label": "Layers", onscroll: () => this.draw() },
      element("div", { class: "row head", role: "row" }, this.headings), this.rows);
    this.element = element("div", { class: "table-view" }, element("div", { class: "bar" }, this.filter, this.operations, copyButton(() => this.csv(), "Copy as CSV", "Copy as CSV"), this.summary), this.scroller);
    model.onChange(() => this.update());
    new ResizeObserver(() => this.draw()).observe(this.scroller);
    this.update();
  }

  sort(column) {
    this.isDescending = this.column === column ? !this.isDescending : Boolean(column.shown);
    this.column = column;
    this.headings.forEach((heading, at) => {
      const order = this.isDescending ? "descending" : "ascending";
      heading.setAttribute("aria-sort", COLUMNS[at] === column ? order : "none");
    });
    this.update();
  }

  update() {
    const { model, column } = this;
    const words = this.filter.value.trim().toLowerCase();
    const op = this.operations.value;
    const shape = COLUMNS[2];
    this.layers = model.layers.filter((layer) =>
      (!op || layer.op === op) && (!words || layer.search.includes(words) || shape.of(layer, model).toLowerCase().includes(words)));
    if (column) {
      const keyed = this.layers.map((layer) => [column.of(layer, model), layer]);
      const compare = column.shown ? (a, b) => compareNumbers(a[0], b[0]) : (a, b) => (a[0] < b[0] ? -1 : Number(a[0] > b[0]));
      keyed.sort(this.isDescending ? (a, b) => compare(b, a) : compare);
      this.layers = keyed.map(([, layer]) => layer);
    }
    this.summary.textContent = `${this.layers.length} of ${model.layers.length} layers`;
    this.scroller.setAttribute("aria-rowcount", this.layers.length + 1);
    this.rows.style.height = `${this.layers.length * ROW}px`;
    this.draw();
  }

  draw() {
    const first = this.isPrinting ? 0 : Math.max(Math.floor(this.scroller.scrollTop / ROW) - 5, 0);
    const last = this.isPrinting ? MOST_PRINTED : first + Math.ceil((this.scroller.clientHeight || 600) / ROW) + 10;
    const shown = this.layers.slice(first, last).map((layer, at) => {
      const cells = COLUMNS.map((column, index) => {
        const text = this.text(column, layer);
        const child = index === 0 ? link(text, () => this.onGo(layer)) : text;
        const isOpen = index === 2 && layer.outputs.some((output) => this.model.isOpenOutput(output));
        return element("div", { role: "cell", title: text, class: isOpen ? "open" : "" }, child);
      });
      const mark = this.model.markOf(layer) ?? (this.model.severities.get(layer.id) === "error" ? "error" : "");
      return element("div", { class: `row ${mark}`, role: "row", "aria-rowindex": first + at + 2, style: `top:${(first + at) * ROW}px` }, cells);
    });
    this.rows.replaceChildren(...shown);
  }

  /** Scrolls to a layer. */
  reveal(layer) {
    const at = this.layers.indexOf(layer);
    if (at < 0) return;
    this.scroller.scrollTop = Math.max(at - 3, 0) * ROW;
    this.draw();
  }

  /** Draws all rows for print, or only the visible ones. */
  print(isPrinting) {
    this.isPrinting = isPrinting;
    this.draw();
  }

  text(column, layer) {
    const value = column.of(layer, this.model);
    if (!column.shown) return value;
    return value === 0n ? "" : column.shown(value);
  }

  /** The visible rows as CSV, with the names of the columns. */
  csv() {
    const plain = (value) => String(value ?? "?");
    const lines = this.layers.map((layer) => COLUMNS.map((column) => csv(plain(column.of(layer, this.model)))).join(","));
    return [COLUMNS.map(({ name }) => name).join(","), ...lines].join("\n");
  }
}

/** Sorts unknown numbers first. */
function compareNumbers(a, b) {
  if (a === null || b === null) return Number(b === null) - Number(a === null);
  return a < b ? -1 : Number(a > b);
}

/** A CSV cell. Spreadsheets would execute text that looks like a formula. */
function csv(text) {
  const safe = /^[=+\-@\t]/.test(text) ? `'${text}` : text;
  return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
