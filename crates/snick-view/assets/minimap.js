// The whole graph in a corner, with the visible part marked.

import { element } from "./dom.js";

const SIZE = 150;
const MARGIN_OF_MAP = 4;

export class Minimap {
  /** Calls `onMove` with the point of the graph to centre. */
  constructor(onMove) {
    this.canvas = element("canvas", { class: "minimap", width: SIZE, height: SIZE, "aria-hidden": "true" });
    this.canvas.addEventListener("pointerdown", (event) => {
      const { left, top, scale } = this.place;
      onMove((event.offsetX - left) / scale, (event.offsetY - top) / scale);
    });
  }

  /** Call when the boxes have changed. */
  forget() {
    this.boxes = null;
  }

  paint(boxes, { width, height }, sight, colours) {
    const room = SIZE - 2 * MARGIN_OF_MAP;
    const scale = Math.min(room / Math.max(width, 1), room / Math.max(height, 1));
    const [left, top] = [(SIZE - width * scale) / 2, (SIZE - height * scale) / 2];
    this.place = { left, top, scale };
    this.boxes ??= this.drawn(boxes, colours);
    const context = this.canvas.getContext("2d");
    context.clearRect(0, 0, SIZE, SIZE);
    context.drawImage(this.boxes, 0, 0);
    context.strokeStyle = colours.accent;
    context.lineWidth = 1.5;
    const [right, bottom] = [sight.right - sight.left, sight.bottom - sight.top];
    context.strokeRect(left + sight.left * scale, top + sight.top * scale, right * scale, bottom * scale);
  }

  drawn(boxes, colours) {
    const { left, top, scale } = this.place;
    const canvas = element("canvas", { width: SIZE, height: SIZE });
    const context = canvas.getContext("2d");
    for (const box of boxes) {
      const [width, height] = [Math.max(box.inner * scale, 1.5), Math.max(box.height * scale, 1)];
      let x = left + box.x * scale - width / 2;
      for (const [colour, share] of box.fills) {
        context.fillStyle = colours[colour];
        context.fillRect(x, top + box.y * scale, width * share, height);
        x += width * share;
      }
    }
    return canvas;
  }
}
