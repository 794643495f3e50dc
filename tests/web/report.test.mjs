// Tests of the HTML report in a browser.

import assert from "node:assert/strict";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { close, dovetail, folder, jobReport, open, openTime, report } from "./browser.mjs";

after(close);

const small = report("small", 4, 8);

// Returns a point in the middle of the lanes; `share` is its x as a share of the plot.
async function placeOn(page, share, lane, lanes) {
  const box = await page.locator("canvas.bars").boundingBox();
  const gutter = 70;
  return [box.x + gutter + share * (box.width - gutter - 10), box.y + 24 + ((lane + 0.5) * (box.height - 28)) / lanes];
}

const panelOf = (page) => page.locator(".panel");
const pixels = (page) => page.locator("canvas.bars").evaluate((canvas) => canvas.toDataURL());

test("opens without errors or requests, and no name becomes markup", async () => {
  const { page, problems } = await open(small);
  await page.waitForTimeout(300);
  assert.deepEqual(problems, []);
  assert.equal(await page.locator("header b, .figure b").count(), await page.locator(".figure").count());
  assert.match(await page.locator(".legend").innerText(), /actor <\/script><b> forward/);
});

test("a click on a bar shows its details, and Escape hides them", async () => {
  const { page, problems } = await open(small);
  await page.mouse.click(...(await placeOn(page, 0.01, 0, 4)));
  const text = await panelOf(page).innerText();
  assert.match(text, /F0 actor/);
  assert.match(text, /device 0/);
  assert.match(text, /duration\s+2 ticks/);
  assert.match(text, /needed by/);
  await page.keyboard.press("Escape");
  assert.match(await panelOf(page).innerText(), /Click a bar/);
  assert.deepEqual(problems, []);
});

test("a link in the details leads to the other bar", async () => {
  const { page } = await open(small);
  await page.mouse.click(...(await placeOn(page, 0.01, 0, 4)));
  await panelOf(page)
    .getByRole("button", { name: /go to F0 actor/ })
    .click();
  assert.match(await panelOf(page).innerText(), /device 1/);
});

test("hovering shows the name of a bar", async () => {
  const { page } = await open(small);
  await page.mouse.move(...(await placeOn(page, 0.01, 0, 4)));
  assert.match(await page.locator(".tooltip").innerText(), /F0 actor.*2 ticks/);
  await page.mouse.move(5, 5);
  assert.equal(await page.locator(".tooltip").isVisible(), false);
});

test("the keyboard steps through bars, zooms, pans and returns", async () => {
  const { page } = await open(small);
  await page.locator("canvas.bars").focus();
  const whole = await pixels(page);
  await page.keyboard.press("Tab");
  assert.match(await panelOf(page).innerText(), /F0 actor/);
  await page.keyboard.press("Tab");
  assert.match(await panelOf(page).innerText(), /F1 actor/);
  await page.keyboard.press("Shift+Tab");
  assert.match(await panelOf(page).innerText(), /F0 actor/);
  await page.keyboard.press("ArrowDown");
  assert.match(await panelOf(page).innerText(), /device 1/);
  await page.keyboard.press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.className), "panel");
  await page.locator("canvas.bars").focus();
  await page.keyboard.press("Escape");
  for (const key of ["+", "+", "ArrowRight"]) await page.keyboard.press(key);
  await page.waitForTimeout(100);
  const zoomed = await pixels(page);
  assert.notEqual(zoomed, whole);
  await page.keyboard.press("0");
  await page.waitForTimeout(100);
  assert.equal(await pixels(page), whole);
  await page.keyboard.press("Escape");
  await page.keyboard.press("Tab");
  assert.notEqual(
    await page.evaluate(() => document.activeElement.className),
    "bars",
    "Tab leaves the chart after Escape",
  );
});

test("dragging pans once zoomed, and Ctrl with the wheel zooms", async () => {
  const { page } = await open(small);
  const place = await placeOn(page, 0.5, 1, 4);
  const whole = await pixels(page);
  await page.mouse.move(...place);
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -400);
  await page.keyboard.up("Control");
  await page.waitForTimeout(150);
  const zoomed = await pixels(page);
  assert.notEqual(zoomed, whole);
  await page.mouse.down();
  await page.mouse.move(place[0] - 200, place[1], { steps: 4 });
  await page.mouse.up();
  await page.waitForTimeout(150);
  assert.notEqual(await pixels(page), zoomed);
  assert.match(await panelOf(page).innerText(), /Click a bar/, "a drag is not a click");
});

