// Everything known about one layer, scope or symbol.

import { operations } from "./contents.js";
import { copyButton, definitions, element, link, longText, shortList, Unfolded } from "./dom.js";
import { command } from "./links.js";
import { bytes, count, counted } from "./numbers.js";
import { pictures } from "./slices.js";
import { aboutSymbol } from "./symbol.js";
import { statistics, weights } from "./weights.js";
import { Trace, WhyTree } from "./why.js";

/** Maximum number of entries of a list to show at first. */
const MOST_LISTED = 30;

/** Maximum length of a name or value to show at first. */
const MOST_CHARACTERS = 160;

/** Attributes that name the variable of a state. */
const VARIABLE = "variable_id";

export class Panel {
  /** `graph` is the view of the graph, and `comparison` the other model, if any. */
  constructor(model, links, side, comparison, graph) {
    Object.assign(this, { model, links, side, comparison, graph, item: null, before: null, unfolded: new Unfolded(), trace: new Trace(model) });
    this.element = element("aside", { class: "panel empty", "aria-label": "Selection" });
    model.onChange(() => this.item && this.show(this.item));
  }

  /** Shows a layer, a scope, or a symbol, which is given as `{ symbol: NAME }`. */
  show(item) {
    const isSame = item === this.item;
    if (!isSame) {
      this.before = item.symbol === undefined ? null : (this.before ?? this.item);
      this.unfolded.clear();
    }
    this.item = item;
    const hadFocus = this.element.contains(document.activeElement);
    this.element.classList.remove("empty");
    this.element.replaceChildren(...this.content(item));
    if (isSame) return;
    this.element.scrollTop = 0;
    // The link that had the focus is gone.
    if (hadFocus) this.element.firstChild.focus();
  }

  content(item) {
    if (item.symbol !== undefined) return [...this.heading(item.symbol, "symbol"), this.back(), ...aboutSymbol(this.model, this.links, item.symbol, this.unfolded)].filter(Boolean);
    return item.id === undefined ? this.ofScope(item) : this.ofLayer(item);
  }

  heading(name, what) {
    return [element("h2", { tabindex: "-1" }, longText(name, MOST_CHARACTERS, this.unfolded, "name")), element("div", { class: "tools" }, copyButton(() => name, `Copy the name of the ${what}`, "Copy name"))];
  }

  /** A link from a symbol to what the panel showed before. */
  back() {
    if (!this.before) return null;
    const { before } = this;
    return element("p", {}, link(`Back to ${before.name}`, () => this.show(before)));
  }

  ofScope(scope) {
    const { layers } = scope;
    const inside = new Set(layers);
    const isData = ([id]) => !inside.has(this.model.layers[id]) && !this.model.constants.has(id);
    const entering = distinct(layers.flatMap((layer) => layer.inputs.filter((source) => source && isData(source))));
    const leaving = this.model.leaving(scope);
    const value = (source) => element("div", { class: "port" }, this.links.layer(source[0]), " ", this.links.value(this.model.source(source)));
    const inner = scope.items.filter((item) => item.id === undefined);
    const row = (child) => element("div", { class: "port" }, link(child.name, () => this.graph().revealScope(child)), ` ${counted(child.size, "layer")}`);
    const text = scope.repeats ? `${scope.repeats} blocks of the same structure, ${scope.size} layers in all` : `${scope.size} layers`;
    const weightBytes = layers.reduce((sum, layer) => sum + this.model.weights(layer), 0);
    return [
      ...this.heading(scope.name, "scope"),
      element("p", {}, `${text}. Enter unfolds it. `, link("Unfold", () => this.graph().open(scope))),
      definitions([["MACs", this.sum(layers, 0, count)], ["Operations", this.sum(layers, 1, count)], ["Writes", this.sum(layers, 2, bytes)], ["Weights", weightBytes > 0 ? bytes(weightBytes) : null]]),
      ...this.section("Changes", this.changesWithin(layers)),
      ...this.section("Values that enter", this.list(entering, value, "entering"), entering.length === 0),
      ...this.section("Values that leave", this.list(leaving, value, "leaving"), leaving.length === 0),
      ...this.section("Scopes inside", this.list(inner, row, "inner"), inner.length === 0),
      ...this.section("Operations", this.list(operations(layers), ([op, times]) => element("div", { class: "port" }, `${times} × ${op}`), "operations")),
    ];
  }

