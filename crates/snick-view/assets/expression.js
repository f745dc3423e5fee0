// Expressions over symbols, in snick's notation and with the semantics of snick-shape: exact integers, `/` rounds down,
// `%` is the remainder of that division, and a divisor below 1 has no result.

const WORD = /[\p{L}\p{Nl}_][\p{L}\p{N}_.]*/uy;
const NUMBER = /[0-9]+/y;
const QUOTED = /`((?:[^`]|``)*)`/y;
const LARGEST = 2n ** 63n;

/** The name of a symbol without backticks, which quote names with special characters. */
export function unquoted(name) {
  return name.startsWith("`") ? name.slice(1, -1).replaceAll("``", "`") : name;
}

function tokens(text) {
  const found = [];
  for (let at = 0; at < text.length; ) {
    if (text[at] === " ") {
      at += 1;
      continue;
    }
    const match = (pattern) => {
      pattern.lastIndex = at;
      return pattern.exec(text);
    };
    let token;
    if ((token = match(NUMBER))) found.push({ number: BigInt(token[0]) });
    else if ((token = match(QUOTED))) found.push({ name: unquoted(token[0]) });
    else if ((token = match(WORD))) found.push({ name: token[0] });
    else if ("+-*/%(),".includes(text[at])) found.push({ sign: (token = [text[at]])[0] });
    else throw new SyntaxError(`unexpected ${text[at]} in an expression`);
    at += token[0].length;
  }
  return found;
}

/** An expression with other names of symbols; `nameOf` returns the new name of each. */
export function renamed(text, nameOf) {
  const quoted = (name) => (/^[\p{L}\p{Nl}_][\p{L}\p{N}_.]*$/u.test(name) ? name : `\`${name.replaceAll("`", "``")}\``);
  return String(text).replace(/[\p{L}\p{Nl}_][\p{L}\p{N}_.]*|`((?:[^`]|``)*)`/gu, (word) => (word === "min" || word === "max" ? word : quoted(nameOf(unquoted(word)))));
}

/** Parses an expression into a tree: a BigInt, a name, or `[operation, operands…]`. */
export function parse(text) {
  const all = tokens(String(text));
  let next = 0;
  const sign = (signs) => (all[next]?.sign && signs.includes(all[next].sign) ? all[next++].sign : null);
  const expect = (wanted) => {
    if (!sign(wanted)) throw new SyntaxError(`expected ${wanted} in ${text}`);
  };
  function sum() {
    // A flat list: the cost of a model may have thousands of terms, and trees are traversed recursively.
    const terms = [term()];
    for (let how; (how = sign("+-")); ) terms.push(how === "+" ? term() : ["-", 0n, term()]);
    return terms.length === 1 ? terms[0] : ["+", ...terms];
  }
  function term() {
    let product = factor();
    for (let how; (how = sign("*/%")); ) product = [how, product, factor()];
    return product;
  }
  function factor() {
    if (sign("-")) return ["-", 0n, factor()];
    if (sign("(")) {
      const inner = sum();
      expect(")");
      return inner;
    }
    const { number, name } = all[next++] ?? {};
    if (number !== undefined) return number;
    if (name === undefined) throw new SyntaxError(`expected a number or a name in ${text}`);
    if ((name !== "min" && name !== "max") || !sign("(")) return name;
    const operands = [sum()];
    while (sign(",")) operands.push(sum());
    expect(")");
    return [name, ...operands];
  }
  const tree = sum();
  if (next < all.length) throw new SyntaxError(`expected the end of ${text}`);
  return tree;
}

/** Evaluates a tree, with `valueOf` for symbols; null if a value is unknown or the result is too large. */
export function evaluate(tree, valueOf) {
  const result = value(tree, valueOf);
  return result === null || result >= LARGEST || result < -LARGEST ? null : result;
}

function value(tree, valueOf) {
  if (typeof tree === "bigint") return tree;
  if (typeof tree === "string") return valueOf(tree);
  const operands = [];
  for (let at = 1; at < tree.length; at += 1) {
    const operand = value(tree[at], valueOf);
    if (operand === null) return null;
    operands.push(operand);
  }
  const [a, b] = operands;
  switch (tree[0]) {
    case "+": return operands.reduce((sum, one) => sum + one);
    case "-": return a - b;
    case "*": return a * b;
    case "/": return floorDivide(a, b);
    case "%": {
      const quotient = floorDivide(a, b);
      return quotient === null ? null : a - quotient * b;
    }
    case "min": return operands.reduce((least, one) => (one < least ? one : least));
    case "max": return operands.reduce((most, one) => (one > most ? one : most));
    default: return null;
  }
}

function floorDivide(a, b) {
  if (b < 1n) return null;
  const quotient = a / b;
  return a % b < 0n ? quotient - 1n : quotient;
}

/** The names of all symbols in a tree. */
export function names(tree, found = new Set()) {
  if (typeof tree === "string") found.add(tree);
  else if (Array.isArray(tree)) tree.slice(1).forEach((operand) => names(operand, found));
  return found;
}

/** A text in parts, each with the name of the symbol that it is, or null. */
export function parts(text) {
  const found = [];
  let end = 0;
  for (const match of text.matchAll(/`(?:[^`]|``)+`|[\p{L}\p{Nl}_][\p{L}\p{N}_.]*/gu)) {
    const isFunction = text[match.index + match[0].length] === "(" && ["min", "max"].includes(match[0]);
    if (isFunction) continue;
    found.push([text.slice(end, match.index), null], [match[0], unquoted(match[0])]);
    end = match.index + match[0].length;
  }
  found.push([text.slice(end), null]);
  return found.filter(([part]) => part !== "");
}
