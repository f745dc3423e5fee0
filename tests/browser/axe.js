// Checks of accessibility by axe. Its script needs a page that is opened with `bypassCSP`.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { painted } from "./browser.js";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** The widths and heights of the screens to check. */
export const SCREENS = [[1440, 900], [390, 844]];

export async function addAxe(page) {
  await page.evaluate(AXE);
}

/** What axe finds, one line per element. */
export async function violations(page) {
  await painted(page);
  const { violations } = await page.evaluate(() => axe.run());
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id} ${target}: ${failureSummary}`));
}
