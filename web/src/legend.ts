// Legend of a chart. Each entry shows or hides its bars.

import { ChartState } from "./chart_state";
import { Category } from "./data";
import { element } from "./dom";
import { isDark, onThemeChange } from "./theme";

export function paintSwatch(swatch: HTMLElement, colors: { color: string; dark: string }): void {
  const paint = () => (swatch.style.background = isDark() ? colors.dark : colors.color);
  onThemeChange(paint);
  paint();
}

function entry(state: ChartState, category: Category, index: number): HTMLElement {
  const swatch = element("span", { class: category.idle ? "swatch low" : "swatch" });
  paintSwatch(swatch, category);
  const made = element(
    "button",
    { type: "button", class: "chip", "aria-pressed": "true", title: `show or hide: ${category.name}` },
    swatch,
    category.name,
  );
  made.addEventListener("click", () => {
    state.visible[index] = !state.visible[index];
    made.setAttribute("aria-pressed", String(state.visible[index]));
    state.changed();
  });
  return made;
}

export function legend(state: ChartState): HTMLElement {
  const entries = (idle: boolean) =>
    state.gantt.data.categories.flatMap((category, index) =>
      category.idle === idle ? [entry(state, category, index)] : [],
    );
  const made = element(
    "div",
    { class: "legend", role: "group", "aria-label": "legend: show or hide categories of bars" },
    ...entries(false),
  );
  const idle = entries(true);
  if (idle.length > 0) made.append(element("span", { class: "legend-word" }, "idle:"), ...idle);
  return made;
}
