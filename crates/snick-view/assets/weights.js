// The constants that a layer reads: their types, shapes, statistics, histograms and first elements.

import { definitions, element, foldable, longText, svgElement } from "./dom.js";
import { bytes, count, sizeInBytes } from "./numbers.js";

/** More constants than this can be folded one by one. */
const MOST_UNFOLDED = 2;

/** Maximum length of the elements to show at first. */
const MOST_ELEMENTS_TEXT = 160;

/** The constants of a layer: the input that reads each, and the operations in between. */
export function constantsRead(model, layer) {
  const found = new Map();
  const visit = (id, port, through) => {
    const constant = model.layers[id];
    if (!model.constants.has(id) || found.has(id)) return;
    found.set(id, { constant, port, through });
    for (const source of constant.inputs) if (source) visit(source[0], port, [...through, constant.op]);
  };
  if (!model.constants.has(layer.id)) layer.inputs.forEach((source, port) => source && visit(source[0], port, []));
  return [...found.values()].filter(({ constant }) => constant.kind === "constant");
}

/** The constants that a layer reads, one below the other. */
export function weights(model, links, layer, unfolded) {
  const read = constantsRead(model, layer);
  const size = ({ constant: { outputs: [output] } }) => (output.dims ? sizeInBytes(output.type, output.dims) : 0);
  const largest = read.reduce((best, one) => (best && size(best) >= size(one) ? best : one), null);
  return read.map((one) => {
    const { constant, port, through } = one;
    const [output] = constant.outputs;
    const role = `input ${port}${through.length > 0 ? ` through ${[...through].reverse().join(", ")}` : ""}`;
    const about = element("small", {}, ` ${role}, ${bytes(size(one))}`);
    if (read.length <= MOST_UNFOLDED) return element("div", { class: "weight" }, element("div", {}, links.layer(constant.id), " ", element("code", {}, links.fact(output)), about), statistics(constant, unfolded));
    const content = () => [element("div", {}, links.layer(constant.id, "Show the constant")), statistics(constant, unfolded)];
    return foldable([`${constant.name} `, element("code", {}, model.fact(output)), about], content, { unfolded, key: `weight ${constant.id}`, isOpenAtFirst: one === largest });
  });
}

/** The statistics and the first elements of a constant. */
export function statistics(constant, unfolded) {
  const elements = constant.attributes?.value;
  const isWhole = !constant.histogram;
  const shown = elements ? longText(elements, MOST_ELEMENTS_TEXT, unfolded, `elements ${constant.id}`, (text) => element("code", {}, text)) : "not in this report";
  return element("div", { class: "statistics" }, constant.histogram ? histogram(constant.histogram) : null, definitions([[isWhole ? "Elements" : "First", shown]]));
}

function histogram({ bars, min, max, mean, zeros, not_finite: odd, sampled, of }) {
  const most = Math.max(...bars);
  const drawn = svgElement("svg", { viewBox: `0 0 ${bars.length * 10} 60`, preserveAspectRatio: "none", class: "histogram", role: "img", "aria-label": `Values from ${short(min)} to ${short(max)}` });
  const step = (max - min) / bars.length;
  bars.forEach((bar, at) => {
    const height = bar === 0 ? 0 : Math.max((bar / most) * 56, 1);
    const title = svgElement("title", {}, `${short(min + at * step)} to ${short(min + (at + 1) * step)}: ${((100 * bar) / sampled).toPrecision(3)} %`);
    drawn.append(svgElement("rect", { x: at * 10 + 1, y: 60 - height, width: 8, height }, title));
  });
  const share = (part) => `${((100 * part) / of).toPrecision(3)} %`;
  return element(
    "div", {}, drawn, element("div", { class: "ends" }, element("span", {}, short(min)), element("span", {}, `mean ${short(mean)}`), element("span", {}, short(max))),
    definitions([
      ["Zeros", zeros > 0 ? share(zeros) : null], ["NaN, infinite", odd > 0 ? share(odd) : null],
      ["Elements", sampled === of ? count(of) : `${count(of)}; the bars count ${count(sampled)}`],
    ]),
  );
}

function short(number) {
  return number === null ? "?" : String(Number(Number(number).toPrecision(4)));
}
