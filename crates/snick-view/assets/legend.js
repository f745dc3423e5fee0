// The colours of the categories in the shown graph.

import { CATEGORIES } from "./contents.js";
import { element } from "./dom.js";

/** The number of legends, for distinct ids. */
let legendCount = 0;

export class Legend {
  constructor() {
    // On a narrow screen, an open legend takes too much room.
    const isOpen = window.innerWidth > 760;
    this.list = element("ul", { id: `legend-${(legendCount += 1)}`, hidden: !isOpen });
    const toggle = element("button", { type: "button", class: "pill", "aria-expanded": String(isOpen), "aria-controls": this.list.id }, "Colours");
    toggle.addEventListener("click", () => {
      this.list.hidden = !this.list.hidden;
      toggle.setAttribute("aria-expanded", !this.list.hidden);
    });
    this.element = element("div", { class: "legend" }, this.list, toggle);
  }

  /** Lists the categories of a graph. */
  show({ categories, of }) {
    const hasErrors = [...of.values()].some(({ severity }) => severity === "error");
    const entry = (name, text) => element("li", {}, element("span", { class: "swatch", style: `--colour: var(--${name})` }), text);
    this.list.replaceChildren(...categories.map((category) => entry(`category-${category}`, CATEGORIES.get(category))), ...(hasErrors ? [entry("error", "Error")] : []));
    this.element.hidden = categories.length === 0;
  }
}
