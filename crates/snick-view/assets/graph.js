// The graph on a canvas. Only the visible part is drawn. Everything that works with a pointer also works with keys.

import { boxOf, startOf } from "./boxes.js";
import { Contents } from "./contents.js";
import { element } from "./dom.js";
import { place } from "./layout.js";
import { Legend } from "./legend.js";
import { Minimap } from "./minimap.js";
import { Painter } from "./painter.js";
import { Search } from "./search.js";

const MARGIN = 40;
/** The smallest scale of the first view, at which texts can still be read. */
const LEGIBLE = 0.55;
/** The width of a graph on paper, its largest height, the least height of a strip, and the pixels for each of these units. */
const PAPER = 680;
const TALLEST = 5400;
const STRIP = 100;
const PRINT_RATIO = 3;

const HELP =
  "Graph. Arrow keys follow the arrows, Enter unfolds or folds a scope, Escape clears the selection, plus and minus zoom, 0 shows all, / searches.";

export class GraphView {
  /** Shows the graphs of a model until `signal` is aborted; calls `onSelect` with the selected layer or scope, or null. */
  constructor(model, onSelect, signal) {
    Object.assign(this, { model, onSelect, signal, scopes: model.scopes, at: 0, selected: null, scale: 1, x: 0, y: 0, asked: false });
    /** The contents of each graph that was shown. */
    this.contents = new Map();
    this.canvas = element("canvas", { class: "graph", tabindex: "0", role: "application", "aria-label": HELP });
    this.minimap = new Minimap((x, y) => this.moveTo(x, y));
    this.legend = new Legend();
    this.paper = element("div", { class: "paper" });
    this.live = element("div", { class: "off-screen", "aria-live": "polite" });
    this.search = new Search(model, (layer) => {
      this.reveal(layer);
      this.canvas.focus();
    });
    this.trail = element("span", { class: "trail" });
    const button = (text, title, onclick) => element("button", { type: "button", title, "aria-label": title, onclick }, text);
    const bar = element(
      "div", { class: "bar" },
      this.search.element,
      button("Fold all", "Fold all scopes", () => this.foldAll(false)),
      button("Unfold all", "Unfold all scopes", () => this.foldAll(true)),
      button("+", "Zoom in", () => this.zoom(1.3)), button("−", "Zoom out", () => this.zoom(1 / 1.3)),
      button("Fit", "Fit the whole graph", () => this.fit("all")), this.trail, this.legend.element,
    );
    this.element = element("div", { class: "graph-view" }, bar, element("div", { class: "stage" }, this.canvas, this.minimap.canvas), this.paper, this.live);
    this.listen();
    model.onChange(() => this.draw());
    this.show(0);
  }

