// The row of each box: every box is below the boxes that it reads, and no row is wider than a person scrolls.

/** Boxes side by side are at most this wide, if they are more than one. */
export const WIDEST_ROW = 1900;

/** The room that is left in each row. */
class Room {
  /** `step` is the direction in which rows are searched, 1 or -1; `used` the width used of each row. */
  constructor(step, used = new Map()) {
    Object.assign(this, { step, used, beyond: new Map() });
  }

  /** The first row from `row` on with room for a width. Rows that were full are skipped without looking at each of them. */
  find(row, width) {
    const full = [];
    for (;;) {
      const used = this.used.get(row) ?? 0;
      const isFull = used > 0 && used + width > WIDEST_ROW;
      if (!this.beyond.has(row) && !isFull) break;
      full.push(row);
      row = this.beyond.get(row) ?? row + this.step;
    }
    full.forEach((one) => this.beyond.set(one, row));
    return row;
  }

  use(row, width) {
    this.used.set(row, (this.used.get(row) ?? 0) + width);
  }
}

/** The row of each box, given the boxes that it reads and its readers. Boxes come after the boxes that they read. */
export function rowsOf(widths, sources, readers) {
  const row = new Array(widths.length).fill(0);
  const down = new Room(1);
  widths.forEach((width, box) => {
    // A box that reads nothing is placed later, close to its readers.
    if (sources[box].length === 0 && readers[box].length > 0) return;
    const below = sources[box].reduce((lowest, source) => Math.max(lowest, row[source] + 1), 0);
    row[box] = down.find(below, width);
    down.use(row[box], width);
  });
  moveDown(row, new Room(-1, down.used), widths, sources, readers);
  const first = row.reduce((least, one) => Math.min(least, one), 0);
  return row.map((one) => one - first);
}

/** Moves boxes down to their readers, unless that makes the arrows longer. */
function moveDown(row, up, widths, sources, readers) {
  /** The lowest reader of each box: one line leads down to it, which all readers share. */
  const lowest = readers.map((list) => list.reduce((most, reader) => Math.max(most, row[reader]), -Infinity));
  for (let box = widths.length - 1; box >= 0; box -= 1) {
    if (readers[box].length === 0) continue;
    const nearest = readers[box].reduce((least, reader) => Math.min(least, row[reader]), Infinity);
    const isFree = sources[box].length === 0;
    lowest[box] = readers[box].reduce((most, reader) => Math.max(most, row[reader]), -Infinity);
    if (!isFree && nearest - 1 <= row[box]) continue;
    const target = up.find(nearest - 1, widths[box]);
    const longer = sources[box].reduce((sum, source) => sum + Math.max(target - lowest[source], 0), 0);
    if (!isFree && (target <= row[box] || longer > target - row[box])) continue;
    if (!isFree) up.use(row[box], -widths[box]);
    row[box] = target;
    up.use(target, widths[box]);
    for (const source of sources[box]) lowest[source] = Math.max(lowest[source], target);
  }
}
