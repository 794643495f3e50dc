// Opens pages in headless Chromium for the tests and the benchmark.
//
// Environment: DOVETAIL is the program, WEB_MODULES the folder whose node_modules contains playwright-core, CHROMIUM
// the browser (default: /usr/bin/chromium).

import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const { chromium } = createRequire(join(resolve(process.env.WEB_MODULES ?? "build/web"), "/"))("playwright-core");
const root = fileURLToPath(new URL("../..", import.meta.url));
export const program = resolve(process.env.DOVETAIL ?? "build/release/bin/dovetail");

export const folder = mkdtempSync(join(tmpdir(), "dovetail-web-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

export const screen = { width: 1920, height: 1080 };

export function dovetail(...words) {
  return execFileSync(program, words, { cwd: folder, encoding: "utf8" });
}

// Returns a problem of one model on `stages` devices with 2 x stages x microbatches ops.
export function problem(stages, microbatches) {
  const devices = Array.from({ length: stages }, (_, device) => device);
  return JSON.stringify({
    format: "dovetail/pipeline-problem@1",
    devices: stages,
    memory: { capacity: 2 * stages },
    models: [{ name: "actor </script><b>", microbatches, devices, forward: 2, backward: 4, activation: 1 }],
  });
}

// Schedules the problem by 1F1B and creates its report. Returns the path of the page.
export function report(name, stages, microbatches, ...options) {
  writeFileSync(join(folder, `${name}.problem.json`), problem(stages, microbatches));
  dovetail("schedule", `${name}.problem.json`, "--solver", "1f1b", "-o", `${name}.json`);
  dovetail("report", `${name}.json`, "-o", `${name}.html`, ...options);
  return join(folder, `${name}.html`);
}

// Creates the report of a job of examples/ with its plan, with both kinds of fusion. Returns the path of the page.
export function jobReport(name) {
  const path = resolve(root, "examples/jobs", name);
  const search = ["--chains", "2", "--iterations", "500"];
  dovetail("report", `${path}.yaml`, "--plan", `${path}.plan.yaml`, "--fuse", "both", ...search, "-o", `${name}.html`);
  return join(folder, `${name}.html`);
}

let browser;

export async function launch() {
  browser ??= await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
  return browser;
}

export async function close() {
  await browser?.close();
}

// Opens the page of that file. `problems` collects console errors, exceptions, and requests for anything but the file.
export async function open(path, options = {}) {
  const context = await (await launch()).newContext({ viewport: screen, ...options });
  const page = await context.newPage();
  const problems = [];
  const url = pathToFileURL(path).href;
  page.on("console", (message) => message.type() === "error" && problems.push(message.text()));
  page.on("pageerror", (error) => problems.push(error.message));
  page.on("request", (request) => request.url() !== url && problems.push(`request: ${request.url()}`));
  await page.goto(url);
  await page.waitForFunction(() => performance.getEntriesByName("dovetail-open").length > 0);
  return { page, problems, context };
}

// Returns milliseconds from the navigation to the first picture, from the page's own marks.
export function openTime(page) {
  return page.evaluate(() => performance.getEntriesByName("dovetail-open")[0].duration);
}