  listen() {
    this.canvas.addEventListener("keydown", (event) => this.onKey(event));
    this.canvas.addEventListener("wheel", (event) => this.onWheel(event), { passive: false });
    const pointers = new Map();
    let moved = 0;
    this.canvas.addEventListener("pointerdown", (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
      moved = 0;
    });
    this.canvas.addEventListener("pointermove", (event) => {
      const before = pointers.get(event.pointerId);
      if (!before) return;
      const [dx, dy] = [event.offsetX - before[0], event.offsetY - before[1]];
      moved += Math.abs(dx) + Math.abs(dy);
      const other = [...pointers].find(([id]) => id !== event.pointerId)?.[1];
      if (other) {
        const apart = (from) => Math.hypot(from[0] - other[0], from[1] - other[1]);
        const factor = apart([event.offsetX, event.offsetY]) / Math.max(apart(before), 1);
        this.zoom(factor, other[0], other[1]);
      } else {
        this.move(dx, dy);
      }
      pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    });
    const end = (event) => {
      if (pointers.delete(event.pointerId) && event.type === "pointerup" && moved < 6) this.onClick(event);
    };
    this.canvas.addEventListener("pointerup", end);
    this.canvas.addEventListener("pointercancel", end);
    this.canvas.addEventListener("dblclick", () => this.toggle(this.selected));
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redrawAll(), { signal: this.signal });
    new ResizeObserver(() => this.resize()).observe(this.canvas);
  }

  /** Shows one of the graphs; 0 is the model itself. */
  show(at) {
    this.at = at;
    const graph = this.model.data.graphs[at];
    if (!this.contents.has(at)) this.contents.set(at, new Contents(this.model, this.scopes[at]));
    this.trail.replaceChildren();
    if (graph.owner !== null) {
      const owner = this.model.layers[graph.owner];
      const back = element("button", { type: "button", onclick: () => this.reveal(owner) }, "Back to the graph outside");
      this.trail.append(`${graph.role} of ${owner.name} `, back);
    }
    this.legend.show(this.contents.get(at));
    this.layout();
    this.fit("top");
  }

  layout() {
    const scopes = this.scopes[this.at];
    const { boxes, arrows } = scopes.visible();
    this.scopeMarks = new Map();
    this.markScope(scopes.root);
    this.boxes = boxes.map((item) => this.box(item));
    this.arrows = arrows;
    const placed = place(this.boxes, arrows);
    this.boxes.forEach((box, at) => Object.assign(box, placed.boxes[at]));
    this.byItem = new Map(this.boxes.map((box, at) => [box.item, at]));
    [this.width, this.height] = [placed.width, placed.height];
    this.ways = arrows.map(([from, to], at) => {
      return [...startOf(this.boxes[from]), ...placed.ways[at], this.boxes[to]];
    });
    this.redrawAll();
  }

  redrawAll() {
    this.colours = null;
    this.minimap.forget();
    this.draw();
  }

  box(item) {
    const isScope = item.id === undefined;
    const contents = this.contents.get(this.at);
    const severity = contents.severity(item);
    const shares = isScope ? contents.shares(item) : [];
    const colour = severity === "error" ? "error" : this.markOf(item) ?? (isScope ? "scope" : item.category ? `category-${item.category}` : "source");
    return {
      ...boxOf(this.model, item), item, severity, colour,
      /** The colours of the categories in a scope, and the colours that fill the box if it is small, with their shares. */
      shares, fills: colour === "scope" && shares.length > 0 ? shares : [[colour, 1]],
    };
  }

  /** Notes the kind of change of a scope and its parts: that of its layers if they agree, otherwise `changed`. */
  markScope(item) {
    if (item.id !== undefined) return this.model.markOf(item);
    const marks = new Set(item.items.map((part) => this.markScope(part)));
    const mark = marks.size === 1 ? [...marks][0] : "changed";
    this.scopeMarks.set(item, mark);
    return mark;
  }

  /** The kind of change of a layer, of its constants, or of the layers of a scope. */
  markOf(item) {
    return item.id === undefined ? this.scopeMarks.get(item) : this.model.markOf(item);
  }

  resize() {
    const { clientWidth, clientHeight } = this.canvas;
    const ratio = window.devicePixelRatio || 1;
    if (clientWidth === 0) return;
    Object.assign(this.canvas, { width: clientWidth * ratio, height: clientHeight * ratio });
    // A panel that opens does not move the boxes, so that a double click hits one box.
    const screen = `${window.innerWidth} ${window.innerHeight}`;
    if (this.fitted && (this.screen !== screen || !this.selected)) this.fit(this.fitted);
    this.screen = screen;
    const selected = this.boxes[this.byItem.get(this.selected)];
    if (selected) this.bringIntoSight(selected);
    this.draw();
  }

  /**
   * Fits the whole graph into the view ("all"), or the rows at its top ("top"): as many as can be shown at the largest
   * scale at which they are as wide as the view. In both cases, the sides of the view cut no box, unless texts at the top
   * would be too small to read.
   */
  fit(what) {
    this.fitted = what;
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width) return;
    const whole = (height - MARGIN) / Math.max(this.height, 1);
    let scale = Math.min(what === "all" ? whole : 1, 1);
    let [left, right] = [0, 0];
    for (;;) {
      const rows = this.boxes.filter(({ y }) => what === "all" || y * scale < height);
      left = Math.min(...rows.map((box) => box.x - box.width / 2));
      right = Math.max(...rows.map((box) => box.x + box.width / 2));
      const fitting = Math.min((width - MARGIN) / Math.max(right - left, 1), scale);
      if (fitting === scale) break;
      scale = fitting;
    }
    this.scale = what === "all" ? scale : Math.max(scale, LEGIBLE);
    // What does not fit on a narrow screen begins with the first box in the middle.
    const middle = this.scale === scale ? (left + right) / 2 : this.boxes[0]?.x;
    this.x = this.boxes.length === 0 ? 0 : width / 2 - middle * this.scale;
    this.y = MARGIN / 2;
    this.draw();
  }

  /** Paints the whole graph for paper, in strips between which a page can break; or removes it again. */
  print(isPrinting) {
    this.colours = null;
    this.paper.replaceChildren();
    if (!isPrinting) {
      this.draw();
      return;
    }
    const scale = Math.min(PAPER / Math.max(this.width, 1), TALLEST / Math.max(this.height, 1), 1);
    const rows = [...new Set(this.boxes.map(({ y }) => y))].sort((a, b) => a - b);
    let top = 0;
    for (const bottom of [...rows, this.height]) {
      if ((bottom - top) * scale < STRIP && bottom < this.height) continue;
      const canvas = element("canvas", { "aria-hidden": "true" });
      const [width, height] = [Math.ceil(this.width * scale), Math.ceil((bottom - top) * scale)];
      Object.assign(canvas, { width: width * PRINT_RATIO, height: height * PRINT_RATIO });
      Object.assign(canvas.style, { width: `${width}px`, height: `${height}px` });
      this.paintOn(canvas, { scale, x: 0, y: -top * scale }, width, height, PRINT_RATIO);
      this.paper.append(canvas);
      top = bottom;
    }
  }

  /** Moves the graph by a distance on the screen. */
  move(dx, dy) {
    this.fitted = null;
    this.x += dx;
    this.y += dy;
    this.draw();
  }

  zoom(factor, x = this.canvas.clientWidth / 2, y = this.canvas.clientHeight / 2) {
    this.fitted = null;
    const scale = Math.min(Math.max(this.scale * factor, 0.02), 3);
    this.x = x - ((x - this.x) * scale) / this.scale;
    this.y = y - ((y - this.y) * scale) / this.scale;
    this.scale = scale;
    this.draw();
  }

  /** Centres a point of the graph. */
  moveTo(x, y) {
    this.fitted = null;
    this.x = this.canvas.clientWidth / 2 - Math.min(Math.max(x, 0), this.width) * this.scale;
    this.y = this.canvas.clientHeight / 2 - Math.min(Math.max(y, 0), this.height) * this.scale;
    this.draw();
  }

  onWheel(event) {
    event.preventDefault();
    if (event.ctrlKey || event.metaKey) {
      this.zoom(Math.exp(-event.deltaY / 300), event.offsetX, event.offsetY);
      return;
    }
    if (event.shiftKey) this.move(-event.deltaY, 0);
    else this.move(-event.deltaX, -event.deltaY);
  }

  onClick(event) {
    // The second part of a double click is the same box, even if a panel has moved it.
    const { timeStamp: time, clientX, clientY } = event;
    const isSecond = this.clicked && time - this.clicked.time < 400 && Math.hypot(clientX - this.clicked.clientX, clientY - this.clicked.clientY) < 6;
    this.clicked = { time, clientX, clientY };
    if (isSecond) return;
    const [x, y] = [(event.offsetX - this.x) / this.scale, (event.offsetY - this.y) / this.scale];
    const box = this.boxes.find((one) => Math.abs(x - one.x) <= one.inner / 2 && y >= one.y && y <= one.y + one.height);
    this.select(box ? box.item : null);
  }

  onKey(event) {
    const at = this.byItem.get(this.selected);
    const keys = {
      ArrowDown: () => this.go(this.arrows.find(([from]) => from === at)?.[1]),
      ArrowUp: () => this.go(this.arrows.find(([, to]) => to === at)?.[0]),
      ArrowLeft: () => this.beside(at, -1), ArrowRight: () => this.beside(at, 1),
      Enter: () => this.toggle(this.selected), " ": () => this.toggle(this.selected),
      "+": () => this.zoom(1.3), "=": () => this.zoom(1.3), "-": () => this.zoom(1 / 1.3), 0: () => this.fit("all"),
      "/": () => this.search.focus(),
    };
    if (!keys[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    if (at === undefined && event.key.startsWith("Arrow")) this.go(0);
    else keys[event.key]();
  }

  /** Selects the nearest box in the same row on one side. */
  beside(at, side) {
    const from = this.boxes[at];
    const row = this.boxes.filter((box) => box.y === from.y && (box.x - from.x) * side > 0);
    const nearest = row.reduce((best, box) => (!best || Math.abs(box.x - from.x) < Math.abs(best.x - from.x) ? box : best), null);
    if (nearest) this.go(this.byItem.get(nearest.item));
  }

  go(at) {
    if (at === undefined || !this.boxes[at]) return;
    this.select(this.boxes[at].item);
    this.bringIntoSight(this.boxes[at]);
  }

  /** Selects a layer or scope, or nothing. */
  select(item) {
    this.selected = item;
    if (!item) this.clicked = null;
    const box = this.boxes[this.byItem.get(item)];
    if (box) this.live.textContent = `${box.severity ?? ""} ${box.lines.join(", ")} ${box.outputs.map((output) => this.model.fact(output)).join(" ")}`;
    this.onSelect(item);
    this.draw();
  }

  /** Expands a scope, collapses the scope around a layer, or shows the body of a layer. */
  toggle(item) {
    if (!item) return;
    if (item.id !== undefined) {
      const body = this.model.data.graphs.findIndex((graph) => graph.owner === item.id);
      if (body >= 0) this.show(body);
      else this.fold(this.scopes[this.at].of.get(item.id));
      return;
    }
    this.open(item);
  }

  /** Expands a scope that is shown as a box. */
  open(scope) {
    scope.isOpen = true;
    this.layout();
    const scopes = this.scopes[this.at];
    const first = scopes.shownAs(scopes.layers[scope.first]);
    this.go(this.byItem.get(first));
    this.center(this.boxes[this.byItem.get(first)]);
  }

  fold(scope) {
    if (!scope?.parent) return;
    scope.isOpen = false;
    this.layout();
    const shown = this.scopes[this.at].shownAs(this.scopes[this.at].layers[scope.first]);
    this.go(this.byItem.get(shown));
    this.center(this.boxes[this.byItem.get(shown)]);
  }

  foldAll(isOpen) {
    this.scopes[this.at].setAll(isOpen);
    this.layout();
    this.fit("top");
  }

  /** Shows a layer in any graph and scope. */
  reveal(layer) {
    const isInside = !this.scopes[layer.graph].of.has(layer.id);
    if (isInside && layer.readers.length > 0) {
      this.reveal(this.model.layers[layer.readers[0][0]]);
      this.onSelect(layer);
      return;
    }
    if (layer.graph !== this.at) this.show(layer.graph);
    this.scopes[this.at].reveal(layer);
    this.layout();
    this.select(layer);
    const box = this.boxes[this.byItem.get(layer)];
    if (box) this.center(box);
  }

  /** Where the selected box is on the screen. */
  spot() {
    const box = this.boxes[this.byItem.get(this.selected)];
    return box ? { scale: this.scale, x: box.x * this.scale + this.x, y: box.y * this.scale + this.y } : null;
  }

  /** Shows a layer at a place of the screen. */
  revealAt(layer, spot) {
    this.reveal(layer);
    const box = this.boxes[this.byItem.get(this.selected)];
    if (!spot || !box) return;
    Object.assign(this, { scale: spot.scale, x: spot.x - box.x * spot.scale, y: spot.y - box.y * spot.scale });
    this.draw();
  }

  /** Shows a scope as a box. */
  revealScope(scope) {
    scope.path().forEach((outer) => (outer.isOpen = outer !== scope));
    this.layout();
    this.select(scope);
    this.center(this.boxes[this.byItem.get(scope)]);
  }

  center(box) {
    this.fitted = null;
    this.scale = Math.max(this.scale, 0.8);
    this.x = this.canvas.clientWidth / 2 - box.x * this.scale;
    this.y = this.canvas.clientHeight / 3 - box.y * this.scale;
    this.draw();
  }

  bringIntoSight(box) {
    const [x, y] = [box.x * this.scale + this.x, box.y * this.scale + this.y];
    const { clientWidth, clientHeight } = this.canvas;
    const isInSight = x > 40 && x < clientWidth - 40 && y > 20 && y < clientHeight - 80;
    if (!isInSight) this.center(box);
  }

  /** Schedules one redraw before the next frame. */
  draw() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.paint();
    });
  }

  style() {
    if (!this.colours) {
      const style = getComputedStyle(this.canvas);
      this.colours = new Proxy({}, { get: (known, name) => (known[name] ??= style.getPropertyValue(`--${name}`).trim()) });
    }
    return this.colours;
  }

  paint() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (!width) return;
    const sight = this.paintOn(this.canvas, this, width, height, window.devicePixelRatio || 1);
    const isWhole = sight.left <= 0 && sight.top <= 0 && sight.right >= this.width && sight.bottom >= this.height;
    this.minimap.canvas.hidden = isWhole;
    if (!isWhole) this.minimap.paint(this.boxes, this, sight, this.style());
  }

  /** Paints what a view shows, and returns the part of the graph that is in sight. */
  paintOn(canvas, { scale, x, y }, width, height, ratio) {
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    context.setTransform(ratio * scale, 0, 0, ratio * scale, ratio * x, ratio * y);
    const sight = { left: -x / scale, top: -y / scale, right: (width - x) / scale, bottom: (height - y) / scale };
    const painter = new Painter(context, this.style(), scale, this.model);
    const selected = this.byItem.get(this.selected);
    this.ways.forEach((way, index) => {
      const [top, bottom] = [way[0].y, way.at(-1).y].sort((a, b) => a - b);
      if (bottom >= sight.top && top <= sight.bottom) painter.arrow(way, selected !== undefined && this.arrows[index].includes(selected));
    });
    this.boxes.forEach((box, at) => {
      const isInSight = box.y < sight.bottom && box.y + box.height + box.below > sight.top
        && box.x - box.width < sight.right && box.x + box.width > sight.left;
      if (isInSight) painter.box(box, at === selected);
    });
    return sight;
  }
}
