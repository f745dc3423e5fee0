// A field that searches layers by name or operation.

import { element } from "./dom.js";

/** Maximum number of layers to list. */
const MOST_FOUND = 40;

export class Search {
  /** Calls `onChoose` with the chosen layer. */
  constructor(model, onChoose) {
    Object.assign(this, { model, onChoose });
    this.results = element("ul", { class: "results", hidden: true, "aria-label": "Layers found" });
    this.field = element("input", {
      type: "search", placeholder: "Search layers", "aria-label": "Search layers by name or operation",
      oninput: () => this.update(), onkeydown: (event) => this.onKey(event),
    });
    this.element = element("div", { class: "search" }, this.field, this.results);
  }

  focus() {
    this.field.focus();
  }

  update() {
    const found = this.model.search(this.field.value);
    const items = found.slice(0, MOST_FOUND).map((layer) => element("li", {}, this.button(layer)));
    const note = (text) => items.push(element("li", { class: "more" }, text));
    if (found.length > MOST_FOUND) note(`${found.length - MOST_FOUND} more`);
    if (found.length === 0) note("No layer has this name or operation");
    this.results.replaceChildren(...items);
    this.results.hidden = !this.field.value;
  }

  button(layer) {
    const choose = () => {
      this.results.hidden = true;
      this.onChoose(layer);
    };
    const fact = layer.outputs[0] ? ` ${this.model.fact(layer.outputs[0])}` : "";
    return element("button", { type: "button", onclick: choose }, element("b", {}, layer.op), ` ${layer.name}`, element("small", {}, fact));
  }

  onKey(event) {
    const first = this.results.querySelector("button");
    if (event.key === "Escape") this.results.hidden = true;
    if (event.key === "Enter") first?.click();
    if (event.key === "ArrowDown") first?.focus();
  }
}
