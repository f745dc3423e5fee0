// An execution order that keeps scopes together.

/** A binary heap of numbers, smallest first. */
class Heap {
  constructor() {
    this.items = [];
  }

  push(item) {
    const { items } = this;
    let at = items.push(item) - 1;
    while (at > 0 && items[(at - 1) >> 1] > item) {
      items[at] = items[(at - 1) >> 1];
      at = (at - 1) >> 1;
    }
    items[at] = item;
  }

  pop() {
    const { items } = this;
    const [top, last] = [items[0], items.pop()];
    if (items.length === 0) return top;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && items[child + 1] < items[child]) child += 1;
      if (items[child] >= last) break;
      items[at] = items[child];
      at = child;
    }
    items[at] = last;
    return top;
  }
}

/**
 * Sorts nodes so that each comes after its sources. Among the nodes that are ready, one in the innermost scope of the node
 * before comes first. `paths` holds the scopes around each node, outermost first; `sources` the nodes that it reads.
 * Nodes on a cycle come last. The time is `n log n`, times the depth of the scopes.
 */
export function executionOrder(paths, sources) {
  const missing = sources.map((list) => list.length);
  const readers = sources.map(() => []);
  sources.forEach((list, node) => list.forEach((source) => readers[source].push(node)));
  /** The ready nodes, by scope and in all; nodes that were taken from another heap are skipped. */
  const ready = new Map();
  const all = new Heap();
  const isTaken = new Array(paths.length).fill(false);
  const offer = (node) => {
    all.push(node);
    for (const scope of paths[node]) {
      if (!ready.has(scope)) ready.set(scope, new Heap());
      ready.get(scope).push(node);
    }
  };
  const first = (heap) => {
    while (heap?.items.length > 0) {
      const node = heap.pop();
      if (!isTaken[node]) return node;
    }
    return undefined;
  };
  missing.forEach((count, node) => count === 0 && offer(node));
  const sorted = [];
  let last = [];
  for (;;) {
    let next;
    for (let at = last.length - 1; at >= 0 && next === undefined; at -= 1) next = first(ready.get(last[at]));
    next ??= first(all);
    if (next === undefined) break;
    isTaken[next] = true;
    sorted.push(next);
    last = paths[next];
    for (const reader of readers[next]) {
      missing[reader] -= 1;
      if (missing[reader] === 0) offer(reader);
    }
  }
  isTaken.forEach((taken, node) => !taken && sorted.push(node));
  return sorted;
}
