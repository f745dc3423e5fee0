// The part of an address after `#`, which says what a report shows: `#layer=conv1&tab=Table&sizes=N:4,M:8`.

/** The fields of an address. Sizes are pairs of a symbol and a number. */
export function readAddress(hash) {
  const fields = new Map(hash.replace(/^#/, "").split("&").filter(Boolean).map((field) => {
    const [name, ...value] = field.split("=");
    return [name, value.join("=")];
  }));
  const text = (name) => (fields.has(name) ? decoded(fields.get(name)) : undefined);
  const sizes = (fields.get("sizes") ?? "").split(",").map((pair) => pair.split(":").map(decoded));
  return {
    model: text("model"), graph: text("graph"), layer: text("layer"), tab: text("tab"),
    sizes: sizes.filter(([symbol, size]) => symbol && /^[0-9]{1,18}$/.test(size ?? "")),
  };
}

/** The address with these fields; undefined fields are left out. */
export function writtenAddress({ sizes, ...fields }) {
  const parts = Object.entries(fields).filter(([, value]) => value !== undefined).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  if (sizes.length > 0) parts.push(`sizes=${sizes.map((pair) => pair.map(encodeURIComponent).join(":")).join(",")}`);
  return parts.length > 0 ? `#${parts.join("&")}` : "";
}

/** Replaces the part of the page's address after `#`. */
export function replaceAddress(hash) {
  try {
    history.replaceState(history.state, "", hash || location.href.split("#")[0]);
  } catch {
    // A page in a sandboxed frame may not change its address.
  }
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
