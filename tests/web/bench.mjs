// Measures how fast a report of 100,000 bars opens and how many frames per second it pans at: node tests/web/bench.mjs

import { close, open, openTime, report, screen } from "./browser.mjs";

const seconds = 3;
const repeats = 5;

// Pans back and forth with almost the whole time range in view, one step per frame. Returns frames per second and the
// longest of the fastest 95% of the frames.
function pan(page, milliseconds) {
  return page.evaluate(async (length) => {
    const canvas = document.querySelector("canvas.bars");
    const press = (key) => canvas.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    const zoom = (deltaY) =>
      canvas.dispatchEvent(new WheelEvent("wheel", { deltaY, ctrlKey: true, bubbles: true, cancelable: true }));
    press("0");
    zoom(-5); // slightly, to leave space for panning
    const times = [];
    await new Promise((done) => {
      const step = (now) => {
        times.push(now);
        press(times.length % 2 ? "ArrowRight" : "ArrowLeft");
        if (now - times[0] < length) requestAnimationFrame(step);
        else done();
      };
      requestAnimationFrame(step);
    });
    const frames = times
      .slice(1)
      .map((time, i) => time - times[i])
      .sort((a, b) => a - b);
    return {
      rate: (1000 * frames.length) / (times[times.length - 1] - times[0]),
      slow: frames[Math.floor(0.95 * frames.length)],
    };
  }, milliseconds);
}

const path = report("large", 64, 790);
const opened = [];
for (let i = 0; i < repeats; ++i) {
  const { page, context } = await open(path);
  opened.push(await openTime(page));
  if (i + 1 === repeats) {
    const bars = await page.locator("canvas.bars").getAttribute("aria-label");
    const { rate, slow } = await pan(page, 1000 * seconds);
    console.log(`${bars.split(".")[0]}; ${screen.width} x ${screen.height}, headless, drawn in software`);
    console.log(
      `opens in ${opened.sort((a, b) => a - b)[Math.floor(repeats / 2)].toFixed(0)} ms (median of ${repeats})`,
    );
    console.log(`pans at ${rate.toFixed(1)} frames/s; 95% of the frames take at most ${slow.toFixed(1)} ms`);
  }
  await context.close();
}
await close();
