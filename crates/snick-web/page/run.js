// The dialogs of a run: its inputs, which are random or from files, and its outputs.

import { inputs, ShapeRow, showErrors } from "./shapes.js";
import { element } from "./viewer/dom.js";

const $ = (id) => document.getElementById(id);

/** The inputs of a run. */
export class RunInputs {
  /** `ofFile` are the shapes of the inputs in the file of the model. */
  constructor(model, ofFile) {
    this.inputs = inputs(model);
    this.rows = this.inputs.map((input, at) => {
      const row = new ShapeRow("run", at, input, input.sized, ofFile[at] ?? input.shape);
      row.array = element("code", { class: "array", hidden: true });
      row.element.append(row.array);
      return row;
    });
    /** `{ file, array, input, select }`, where the input is an index or null. */
    this.arrays = [];
    $("run-inputs").replaceChildren(...this.rows.map((row) => row.element));
    $("run-arrays").replaceChildren();
    this.fail(null);
  }

  /** Adds the arrays of a file. `found` lists them as the worker does. */
  add(file, found) {
    for (const { name: array, element_type: type, shape, named, fits } of found) {
      const title = `${file.name}${array ? `: ${array}` : ""}`;
      // The only array of a file has a clear place if it fits only one input; otherwise the person is asked.
      const input = named ?? (array === "" && fits.length === 1 ? fits[0] : null);
      const entry = { file, array, input: null, title, fact: `${type}[${shape.join(",")}]` };
      entry.select = this.select(entry, fits);
      this.arrays.push(entry);
      const id = `array-${this.arrays.length}`;
      entry.select.id = id;
      $("run-arrays").append(element("div", { class: "input" }, element("label", { for: id }, element("b", {}, title), " ", element("code", {}, entry.fact)), entry.select));
      this.assign(entry, input);
    }
    const open = this.arrays.find(({ input, array }) => input === null && array === "");
    open?.select.focus();
    this.describe();
  }

  select(entry, fits) {
    const option = (at, text) => element("option", { value: at }, text);
    const names = this.inputs.map(({ name }, at) => option(at, fits.includes(at) ? name : `${name} (does not fit)`));
    return element("select", { onchange: (event) => this.assign(entry, event.target.value === "" ? null : Number(event.target.value)) }, option("", "no input"), names);
  }

  /** Gives an array as an input, in place of any other. */
  assign(entry, input) {
    for (const other of this.arrays) if (other !== entry && other.input === input) other.input = null;
    entry.input = input;
    this.arrays.forEach(({ select, input: at }) => (select.value = at === null ? "" : String(at)));
    this.rows.forEach((row, at) => {
      const given = this.arrays.find(({ input: of }) => of === at);
      row.field.hidden = given !== undefined;
      row.array.hidden = given === undefined;
      row.array.textContent = given ? `${given.title} ${given.fact}` : "";
    });
    this.describe();
  }

  describe() {
    const open = this.arrays.filter(({ input }) => input === null).map(({ title }) => title);
    $("run-status").textContent = open.length > 0 ? `Not used: ${open.join(", ")}. Choose the input that each is for.` : "";
  }

  /** The arguments of the request to the worker. */
  get request() {
    const files = [...new Set(this.arrays.filter(({ input }) => input !== null).map(({ file }) => file))];
    const arrays = this.arrays.filter(({ input }) => input !== null).map(({ file, array, input }) => ({ input, file: files.indexOf(file), array }));
    const isGiven = (at) => arrays.some(({ input }) => input === at);
    const shapes = this.rows.map((row, at) => (isGiven(at) ? this.ofGiven(at) : row.shape));
    return [shapes, this.seed, files, arrays];
  }

  /** An input that is an array has the shape that the page shows, without the chosen sizes. */
  ofGiven(at) {
    return this.inputs[at].shape === this.rows[at].ofFile ? "" : this.inputs[at].shape;
  }

  get seed() {
    return $("seed").value.trim() || "0";
  }

  fail(problem) {
    showErrors(this.rows, $("run-error"), problem);
  }
}

/** Shows the inputs and outputs of a run. `save(at)` saves an output, or all of them without an index. */
export function showOutputs({ inputs: given, outputs }, seed, save) {
  const fact = ({ element_type: type, shape }) => `${type}[${shape.join(",")}]`;
  const random = given.some(({ is_random: isRandom }) => isRandom) ? ` The seed is ${seed}.` : "";
  const texts = given.map((input) => `${input.name} ${fact(input)} is ${input.is_random ? "random" : "from a file"}`);
  $("outputs-inputs").textContent = texts.length > 0 ? `${texts.join("; ")}.${random}` : "The model has no inputs.";
  const head = ["Name", "Type", "Shape", "Min", "Max", "Mean", "First elements", "Save"].map((title) => element("th", { scope: "col" }, title));
  const rows = outputs.map((output, at) => {
    const cells = [
      ["Type", output.element_type], ["Shape", `[${output.shape.join(",")}]`],
      ["Min", number(output.min)], ["Max", number(output.max)], ["Mean", number(output.mean)], ["First elements", elements(output)],
    ];
    return element(
      "tr", {}, element("th", { scope: "row" }, output.name), cells.map(([title, text]) => element("td", { "data-title": title, class: title === "First elements" ? "elements" : "" }, text)),
      element("td", {}, element("button", { type: "button", "data-do": "", "aria-label": `Save ${output.name} as .npy`, onclick: () => save(at) }, ".npy")),
    );
  });
  $("outputs-table").replaceChildren(element("thead", {}, element("tr", {}, head)), element("tbody", {}, rows));
}

function number(value) {
  return value === undefined ? "" : String(Number(value.toPrecision(7)));
}

function elements({ first, shape, nan, inf }) {
  const count = shape.reduce((product, size) => product * size, 1);
  const odd = [[nan, "NaN"], [inf, "infinite"]].filter(([times]) => times > 0).map(([times, what]) => `${times} ${what}`);
  return `${first.join(", ")}${count > first.length ? ", …" : ""}${odd.length > 0 ? ` (${odd.join(", ")})` : ""}`;
}
