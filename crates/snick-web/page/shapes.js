// Input shapes, in the syntax of `--shape`: one row per input.

import { element } from "./viewer/dom.js";

/** The inputs of a model, with their shapes at the chosen sizes as far as they are chosen. */
export function inputs(model) {
  return model.data.inputs.map(({ name, layer }) => {
    const { attributes, outputs: [output] } = model.layers[layer];
    const declared = attributes?.shape ?? output?.dims?.join(",") ?? "...";
    return { name, type: output?.type ?? "dynamic", shape: `[${declared}]`, sized: `[${sized(model, declared, output)}]` };
  });
}

/** The dims of an input, with numbers where the chosen sizes give them. */
function sized(model, declared, output) {
  const dims = declared.split(",");
  if (model.chosen.size === 0 || output?.dims?.length !== dims.length) return declared;
  return dims.map((dim, axis) => model.evaluate(output.dims[axis]) ?? dim).join(",");
}

/** The text of a field as a shape: empty for the shape of the file. */
export function shapeOf(text, ofFile) {
  const dims = text.trim().replace(/^\[(.*)\]$/, "$1").trim();
  if (text.trim() === "" || `[${dims}]` === ofFile) return "";
  return `[${dims}]`;
}

/** A row with the name and type of an input, a field for its shape, and its error. */
export class ShapeRow {
  constructor(prefix, at, { name, type }, shape, ofFile) {
    const id = `${prefix}-${at}`;
    this.ofFile = ofFile;
    this.field = element("input", {
      type: "text", id, value: shape, placeholder: ofFile, autocomplete: "off", spellcheck: "false", "aria-describedby": `${id}-error`,
      oninput: () => this.show(""),
    });
    this.error = element("p", { class: "error", id: `${id}-error` });
    this.label = element("label", { for: id }, element("b", {}, name), " ", element("code", {}, type));
    this.element = element("div", { class: "input" }, this.label, this.field, this.error);
  }

  get shape() {
    return shapeOf(this.field.value, this.ofFile);
  }

  /** Shows the error of the shape, or none if it is empty. */
  show(error) {
    this.error.textContent = error;
    if (error) this.field.setAttribute("aria-invalid", "true");
    else this.field.removeAttribute("aria-invalid");
  }
}

/** Shows the errors of rows, or the message of a problem that is not about one row, and moves to the first of them. */
export function showErrors(rows, place, problem) {
  const errors = problem?.inputs ?? [];
  rows.forEach((row, at) => row.show(errors[at] ?? ""));
  const wrong = rows.find((row, at) => errors[at]);
  place.textContent = problem && !wrong ? [problem.message, problem.help].filter(Boolean).join(" ") : "";
  wrong?.field.focus();
}