  /** The sum of an amount over layers, as far as it is known; empty if it is 0. */
  sum(layers, at, unit) {
    const amounts = layers.filter(({ cost }) => cost?.[at]).map((layer) => this.model.evaluate(layer.cost[at]));
    const unknown = amounts.filter((amount) => amount === null).length;
    const total = amounts.reduce((sum, amount) => sum + (amount ?? 0n), 0n);
    const known = total > 0n ? [unit(total)] : [];
    return [...known, ...(unknown > 0 ? [`unknown for ${counted(unknown, "layer")}`] : [])].join("; ");
  }

  changesWithin(layers) {
    const found = layers.map((layer) => [layer, this.model.markOf(layer)]).filter(([, mark]) => mark);
    return this.list(found, ([layer, mark]) => element("div", { class: "port" }, `${mark} `, this.links.layer(layer.id)), "changes");
  }

  list(items, make, key) {
    return items.length === 0 ? [] : shortList(items, MOST_LISTED, make, { unfolded: this.unfolded, key });
  }

  ofLayer(layer) {
    const { model, links } = this;
    const [macs, flops, written] = [count, count, bytes].map((unit, at) => this.amount(layer.cost?.[at], unit));
    const weightBytes = model.weights(layer);
    const slice = model.slices.get(layer.id);
    const findings = model.findings.get(layer.id) ?? [];
    const graph = model.data.graphs[layer.graph];
    const bodies = model.data.graphs.filter(({ owner }) => owner === layer.id);
    const changes = this.comparison?.ofLayer(this.side, layer, this.unfolded) ?? [];
    return [
      ...this.heading(layer.name, "layer"),
      definitions([
        ["Operation", `${layer.op} (${layer.version})`],
        ["Place", layer.loc],
        ["Inside", graph.owner === null ? null : element("span", {}, `${graph.role} of `, links.layer(graph.owner))],
        ["Change", model.markOf(layer)],
        ["MACs", macs],
        ["Operations", flops],
        ["Writes", written],
        ["Weights", weightBytes > 0 ? bytes(weightBytes) : null],
      ]),
      ...this.section(model.markOf(layer) ? "What changed" : "Other model", changes),
      ...this.section("Findings", this.list(findings, (one) => this.finding(one), "findings")),
      ...this.section("Outputs", this.list(layer.outputs, (output) => this.output(layer, output), "outputs")),
      ...this.section("Where sizes come from", this.why(layer)),
      ...this.section("Inputs", this.list(layer.inputs.map((source, port) => [source, port]), ([source, port]) => this.input(source, port), "inputs")),
      ...this.section("Read by", this.list(layer.readers, ([id, port]) => element("div", { class: "port" }, links.layer(id), ` input ${port}`), "readers")),
      ...this.section("Bodies", bodies.map(({ role, layers: [first] }) => element("div", { class: "port" }, first ? links.layer(first.id, role) : role))),
      ...this.section("Attributes", this.attributes(layer)),
      ...this.section("Slice", slice ? pictures(model, slice, links) : []),
      ...this.section("Weights", weights(model, links, layer, this.unfolded)),
      ...this.section("Values", layer.kind === "constant" ? [statistics(layer, this.unfolded)] : []),
    ];
  }

  /** An amount as a number, or as an expression if it depends on sizes that are not chosen; null if there is none. */
  amount(expression, unit) {
    if (!expression) return null;
    const value = this.model.evaluate(expression);
    return value === null ? element("code", {}, longText(expression, MOST_CHARACTERS, this.unfolded, expression, (text) => this.links.expression(text))) : unit(value);
  }

