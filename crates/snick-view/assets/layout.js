// Lays out boxes in layers from top to bottom, like `layout.rs` for SVG, in time linear in boxes and arrows.

const MOST_LANES = 24;
const ORDER_SWEEPS = 4;
const PLACE_SWEEPS = 6;
const GAP = 18;
const LANE = 6;

/**
 * Lays out boxes of these sizes (`width`, `height`, and the space `below`). Returns for each box the middle of its upper
 * edge, for each arrow the points between the boxes, and the total size.
 */
export function place(sizes, arrows) {
  const layerOf = layers(sizes.length, arrows);
  const items = sizes.map(({ width }) => ({ width, x: 0, above: [], below: [] }));
  const rows = Array.from({ length: layerOf.reduce((most, layer) => Math.max(most, layer + 1), 0) }, () => []);
  layerOf.forEach((layer, at) => rows[layer].push(at));
  const lanes = arrows.map(([from, to]) => {
    const [first, last] = [layerOf[from] + 1, layerOf[to]];
    const own = [];
    if (first > last || last - first > MOST_LANES) return own;
    for (let layer = first; layer < last; layer += 1) {
      items.push({ width: LANE, x: 0, above: [], below: [] });
      rows[layer].push(items.length - 1);
      own.push(items.length - 1);
    }
    const stops = [from, ...own, to];
    for (let at = 1; at < stops.length; at += 1) {
      items[stops[at - 1]].below.push(stops[at]);
      items[stops[at]].above.push(stops[at - 1]);
    }
    return own;
  });
  order(items, rows);
  spread(items, rows);
  return finish(sizes, arrows, layerOf, items, rows, lanes);
}

/** The layer of each box: one below the lowest box that it reads. Boxes without inputs are next to their readers. */
function layers(count, arrows) {
  const layerOf = new Array(count).fill(0);
  const nearest = new Array(count).fill(Infinity);
  const reads = new Array(count).fill(false);
  const forwards = arrows.filter(([from, to]) => from < to);
  for (const [from, to] of forwards) {
    layerOf[to] = Math.max(layerOf[to], layerOf[from] + 1);
    reads[to] = true;
  }
  for (const [from, to] of forwards) nearest[from] = Math.min(nearest[from], layerOf[to]);
  return layerOf.map((layer, at) => (!reads[at] && nearest[at] < Infinity ? Math.max(nearest[at] - 1, 0) : layer));
}

function eachRow(rows, sweeps, visit) {
  for (let sweep = 0; sweep < 2 * sweeps; sweep += 1) {
    const isDown = sweep % 2 === 0;
    for (let step = 0; step < rows.length; step += 1) visit(rows[isDown ? step : rows.length - 1 - step], isDown);
  }
}

/** Moves items close to their neighbours in adjacent rows, so that few arrows cross. */
function order(items, rows) {
  const position = new Float64Array(items.length);
  rows.forEach((row) => row.forEach((item, at) => (position[item] = at)));
  eachRow(rows, ORDER_SWEEPS, (row, isDown) => {
    for (const item of row) {
      const near = isDown ? items[item].above : items[item].below;
      if (near.length > 0) position[item] = near.reduce((sum, other) => sum + position[other], 0) / near.length;
    }
    row.sort((a, b) => position[a] - position[b]);
    row.forEach((item, at) => (position[item] = at));
  });
}

/** Moves each item as close to its neighbours as the widths in its row allow. */
function spread(items, rows) {
  eachRow(rows, PLACE_SWEEPS, (row, isDown) => {
    const wanted = row.map((item) => {
      const near = isDown ? items[item].above : items[item].below;
      return near.length > 0 ? near.reduce((sum, other) => sum + items[other].x, 0) / near.length : items[item].x;
    });
    apart(wanted, row.map((item) => items[item].width)).forEach((x, at) => (items[row[at]].x = x));
  });
}

/** The places closest to the wanted ones that keep neighbours apart; items that overlap are pooled. */
function apart(wanted, widths) {
  const pools = [];
  const offsets = [];
  let offset = 0;
  wanted.forEach((place, at) => {
    if (at > 0) offset += (widths[at - 1] + widths[at]) / 2 + GAP;
    offsets.push(offset);
    let pool = { sum: place - offset, count: 1 };
    while (pools.length > 0 && pools.at(-1).sum / pools.at(-1).count > pool.sum / pool.count) {
      const last = pools.pop();
      pool = { sum: pool.sum + last.sum, count: pool.count + last.count };
    }
    pools.push(pool);
  });
  const places = pools.flatMap(({ sum, count }) => new Array(count).fill(sum / count));
  return places.map((place, at) => place + offsets[at]);
}

function finish(sizes, arrows, layerOf, items, rows, lanes) {
  let [left, right] = [Infinity, -Infinity];
  for (const { x, width } of items) {
    left = Math.min(left, x - width / 2);
    right = Math.max(right, x + width / 2);
  }
  const heights = rows.map(() => 0);
  const belows = rows.map(() => 0);
  sizes.forEach(({ height, below }, at) => {
    heights[layerOf[at]] = Math.max(heights[layerOf[at]], height);
    belows[layerOf[at]] = Math.max(belows[layerOf[at]], below);
  });
  const tops = [];
  let y = 0;
  rows.forEach((_, layer) => {
    tops.push(y);
    y += heights[layer] + belows[layer];
  });
  const boxes = sizes.map((_, at) => ({ x: items[at].x - left, y: tops[layerOf[at]] }));
  const ways = arrows.map(([from], at) =>
    lanes[at].flatMap((lane, step) => {
      const [x, layer] = [items[lane].x - left, layerOf[from] + 1 + step];
      return [{ x, y: tops[layer] }, { x, y: tops[layer] + heights[layer] }];
    }),
  );
  return { boxes, ways, width: sizes.length > 0 ? right - left : 0, height: y };
}
