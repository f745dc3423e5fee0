// The order of the items in each row, so that few lines cross.

/** The work of the search, as a number of visits to items; long rows of large graphs are swept less often. */
const VISITS = 4_000_000;
const [FEWEST_SWEEPS, MOST_SWEEPS] = [4, 24];

/** The search ends after this many sweeps without improvement. */
const PATIENCE = 4;

/** The greatest number of passes that exchange neighbours in a row. */
const EXCHANGES = 8;

/** Orders the items of each row. `above` and `below` hold the neighbours of an item in the adjacent rows. */
export function reorder(items, rows) {
  const position = new Float64Array(items.length);
  startFrom(depthFirst(items, rows), rows, position);
  const sweeps = Math.min(Math.max(Math.floor(VISITS / Math.max(items.length, 1)), FEWEST_SWEEPS), MOST_SWEEPS);
  let best = { crossings: crossings(items, rows, position), rows: rows.map((row) => [...row]) };
  let since = 0;
  for (let sweep = 0; sweep < sweeps && since < PATIENCE && best.crossings > 0; sweep += 1) {
    sortByNeighbours(items, rows, position, sweep % 2 === 0);
    exchange(items, rows, position);
    const count = crossings(items, rows, position);
    since = count < best.crossings ? 0 : since + 1;
    if (since === 0) best = { crossings: count, rows: rows.map((row) => [...row]) };
  }
  best.rows.forEach((row, at) => (rows[at] = row));
}

function setPositions(row, position) {
  row.forEach((item, at) => (position[item] = at));
}

/** The rank of each item in a walk from the top that finishes each branch before the next. */
function depthFirst(items, rows) {
  const rank = new Float64Array(items.length).fill(-1);
  let next = 0;
  for (const start of rows.flat()) {
    const waiting = [start];
    while (waiting.length > 0) {
      const item = waiting.pop();
      if (rank[item] >= 0) continue;
      rank[item] = next;
      next += 1;
      const { below } = items[item];
      for (let at = below.length - 1; at >= 0; at -= 1) waiting.push(below[at]);
    }
  }
  return rank;
}

function startFrom(rank, rows, position) {
  for (const row of rows) {
    row.sort((a, b) => rank[a] - rank[b]);
    setPositions(row, position);
  }
}

/** Sorts each row by the mean positions of the neighbours in the row before (the barycentre heuristic). */
function sortByNeighbours(items, rows, position, isDown) {
  for (let step = 0; step < rows.length; step += 1) {
    const row = rows[isDown ? step : rows.length - 1 - step];
    const wanted = new Map(row.map((item) => {
      const near = isDown ? items[item].above : items[item].below;
      return [item, near.length > 0 ? near.reduce((sum, other) => sum + position[other], 0) / near.length : position[item]];
    }));
    row.sort((a, b) => wanted.get(a) - wanted.get(b));
    setPositions(row, position);
  }
}

/** Exchanges neighbours in a row as long as that removes crossings. */
function exchange(items, rows, position) {
  const sorted = (list) => list.map((other) => position[other]).sort((a, b) => a - b);
  for (let pass = 0, isBetter = true; isBetter && pass < EXCHANGES; pass += 1) {
    isBetter = false;
    for (const row of rows) {
      let left = row.length > 0 ? [sorted(items[row[0]].above), sorted(items[row[0]].below)] : [];
      for (let at = 0; at + 1 < row.length; at += 1) {
        const right = [sorted(items[row[at + 1]].above), sorted(items[row[at + 1]].below)];
        const now = inversions(left[0], right[0]) + inversions(left[1], right[1]);
        const then = now > 0 ? inversions(right[0], left[0]) + inversions(right[1], left[1]) : 0;
        if (then >= now) {
          left = right;
          continue;
        }
        [row[at], row[at + 1]] = [row[at + 1], row[at]];
        [position[row[at]], position[row[at + 1]]] = [at, at + 1];
        isBetter = true;
      }
    }
  }
}

/** The number of pairs with a greater number on the left; both lists are sorted. */
function inversions(left, right) {
  let count = 0;
  let smaller = 0;
  for (const one of left) {
    while (smaller < right.length && right[smaller] < one) smaller += 1;
    count += smaller;
  }
  return count;
}

/** The number of crossings of lines between adjacent rows. */
function crossings(items, rows, position) {
  let count = 0;
  for (let at = 0; at + 1 < rows.length; at += 1) {
    // A Fenwick tree over the lower row counts the lines that end to the right of each line.
    const tree = new Float64Array(rows[at + 1].length + 1);
    let lines = 0;
    for (const item of rows[at]) {
      const ends = items[item].below.map((other) => position[other]).sort((a, b) => a - b);
      for (const end of ends) {
        let before = 0;
        for (let index = end + 1; index > 0; index -= index & -index) before += tree[index];
        count += lines - before;
      }
      for (const end of ends) for (let index = end + 1; index < tree.length; index += index & -index) tree[index] += 1;
      lines += ends.length;
    }
  }
  return count;
}
