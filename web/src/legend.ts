// Legend of a chart. Each entry shows or hides its bars and explains its name.

import { ChartState } from "./chart_state";
import { LegendEntry } from "./data";
import { element } from "./dom";
import { isDark, onThemeChange } from "./theme";

const mostStripes = 3;

interface Colors {
  color: string;
  dark: string;
}

// Paints one color, or stripes of the first distinct colors if there are several.
export function paintSwatch(swatch: HTMLElement, ...all: Colors[]): void {
  const paint = () => {
    const colors = [...new Set(all.map((one) => (isDark() ? one.dark : one.color)))].slice(0, mostStripes);
    const share = 100 / colors.length;
    const stops = colors.map((color, index) => `${color} ${index * share}% ${(index + 1) * share}%`);
    swatch.style.background = colors.length === 1 ? colors[0]! : `linear-gradient(90deg, ${stops.join(", ")})`;
  };
  onThemeChange(paint);
  paint();
}

function chip(state: ChartState, entry: LegendEntry): HTMLElement {
  const swatch = element("span", { class: entry.idle ? "swatch low" : "swatch" });
  paintSwatch(swatch, ...entry.categories.map((category) => state.gantt.data.categories[category]!));
  const explanation = entry.about === undefined ? "" : ` (${entry.about})`;
  const made = element(
    "button",
    { type: "button", class: "chip", "aria-pressed": "true", title: `show or hide: ${entry.name}${explanation}` },
    swatch,
    entry.name,
  );
  made.addEventListener("click", () => {
    const shows = made.getAttribute("aria-pressed") !== "true";
    for (const category of entry.categories) state.visible[category] = shows;
    made.setAttribute("aria-pressed", String(shows));
    state.changed();
  });
  return made;
}

export function legend(state: ChartState): HTMLElement {
  const entries = (idle: boolean) =>
    state.gantt.data.legend.filter((entry) => entry.idle === idle).map((entry) => chip(state, entry));
  const made = element(
    "div",
    { class: "legend", role: "group", "aria-label": "legend: show or hide categories of bars" },
    ...entries(false),
  );
  const idle = entries(true);
  if (idle.length > 0) made.append(element("span", { class: "legend-word" }, "idle:"), ...idle);
  return made;
}

// Explanations of the entries' names, collapsed. Empty if no entry has one.
export function glossary(state: ChartState): HTMLElement[] {
  const explained = state.gantt.data.legend.filter((entry) => entry.about !== undefined);
  if (explained.length === 0) return [];
  const rows = explained.flatMap((entry) => [element("dt", {}, entry.name), element("dd", {}, entry.about!)]);
  const summary = element("summary", {}, "meaning of the colors");
  return [element("details", { class: "glossary" }, summary, element("dl", {}, ...rows))];
}