test("a wheel over a chart without focus scrolls the page", async () => {
  const { page } = await open(small, { viewport: { width: 1200, height: 500 } });
  await page.mouse.move(...(await placeOn(page, 0.5, 1, 4)));
  await page.mouse.wheel(0, 200);
  await page.waitForTimeout(300);
  assert.ok((await page.evaluate(() => window.scrollY)) > 0);
});

test("the search counts and steps through its matches", async () => {
  const { page } = await open(small);
  await page.locator("canvas.bars").focus();
  await page.keyboard.press("/");
  await page.keyboard.type("f7 actor");
  assert.equal(await page.locator(".count").innerText(), "4 found");
  await page.keyboard.press("Enter");
  assert.match(await panelOf(page).innerText(), /F7 actor[^]*device 0/);
  await page.keyboard.press("Enter");
  assert.match(await panelOf(page).innerText(), /F7 actor[^]*device 1/);
});

test("the legend hides categories of bars", async () => {
  const { page } = await open(small);
  const whole = await pixels(page);
  const chip = page.locator(".chip").first();
  await chip.click();
  assert.equal(await chip.getAttribute("aria-pressed"), "false");
  await page.waitForTimeout(100);
  assert.notEqual(await pixels(page), whole);
  await chip.click();
  await page.mouse.move(5, 5);
  await page.waitForTimeout(100);
  assert.equal(await pixels(page), whole);
});

test("? opens the help", async () => {
  const { page } = await open(small);
  await page.keyboard.press("?");
  assert.ok(await page.locator("dialog").isVisible());
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("dialog").isVisible(), false);
});

const groundOf = (page) => page.evaluate(() => getComputedStyle(document.body).backgroundColor);

test("follows the system's dark mode until the reader switches", async () => {
  const { page } = await open(small, { colorScheme: "dark" });
  const dark = await groundOf(page);
  const picture = await pixels(page);
  await page.getByRole("button", { name: "light or dark" }).click();
  await page.waitForTimeout(100);
  assert.notEqual(await groundOf(page), dark);
  assert.notEqual(await pixels(page), picture);
  assert.equal(await groundOf((await open(small)).page), await groundOf(page));
});

test("prints light, with its charts and without its controls", async () => {
  const { page } = await open(small, { colorScheme: "dark" });
  const pdf = join(folder, "small.pdf");
  await page.pdf({ path: pdf, preferCSSPageSize: true });
  assert.ok(statSync(pdf).size > 20_000, "the charts are included");
  await page.emulateMedia({ media: "print" });
  assert.equal(await page.locator(".toolbar").isVisible(), false);
  assert.ok(await page.locator("canvas.bars").isVisible());
  const white = await page.evaluate(() => {
    window.dispatchEvent(new Event("beforeprint"));
    const canvas = document.querySelector("canvas.bars");
    return [...canvas.getContext("2d").getImageData(canvas.width - 2, 2, 1, 1).data];
  });
  assert.deepEqual(white, [255, 255, 255, 255]);
});

test("everything has a text alternative", async () => {
  const { page } = await open(small);
  assert.match(await page.locator("canvas.bars").getAttribute("aria-label"), /bars on 4 lanes/);
  assert.equal(
    await page
      .locator("button:not([aria-label]):not([title])")
      .evaluateAll((all) => all.filter((one) => !one.textContent.trim()).length),
    0,
  );
  await page.getByText("numbers as a table").first().click();
  assert.match(await page.locator("table").first().innerText(), /all devices/);
});

test("a row of the longest waits links to its bar", async () => {
  const { page } = await open(small);
  await page.locator(".row-link").first().click();
  assert.match(await panelOf(page).innerText(), /waits for/);
});

test("an overlay shows both timelines and the matching bar", async () => {
  dovetail("convert", "small.json", "small.trace.json");
  dovetail("report", "small.json", "small.trace.json", "--overlay", "-o", "both.html");
  const { page, problems } = await open(join(folder, "both.html"));
  assert.match(await page.locator(".gantt .note").innerText(), /A \(small\.json\) is on top/);
  await page.locator("canvas.bars").focus();
  await page.keyboard.press("Tab");
  assert.match(await panelOf(page).innerText(), /device 0 · A[^]*matching bar[^]*device 0 · B/);
  assert.match(await page.locator("main").innerText(), /All matched bars are equal/);
  assert.deepEqual(problems, []);
});

const job = jobReport("ppo-7b");
const sectionOf = (page, title) =>
  page.locator("section", { has: page.getByRole("heading", { name: title, exact: true }) });

