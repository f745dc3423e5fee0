// axe finds no violations in any tab of a report, in both colour schemes, on wide and narrow screens. The contrast of the
// colours on the canvas, which axe does not see, is computed. A report can be used with keys and printed.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { CATEGORIES } from "../../crates/snick-view/assets/contents.js";
import { addAxe, SCREENS, violations } from "./axe.js";
import { launch, model, open, painted, showSizes, tab, writeReport } from "./browser.js";

const TABS = ["Graph", "Table", "Overview", "Unknown", "Slices", "Memory and work", "Check", "Changes"];

let browser;
before(async () => (browser = await launch()));
after(() => browser.close());

for (const colorScheme of ["light", "dark"]) {
  for (const [width, height] of SCREENS) {
    test(`axe finds nothing on a ${colorScheme} screen of ${width} by ${height}`, async () => {
      const report = writeReport(model("focus_cnn"), "--diff", model("subgraphs_loop"));
      const page = await open(browser, report, { viewport: { width, height }, colorScheme, bypassCSP: true });
      await addAxe(page);
      await showSizes(page);
      for (const name of TABS) {
        await tab(page, name);
        assert.deepEqual(await violations(page), [], name);
      }
      await tab(page, "Graph");
      for (const name of ["focus_00", "weights", "image"]) {
        await page.getByRole("searchbox", { name: "Search layers by name" }).fill(name);
        await page.keyboard.press("Enter");
        for (const summary of await page.locator(".panel details.why > summary").all()) await summary.click();
        assert.deepEqual(await violations(page), [], `panel of ${name}`);
      }
      await page.getByRole("searchbox", { name: "Search layers by name" }).fill("focus");
      assert.deepEqual(await violations(page), [], "search");
      await page.evaluate(() => (location.hash = "#layer=none"));
      assert.deepEqual(await violations(page), [], "notice");
      await page.context().close();
    });
  }
}

/** The relative luminance of a colour given as red, green and blue. */
function luminance(colour) {
  const [r, g, b] = colour.map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(a, b) {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}

test("boxes, their borders and their texts have enough contrast", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const page = await open(browser, writeReport(model("focus_cnn")), { colorScheme });
    const names = [...[...CATEGORIES.keys()].map((key) => `category-${key}`), "source", "scope", "error", "warning", "added", "removed", "changed", "line", "accent"];
    const colours = await page.evaluate((wanted) => {
      const style = getComputedStyle(document.querySelector(".snick-viewer"));
      const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
      const of = (name) => {
        context.fillStyle = style.getPropertyValue(`--${name}`);
        context.fillRect(0, 0, 1, 1);
        return [...context.getImageData(0, 0, 1, 1).data.slice(0, 3)];
      };
      return { tint: Number(style.getPropertyValue("--tint")), ...Object.fromEntries(wanted.map((name) => [name, of(name)])) };
    }, [...names, "page", "text", "faint", "raised"]);
    for (const name of names) {
      const colour = colours[name];
      const filled = colour.map((part, at) => part * colours.tint + colours.page[at] * (1 - colours.tint));
      const about = `${colorScheme} ${name}`;
      assert.ok(contrast(colour, colours.page) >= 3, `${about} on the page: ${contrast(colour, colours.page)}`);
      assert.ok(contrast(colour, colours.raised) >= 3, `${about} on a control`);
      for (const text of ["text", "faint"]) assert.ok(contrast(colours[text], filled) >= 4.5, `${about}: ${text} in the box`);
    }
    await page.context().close();
  }
});

test("the tab key reaches everything in the order of the page, and focus is visible", async () => {
  const page = await open(browser, writeReport(model("focus_cnn")));
  const seen = [];
  for (let step = 0; step < 30; step += 1) {
    await page.keyboard.press("Tab");
    const focused = await page.evaluate(() => {
      const { activeElement: element } = document;
      const outline = getComputedStyle(element).outlineStyle;
      return element === document.body ? null : [element.getAttribute("aria-label") ?? element.innerText, outline];
    });
    if (!focused) break;
    assert.notEqual(focused[1], "none", focused[0]);
    seen.push(focused[0].split(".")[0]);
  }
  assert.deepEqual(seen, [
    seen[0], "Sizes (2)", "Graph", "Search layers by name or operation", "Fold all scopes", "Unfold all scopes", "Zoom in", "Zoom out", "Fit the whole graph", "Colours", "Graph",
  ]);
  assert.match(seen[0], /check/);
});

test("a printed report is light and shows the whole graph and the open tab", async () => {
  const page = await open(browser, writeReport(model("focus_cnn")), { colorScheme: "dark" });
  await tab(page, "Table");
  const printed = await page.evaluate(() => new Promise((done) => {
    window.dispatchEvent(new Event("beforeprint"));
    const style = getComputedStyle(document.querySelector(".snick-viewer"));
    const strips = [...document.querySelectorAll(".paper canvas")];
    const hasInk = (canvas) => canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value !== 0);
    done({
      rows: document.querySelectorAll(".rows .row").length, page: style.getPropertyValue("--page"), hasInk: strips.map(hasInk),
      widths: strips.map((canvas) => Number.parseFloat(canvas.style.width)),
    });
    window.dispatchEvent(new Event("afterprint"));
  }));
  assert.equal(printed.page, "#fff");
  assert.ok(printed.hasInk.length > 2 && printed.hasInk.every(Boolean));
  assert.ok(Math.max(...printed.widths) <= 700);
  const data = await page.evaluate(() => JSON.parse(document.getElementById("data").textContent));
  assert.equal(printed.rows, data.graphs.reduce((sum, { layers }) => sum + layers.length, 0));
  const pdf = await page.pdf({ format: "A4" });
  assert.ok(pdf.length > 10_000);
  await painted(page);
  assert.equal(await page.locator(".paper canvas").count(), 0);
  assert.equal(await page.evaluate(() => getComputedStyle(document.querySelector(".snick-viewer")).getPropertyValue("--page")), "#14181f");
  assert.deepEqual(page.problems, []);
});