  section(title, children, isEmpty = children.length === 0) {
    return isEmpty ? [] : [element("section", {}, element("h3", {}, title), ...children)];
  }

  finding({ severity, code, name, message, help, origins }) {
    const from = origins.length > 0 ? element("div", {}, "From ", origins.flatMap((origin, at) => [at > 0 ? ", " : "", ...this.links.text(origin)])) : null;
    return element("div", { class: "finding" }, element("div", { class: severity }, `${code} ${name}: `, this.links.text(message, origins)), from, element("small", { class: "help" }, this.links.help(help)));
  }

  input(source, port) {
    if (!source) return element("div", { class: "port" }, `${port}: not connected`);
    const output = this.model.source(source);
    const isConstant = this.model.layers[source[0]].kind === "constant";
    const elements = isConstant && output?.elements ? this.elements(output) : null;
    return element("div", { class: "port" }, `${port}: `, this.links.layer(source[0]), " ", this.links.value(output), elements);
  }

  output(layer, output) {
    const elements = output.elements && layer.kind !== "constant" ? this.elements(output) : null;
    const names = output.names ? element("small", {}, " ", longText(`tensor ${output.names.join(", ")}`, MOST_CHARACTERS, this.unfolded, `names ${output.port}`)) : null;
    const copied = output.dims ? copyButton(() => this.model.shape(output), `Copy the shape of output ${output.port}`) : null;
    return element("div", { class: "port" }, `${output.port}: `, this.links.value(output), " ", copied, names, elements);
  }

  /** The known elements of a value, at the chosen sizes if any are chosen. */
  elements({ elements }) {
    const shown = this.model.chosen.size > 0 ? elements.map((one) => this.model.dim(one)) : elements;
    return element("code", {}, " = [", shown.flatMap((one, at) => [at > 0 ? ", " : "", ...this.links.expression(one)]), "]");
  }

  /** The tree that explains sizes, and what is missing in it. */
  why(layer) {
    const parts = this.trace.partsOf(layer);
    if (parts.length === 0) return [];
    const { files } = this.model.data.model;
    const isMissing = parts.some((text) => this.trace.isMissing(this.trace.maker(text)));
    const note = isMissing ? element("p", { class: "hint" }, "This report leaves out where some sizes come from. This command shows it: ", command(`snick why ${quoted(files[0] ?? "MODEL")} ${quoted(layer.name)}`)) : null;
    return [new WhyTree(this.trace, this.links, layer, this.unfolded).element, note].filter(Boolean);
  }

  attributes(layer) {
    const entries = Object.entries(layer.attributes ?? {}).filter(([name]) => layer.kind !== "constant" || name !== "value");
    const row = ([name, value]) => [element("dt", {}, name), element("dd", {}, longText(value, MOST_CHARACTERS, this.unfolded, `attribute ${name}`, (text) => this.attribute(layer, name, text)))];
    return entries.length === 0 ? [] : shortList(entries, MOST_LISTED, (entry) => element("div", { class: "attribute" }, row(entry)), { unfolded: this.unfolded, key: "attributes", into: element("dl", { class: "attributes" }) });
  }

  /** The value of an attribute. The name of a variable is followed by the other layers that use the variable. */
  attribute(layer, name, value) {
    if (name === "shape" && layer.kind === "input") return this.links.expression(value);
    if (name !== VARIABLE) return value;
    const others = this.model.layers.filter((other) => other !== layer && other.attributes?.[VARIABLE] === value);
    return [value, ...others.flatMap((other) => [`, ${other.op} `, this.links.layer(other.id)])];
  }
}

/** Each source once. */
function distinct(sources) {
  return [...new Map(sources.map((source) => [source.join(":"), source])).values()];
}

/** An argument of a command line. */
function quoted(text) {
  return /^[\w./:-]+$/.test(text) ? text : `"${text.replace(/["\\$`]/g, "\\$&")}"`;
}
