// Paints the boxes and arrows of a graph on a canvas.

import { LINE, PADDING, SHARES, shortened } from "./boxes.js";

/** Texts are painted from this scale on. Below it, the colour of a box fills it. */
const READABLE = 0.35;
const FONT = "ui-monospace, Menlo, Consolas, monospace";

export class Painter {
  constructor(context, colours, scale, model) {
    Object.assign(this, { context, colours, scale, model, isReadable: scale >= READABLE });
  }

  arrow(way, isNear) {
    const { context, colours } = this;
    context.strokeStyle = isNear ? colours.accent : colours.line;
    // At least 0.8 pixels on the screen.
    context.lineWidth = Math.max(isNear ? 2 : 1, 0.8 / this.scale);
    context.beginPath();
    context.moveTo(way[0].x, way[0].y);
    for (let stop = 1; stop < way.length; stop += 1) {
      const [from, to] = [way[stop - 1], way[stop]];
      const middle = (from.y + to.y) / 2;
      if (Math.abs(from.x - to.x) < 0.1) context.lineTo(to.x, to.y);
      else context.bezierCurveTo(from.x, middle, to.x, middle, to.x, to.y);
    }
    context.stroke();
    if (!this.isReadable) return;
    const last = way.at(-1);
    context.fillStyle = context.strokeStyle;
    context.beginPath();
    context.moveTo(last.x, last.y);
    context.lineTo(last.x - 3.5, last.y - 7);
    context.lineTo(last.x + 3.5, last.y - 7);
    context.fill();
  }

  box(box, isSelected) {
    const { context, colours, isReadable } = this;
    const left = box.x - box.inner / 2;
    context.strokeStyle = colours[box.colour];
    context.lineWidth = box.severity === "error" ? 2 : 1;
    if (box.item.repeats) this.outline(box, 4);
    if (isSelected) [context.lineWidth, context.strokeStyle] = [3 / Math.min(this.scale, 1), colours.accent];
    this.outline(box, 0);
    if (!isReadable) {
      if (box.fills.length > 1) this.shares(box.fills, left, box.y, box.inner, box.height);
      return;
    }
    this.shares(box.shares, left + 1, box.y + box.height - SHARES - 1, box.inner - 2, SHARES);
    if (box.severity) this.mark(box.severity, left + box.inner + 1, box.y);
    this.texts(box, left + PADDING);
  }

  /** Paints the shape of a box, moved by an offset. */
  outline(box, offset) {
    const { context, colours } = this;
    const isEnd = box.item.kind === "input" || box.item.kind === "output";
    context.beginPath();
    context.roundRect(box.x - box.inner / 2 + offset, box.y + offset, box.inner, box.height, isEnd ? 10 : 3);
    if (this.isReadable) {
      context.fillStyle = colours.page;
      context.fill();
      context.fillStyle = colours[box.colour];
      context.globalAlpha = Number(colours.tint);
      context.fill();
      context.globalAlpha = 1;
    } else {
      context.fillStyle = colours[box.fills.length === 1 ? box.fills[0][0] : box.colour];
      context.fill();
    }
    context.stroke();
  }

  texts(box, left) {
    const { context, colours } = this;
    context.textBaseline = "alphabetic";
    box.lines.forEach((line, at) => {
      context.font = `${at === 0 ? "bold " : ""}12px ${FONT}`;
      context.fillStyle = at === 0 ? colours.text : colours.faint;
      context.fillText(line, left, box.y + LINE * (at + 1) - 1);
    });
    context.font = `11px ${FONT}`;
    box.outputs.forEach((output, at) => {
      const text = shortened(this.model.fact(output));
      const y = box.y + box.height + LINE * (at + 1) - 2;
      context.strokeStyle = colours.page;
      context.lineWidth = 3;
      context.strokeText(text, box.x + PADDING, y);
      context.fillStyle = this.model.isOpenOutput(output) ? colours.warning : colours.faint;
      context.fillText(text, box.x + PADDING, y);
    });
  }

  /** Divides an area into colours by their shares. */
  shares(shares, left, top, width, height) {
    let x = left;
    for (const [colour, share] of shares) {
      this.context.fillStyle = this.colours[colour];
      this.context.fillRect(x, top, width * share, height);
      x += width * share;
    }
  }

  /** A disc for an error, or a triangle for a warning, with an exclamation mark. */
  mark(severity, x, y) {
    const { context, colours } = this;
    context.fillStyle = colours[severity];
    context.beginPath();
    if (severity === "error") {
      context.arc(x, y, 6.5, 0, 2 * Math.PI);
    } else {
      context.moveTo(x, y - 6.5);
      context.lineTo(x + 7, y + 5.5);
      context.lineTo(x - 7, y + 5.5);
    }
    context.fill();
    context.fillStyle = colours.page;
    context.fillRect(x - 0.9, y - 3.5, 1.8, 5);
    context.fillRect(x - 0.9, y + 2.3, 1.8, 1.8);
  }
}
