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

/** Copies a text, also where the page may not use the clipboard API because it is a local file. */
export async function copy(text) {
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
