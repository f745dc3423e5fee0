// Lays out boxes in rows from top to bottom, like the Rust module `layout` for SVG, in time nearly linear in boxes and arrows.

import { reorder } from "./order.js";
import { rowsOf, WIDEST_ROW } from "./rows.js";

/** The number of lanes per box; the longest arrows beyond it pass behind boxes. */
const LANES_PER_BOX = 16;

/** The width of a lane, and the least space between lanes, between a lane and a box, and between boxes. */
const LANE = 2;
const SPACES = [8, 12, 18];

/** The weights that keep lines straight, by the number of boxes at their ends. */
const STRAIGHTNESS = [8, 1, 4];

/** The number of sweeps, down and up, that improve positions, and of passes that straighten chains after them. */
const [PLACE_SWEEPS, STRAIGHTENING] = [8, 8];

/**
 * Lays out boxes of these sizes (`width`, `height`, and the space `below`). Returns for each box the middle of its upper
 * edge and the lower edge of its row, for each arrow the points between the boxes, and the total size. Arrows are pairs of indices; those that point
 * back to an earlier box are ignored. All arrows from a box share one line down to its lowest reader, which reserves a
 * place, called a lane, in each row that it crosses.
 */
export function place(sizes, arrows) {
  const [sources, readers] = [sizes.map(() => []), sizes.map(() => [])];
  for (const [from, to] of arrows) {
    if (from < to) [sources[to], readers[from]].forEach((list, at) => list.push(at === 0 ? from : to));
  }
  const rowOf = rowsOf(sizes.map(({ width }) => width), sources, readers);
  const items = sizes.map(({ width }) => ({ width, isBox: true, x: 0, above: [], below: [] }));
  const rows = Array.from({ length: rowOf.reduce((most, row) => Math.max(most, row + 1), 0) }, () => []);
  rowOf.forEach((row, box) => rows[row].push(box));
  const lanes = addLanes(items, rows, rowOf, readers);
  reorder(items, rows);
  spread(items, rows, chains(items));
  return finish(sizes, arrows, rowOf, items, rows, lanes);
}

/** Adds the lanes and connects all items. Returns the lanes of each box, from top to bottom. */
function addLanes(items, rows, rowOf, readers) {
  const lengths = readers.map((list, box) => list.reduce((most, reader) => Math.max(most, rowOf[reader] - rowOf[box] - 1), 0));
  const byLength = lengths.map((_, box) => box).sort((a, b) => lengths[a] - lengths[b]);
  const lanes = readers.map(() => []);
  let left = LANES_PER_BOX * readers.length;
  const connect = (upper, lower) => {
    items[upper].below.push(lower);
    items[lower].above.push(upper);
  };
  for (const box of byLength) {
    left -= lengths[box];
    if (left < 0) break;
    let last = box;
    for (let row = rowOf[box] + 1; row <= rowOf[box] + lengths[box]; row += 1) {
      items.push({ width: LANE, isBox: false, x: 0, above: [], below: [] });
      const lane = items.length - 1;
      rows[row].push(lane);
      lanes[box].push(lane);
      connect(last, lane);
      last = lane;
    }
  }
  readers.forEach((list, box) => {
    for (const reader of list) {
      const crossed = rowOf[reader] - rowOf[box] - 1;
      if (crossed <= lanes[box].length) connect(crossed === 0 ? box : lanes[box][crossed - 1], reader);
    }
  });
  return lanes;
}

/** The number of the chain of each item: boxes or lanes that follow each other from row to row, each box leading to one box only. */
function chains(items) {
  const only = (list) => {
    const found = list.filter((item) => items[item].isBox);
    return found.length === 1 ? found[0] : undefined;
  };
  const chain = new Array(items.length).fill(-1);
  const lengths = [];
  // Items above come before items below in the lists of boxes and of lanes.
  items.forEach(({ isBox, above }, at) => {
    const before = isBox ? only(above) : above.find((item) => !items[item].isBox);
    const isNext = before !== undefined && (!isBox || only(items[before].below) === at);
    chain[at] = isNext ? chain[before] : lengths.push(0) - 1;
    lengths[chain[at]] += 1;
  });
  return { chain, lengths };
}