test("a job's page has the iteration, its memory, and the reasons against other plans", async () => {
  const { page, problems } = await open(job);
  assert.match(await page.locator(".figures").innerText(), /iteration\s+[0-9.]+ s[^]*GiB left[^]*idle/);
  await page.locator("canvas.bars").focus();
  await page.keyboard.press("Tab");
  assert.match(await panelOf(page).innerText(), /reallocation for actor_generate[^]*duration[^]*memory in use at start/);
  const plans = sectionOf(page, "Ranked plans");
  assert.match(await plans.locator("tr.marked").innerText(), /shown/);
  assert.match(await plans.locator("tbody").innerText(), /[+-][0-9.]+ m?s/);
  assert.deepEqual(problems, []);
});

test("a row of the activities links to the first bar", async () => {
  const { page } = await open(job);
  await sectionOf(page, "Activities")
    .getByRole("button", { name: /actor_train/ })
    .click();
  assert.match(await panelOf(page).innerText(), /of actor_train/);
});

test("the numbers of all devices are the sum of their rows", async () => {
  const { page } = await open(job);
  const { all, rows, end } = await page.evaluate(() => {
    const report = JSON.parse(document.getElementById("dovetail-report").textContent);
    const breakdown = report.sections.find((section) => section.title === "Where the time goes");
    const sum = (row) => row.amounts.reduce((a, b) => a + b, 0);
    return { all: sum(breakdown.rows[0]), rows: breakdown.rows.slice(1).map(sum), end: report.sections.find((section) => section.end !== undefined).end };
  });
  for (const row of rows) assert.equal(row, end);
  assert.equal(all % end, 0, "whole devices");
  assert.ok(all / end >= rows.length);
});

test("the best threshold is marked in light and dark mode", async () => {
  for (const colorScheme of ["light", "dark"]) {
    const { page } = await open(job, { colorScheme });
    const chart = sectionOf(page, "Migration threshold");
    const texts = await chart
      .locator("svg text")
      .evaluateAll((all) =>
        all.map((one) => [one.textContent, one.getBoundingClientRect().x, one.getBoundingClientRect().right]),
      );
    assert.ok(texts.some(([text]) => /^best: \d+%$/.test(text)));
    const frame = await chart.locator("svg").boundingBox();
    for (const [text, left, right] of texts)
      assert.ok(left >= frame.x && right <= frame.x + frame.width + 1, `${text} is cut off`);
  }
});

test("a column of numbers is sorted by value, regardless of units", async () => {
  const takes = ["4.6 s", "932.0 ms", "-", "1,200 s", "60.2 ms"];
  const html = readFileSync(job, "utf8").replace(
    /(id="dovetail-report">)([^]*?)(<\/script>)/,
    (_, begin, json, end) => {
      const data = JSON.parse(json);
      const steps = data.sections.find((section) => section.title === "Activities");
      steps.rows = takes.map((text, row) => steps.rows[row % steps.rows.length].with(3, text));
      steps.bars = takes.map(() => -1);
      return begin + JSON.stringify(data).replaceAll("<", "\\u003c") + end;
    },
  );
  writeFileSync(join(folder, "units.html"), html);
  const { page, problems } = await open(join(folder, "units.html"));
  assert.deepEqual(problems, []);
  const steps = sectionOf(page, "Activities");
  const shown = () => steps.locator("tbody tr td:nth-child(4)").allInnerTexts();
  await steps.getByRole("button", { name: /^simulated/ }).click();
  assert.deepEqual(await shown(), ["-", "60.2 ms", "932.0 ms", "4.6 s", "1,200 s"]);
  await steps.getByRole("button", { name: /^simulated/ }).click();
  assert.deepEqual(await shown(), ["1,200 s", "4.6 s", "932.0 ms", "60.2 ms", "-"]);
});

test("a narrow screen has no horizontal scrolling", async () => {
  const { page } = await open(small, { viewport: { width: 390, height: 800 } });
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
});

test("a page of 100,000 bars opens and reacts to clicks", async () => {
  const { page, problems } = await open(report("large", 64, 790));
  console.log(`100,000 bars: open in ${(await openTime(page)).toFixed(0)} ms`);
  assert.ok((await openTime(page)) < 10_000);
  await page.mouse.click(...(await placeOn(page, 0.5, 32, 64)));
  assert.match(await panelOf(page).innerText(), /[FB]\d+ actor/);
  assert.deepEqual(problems, []);
});
