// Links from texts of the page to the layers and symbols that they mention.

import { copyButton, element, link } from "./dom.js";
import { parts } from "./expression.js";

/** A quoted name, optionally with the location of the layer, or a shape or slice in brackets. */
const MENTION = /`([^`]+)`(?: \((?:\w+, )?(\d+:\d+)\))?|\[[^[\]]*\]/g;

/** An option with an input shape, as in the help of findings. */
const OPTION = /--shape "[^"]*"/g;

export class Links {
  /** Calls `onLayer` with a layer to show, `onSymbol` with the name of a symbol. */
  constructor(model, onLayer, onSymbol) {
    Object.assign(this, { model, onLayer, onSymbol, byName: new Map() });
    for (const layer of model.layers) {
      if (!this.byName.has(layer.name)) this.byName.set(layer.name, []);
      this.byName.get(layer.name).push(layer);
    }
  }

  /** A link to a layer, given by its id. */
  layer(id, text = this.model.layers[id]?.name) {
    const layer = this.model.layers[id];
    return layer ? link(text, () => this.onLayer(layer), `${layer.op} ${layer.name}`) : "";
  }

  symbol(name, text = name) {
    return link(text, () => this.onSymbol(name), `What ${name} means`);
  }

  /** An expression or another text in which every known name is a symbol. */
  expression(text) {
    return parts(String(text)).map(([part, name]) => (this.model.symbols.has(name) ? this.symbol(name, part) : part));
  }

  /** The type and the symbolic shape of an output. */
  fact(output) {
    if (!output) return ["?"];
    if (!output.dims) return [`${output.type}[...]`];
    return [`${output.type}[`, ...output.dims.flatMap((dim, at) => [at > 0 ? "," : "", ...this.expression(dim)]), "]"];
  }

  /** A value with its symbolic shape, and with numbers once sizes are chosen. */
  value(output) {
    const isOpen = output && this.model.isOpenOutput(output);
    const isSymbolic = output?.dims?.some((dim) => typeof dim === "string");
    const chosen = this.model.chosen.size > 0 && isSymbolic ? ` = ${this.model.shape(output)}` : "";
    return element("code", { class: isOpen ? "open" : "" }, this.fact(output), chosen);
  }

  /**
   * A text about the model. Quoted names become links if exactly one layer has this name; the layers in `origins`, which
   * are descriptions such as "ReLU `act` (4:3)", are preferred. Symbols become links inside of brackets.
   */
  text(text, origins = []) {
    const found = [];
    let end = 0;
    for (const match of text.matchAll(MENTION)) {
      found.push(text.slice(end, match.index));
      end = match.index + match[0].length;
      if (match[1] === undefined) found.push(...this.expression(match[0]));
      else found.push(...this.quoted(match, text.slice(0, match.index), origins));
    }
    found.push(text.slice(end));
    return found;
  }

  /** Why a symbol is not known more precisely. */
  reason({ rule, of, reason, kind }) {
    if (!rule) return reason ? this.text(reason) : [kind === "input" ? "an input declares it" : "it is declared"];
    const [before, between] = { equal: ["the common value of ", " and "], broadcast: ["broadcasts ", " with "], either: ["either ", " or "] }[rule];
    return [before, ...this.expression(of[0]), between, ...this.expression(of[1])];
  }

  /** How to fix something: a text with quoted names, commands and options, which can be copied. */
  help(text) {
    const found = [];
    let end = 0;
    for (const match of text.matchAll(OPTION)) {
      // The names of sizes in a suggestion are those of the model with other input shapes.
      found.push(...this.names(text.slice(end, match.index)), command(match[0]));
      end = match.index + match[0].length;
    }
    return [...found, ...this.names(text.slice(end))];
  }

  /** A text with quoted names and commands. */
  names(text) {
    const found = [];
    let end = 0;
    for (const match of text.matchAll(/`([^`]+)`/g)) {
      const shown = match[1].startsWith("snick ") ? [command(match[1])] : this.quoted(match, text.slice(0, match.index), []);
      found.push(text.slice(end, match.index), ...shown);
      end = match.index + match[0].length;
    }
    return [...found, text.slice(end)];
  }

  /** A quoted name and its location. The quotes are left out if the name is a link. */
  quoted([whole, name, loc], before, origins) {
    const word = /(\S+) $/.exec(before)?.[1];
    const layer = word === "symbol" ? null : this.endNamed(name, word) ?? this.layerNamed(name, { loc, word, origins });
    const isSymbol = !layer && this.model.symbols.has(name) && (word === "symbol" || !this.byName.has(name));
    if (!layer && !isSymbol) return [whole];
    return [isSymbol ? this.symbol(name) : this.layer(layer.id, name), whole.slice(name.length + 2)];
  }

  /** The input or output with a name; a name of a tensor counts as well. */
  endNamed(name, word) {
    const ends = { input: this.model.data.inputs, output: this.model.data.outputs }[word] ?? [];
    const found = ends.filter((end) => end.name === name);
    return found.length === 1 ? this.model.layers[found[0].layer] : null;
  }

  /** The only layer with a name that agrees with its description; null if there are several. */
  layerNamed(name, { loc, word, origins = [], graph } = {}) {
    let found = (this.byName.get(name) ?? []).filter((layer) => graph === undefined || layer.graph === graph);
    const narrow = (isWanted) => {
      const wanted = found.filter(isWanted);
      if (wanted.length > 0) found = wanted;
    };
    if (loc) found = found.filter((layer) => layer.loc === loc);
    if (found.length > 1) narrow((layer) => origins.includes(`${layer.op} \`${layer.name}\` (${layer.loc})`));
    if (found.length > 1) narrow((layer) => layer.op === word);
    return found.length === 1 ? found[0] : null;
  }
}

/** A command or option that can be copied. */
export function command(text) {
  return element("span", { class: "command" }, element("code", {}, text), " ", copyButton(() => text, `Copy ${text}`));
}