/** Moves each item as close to its neighbours as the widths in its row and the width of the picture allow. */
function spread(items, rows, { chain, lengths }) {
  const lines = rows.map((row) => offsets(row.map((item) => items[item])));
  const widest = lines.reduce((most, { width }) => Math.max(most, width), WIDEST_ROW);
  const move = (at, wanted) => apart(rows[at].map(wanted), lines[at], widest).forEach((x, index) => (items[rows[at][index]].x = x));
  for (let sweep = 0; sweep < 2 * PLACE_SWEEPS; sweep += 1) {
    const isDown = sweep % 2 === 0;
    for (let step = 0; step < rows.length; step += 1) {
      move(isDown ? step : rows.length - 1 - step, (item) => nearNeighbours(items, item, isDown, !isDown));
    }
  }
  for (let pass = 0; pass < STRAIGHTENING; pass += 1) {
    const sums = new Float64Array(lengths.length);
    items.forEach(({ x }, at) => (sums[chain[at]] += x));
    rows.forEach((_, row) => move(row, (item) => {
      const length = lengths[chain[item]];
      return length > 1 ? { x: sums[chain[item]] / length, weight: length } : nearNeighbours(items, item, true, true);
    }));
  }
}

/** The mean position of the neighbours above, below or both; the own position if there are none. */
function nearNeighbours(items, at, isAbove, isBelow) {
  const { isBox, x, above, below } = items[at];
  let [weight, sum] = [0, 0];
  for (const other of [...(isAbove ? above : []), ...(isBelow ? below : [])]) {
    const straightness = STRAIGHTNESS[Number(isBox) + Number(items[other].isBox)];
    weight += straightness;
    sum += straightness * items[other].x;
  }
  return weight > 0 ? { weight, x: sum / weight } : { weight: 1, x };
}

/** The places of the items of a row that stand as close together as possible, from the centre of the first, and their width. */
function offsets(row) {
  const places = [];
  let place = 0;
  row.forEach((item, at) => {
    if (at > 0) place += (row[at - 1].width + item.width) / 2 + SPACES[Number(row[at - 1].isBox) + Number(item.isBox)];
    places.push(place);
  });
  const half = row.length > 0 ? row[0].width / 2 : 0;
  return { places, half, width: row.length > 0 ? half + place + row.at(-1).width / 2 : 0 };
}

/** The places closest to the wanted ones that keep neighbours apart; items that overlap are pooled. */
function apart(wanted, { places, half, width }, widest) {
  const pools = [];
  wanted.forEach(({ x, weight }, at) => {
    let pool = { sum: weight * (x - places[at]), weight, count: 1 };
    while (pools.length > 0 && pools.at(-1).sum / pools.at(-1).weight > pool.sum / pool.weight) {
      const last = pools.pop();
      pool = { sum: pool.sum + last.sum, weight: pool.weight + last.weight, count: pool.count + last.count };
    }
    pools.push(pool);
  });
  // The first item may not lie further to the left, nor the last further to the right.
  const [least, most] = [half - widest / 2, half + widest / 2 - width];
  const starts = pools.flatMap(({ sum, weight, count }) => new Array(count).fill(Math.min(Math.max(sum / weight, least), most)));
  return starts.map((start, at) => start + places[at]);
}

function finish(sizes, arrows, rowOf, items, rows, lanes) {
  let [left, right] = [Infinity, -Infinity];
  for (const { x, width } of items) {
    left = Math.min(left, x - width / 2);
    right = Math.max(right, x + width / 2);
  }
  const heights = rows.map(() => 0);
  const belows = rows.map(() => 0);
  sizes.forEach(({ height, below }, at) => {
    heights[rowOf[at]] = Math.max(heights[rowOf[at]], height);
    belows[rowOf[at]] = Math.max(belows[rowOf[at]], below);
  });
  const tops = [];
  let y = 0;
  rows.forEach((_, row) => {
    tops.push(y);
    y += heights[row] + belows[row];
  });
  const boxes = sizes.map((_, at) => ({ x: items[at].x - left, y: tops[rowOf[at]], rowBottom: tops[rowOf[at]] + heights[rowOf[at]] }));
  const ways = arrows.map(([from, to]) =>
    lanes[from].slice(0, Math.max(rowOf[to] - rowOf[from] - 1, 0)).flatMap((lane, step) => {
      const [x, row] = [items[lane].x - left, rowOf[from] + 1 + step];
      return [{ x, y: tops[row] }, { x, y: tops[row] + heights[row] }];
    }),
  );
  return { boxes, ways, width: sizes.length > 0 ? right - left : 0, height: y };
}
