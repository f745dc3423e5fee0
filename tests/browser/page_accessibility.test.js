// axe finds no violations in the page, with and without a model and in its dialogs, in both colour schemes, on wide and
// narrow screens.

import assert from "node:assert/strict";
import { test } from "node:test";
import { addAxe, SCREENS, violations } from "./axe.js";
import { model } from "./browser.js";
import { drop, file, shows, useSite, visit } from "./site.js";

useSite();

for (const colorScheme of ["light", "dark"]) {
  for (const [width, height] of SCREENS) {
    test(`axe finds nothing in the page on a ${colorScheme} screen of ${width} by ${height}`, async () => {
      const page = await visit("", { viewport: { width, height }, colorScheme, bypassCSP: true });
      await addAxe(page);
      assert.deepEqual(await violations(page), [], "start");
      await drop(page, file(model("focus_cnn")));
      await shows(page, "focus_cnn");
      assert.deepEqual(await violations(page), [], "a model without its weights");
      for (const name of ["Shapes…", "Run…"]) {
        await page.getByRole("button", { name }).click();
        assert.deepEqual(await violations(page), [], name);
        await page.keyboard.press("Escape");
      }
      assert.deepEqual(page.problems, []);
      await page.context().close();
    });
  }
}
