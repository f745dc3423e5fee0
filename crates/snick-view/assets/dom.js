// Elements of the page. Texts of a model only enter the page through text nodes, never as HTML.

/** Creates an element from attributes, `on…` listeners, and children, which are nodes or texts. */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    // Set as a property, because a page may forbid style attributes.
    else if (name === "style") made.style.cssText = value;
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}

/** Creates an SVG element. */
export function svgElement(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** A definition list of names and values, without empty values. */
export function definitions(rows) {
  const shown = rows.filter(([, value]) => value !== null && value !== undefined && value !== "");
  return element("dl", {}, shown.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

/** A button that looks like a link. */
export function link(text, onclick, title) {
  return element("button", { type: "button", class: "link", onclick, title }, text);
}

/** A button that copies a text, which is computed when the button is pressed, and says so. Shows an icon or a text. */
export function copyButton(textOf, title, shown = copyIcon()) {
  const status = element("span", { role: "status", class: "copied" });
  const onclick = async () => {
    await copy(textOf());
    status.textContent = "Copied";
    setTimeout(() => (status.textContent = ""), 2000);
  };
  return element("span", { class: "copying" }, element("button", { type: "button", class: "copy", title, "aria-label": typeof shown === "string" ? null : title, onclick }, shown), status);
}

/** Two sheets of paper. */
function copyIcon() {
  const sheet = (x, y) => svgElement("rect", { x, y, width: 7, height: 8, rx: 1.5 });
  return svgElement("svg", { viewBox: "0 0 12 12", class: "icon", "aria-hidden": "true" }, sheet(1, 1), sheet(4, 3));
}

/** The keys of what a user has unfolded, so that it stays unfolded when it is created again. */
export class Unfolded extends Set {
  set(key, isOpen) {
    if (isOpen) this.add(key);
    else this.delete(key);
  }
}

/** The first items of a list in an element, and a button that shows all. Calls `make` for each shown item. */
export function shortList(items, most, make, { unfolded = new Unfolded(), key = "", into = element("div", { class: "list" }) } = {}) {
  into.append(...items.slice(0, most).map(make));
  if (items.length <= most) return [into];
  let rest = [];
  const button = moreButton(unfolded, key, (isOpen) => {
    rest.forEach((child) => child.remove());
    rest = isOpen ? items.slice(most).map(make) : [];
    into.append(...rest);
    return isOpen ? "Show fewer" : `Show all ${items.length}`;
  });
  return [into, button];
}

/** A button that shows more or less. `show` does so, and returns the text of the button. */
export function moreButton(unfolded, key, show) {
  const button = element("button", { type: "button", class: "link more-button", onclick: () => toggle(!unfolded.has(key)) });
  const toggle = (isOpen) => {
    unfolded.set(key, isOpen);
    button.setAttribute("aria-expanded", isOpen);
    button.textContent = show(isOpen);
  };
  toggle(unfolded.has(key));
  return button;
}

/** A long text that is cut until a button shows all of it. `show` makes the content for a text. */
export function longText(text, most, unfolded, key, show = (part) => part) {
  if (text.length <= most) return element("span", {}, show(text));
  const shown = element("span", {});
  const button = moreButton(unfolded, key, (isOpen) => {
    shown.replaceChildren(...[show(isOpen ? text : `${text.slice(0, most)}…`)].flat());
    return isOpen ? "less" : "more";
  });
  return element("span", {}, shown, " ", button);
}

/** A part that can be folded, with a heading without buttons. Its content is made when it is first unfolded. */
export function foldable(heading, content, { unfolded = new Unfolded(), key = "", isOpenAtFirst = false } = {}) {
  // The key is in the set once the state is no longer the first one.
  const isOpen = unfolded.has(key) !== isOpenAtFirst;
  // The event `toggle` comes late; it is for everything that opens the part without a click, such as a search in the page.
  const onclick = () => note(!part.open);
  const part = element("details", { class: "foldable", open: isOpen, ontoggle: () => note(part.open) }, element("summary", { onclick }, heading));
  const note = (isShown) => {
    if (isShown && part.children.length === 1) part.append(...[content()].flat());
    unfolded.set(key, isShown !== isOpenAtFirst);
  };
  note(isOpen);
  return part;
}

/** Copies a text, also where the page may not use the clipboard API because it is a local file. */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = element("textarea", { "aria-hidden": "true", class: "off-screen" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
