// Creates the pictures of docs/reading-reports.md. Run node tests/web/pictures.mjs in the root of the repository.

import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import { join } from "node:path";
import { close, folder, open, program } from "./browser.mjs";

const pictures = "docs/pictures";
const viewport = { width: 1280, height: 860 };

function reportOf(name, ...words) {
  const path = join(folder, `${name}.html`);
  execFileSync(program, ["report", ...words, "-o", path]);
  return path;
}

async function save(target, name) {
  const path = join(pictures, `${name}.png`);
  await target.screenshot({ path });
  console.log(`${path}: ${Math.ceil(statSync(path).size / 1024)} KiB`);
}

const sectionOf = (page, title) =>
  page.locator("section", { has: page.getByRole("heading", { name: title, exact: true }) });

async function picturesOfAPlan() {
  const { page } = await open(
    reportOf("iteration", "examples/jobs/rlhfuse-33b-13b.yaml", "--plan", "examples/jobs/rlhfuse-33b-13b.plan.json"),
    { viewport },
  );
  await save(sectionOf(page, "Timeline"), "report-iteration");
  await save(sectionOf(page, "Idle time by cause"), "report-idle");
  await save(sectionOf(page, "Gain from stage fusion"), "report-fusion");
  await save(sectionOf(page, "Migration threshold"), "report-threshold");
  await save(sectionOf(page, "Does it fit?"), "report-memory");
  await save(sectionOf(page, "Ranked plans"), "report-plans");
}

async function pictureOfASelectedBar() {
  const path = reportOf("dark", "examples/jobs/ppo-7b.yaml", "--plan", "examples/jobs/ppo-7b.plan.yaml");
  const { page } = await open(path, { viewport, colorScheme: "dark" });
  await page.locator("canvas.bars").focus();
  await page.keyboard.press("/");
  await page.keyboard.type("backward of critic_train");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Escape");
  await save(page, "report-bar");
}

await picturesOfAPlan();
await pictureOfASelectedBar();
await close();
