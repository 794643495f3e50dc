// Toolbar above a chart: search and zoom.

import { ChartState } from "./chart_state";
import { button, element } from "./dom";
import { Search } from "./text";

export class Toolbar {
  readonly node: HTMLElement;
  private readonly input = element("input", {
    type: "search",
    placeholder: "search bars",
    "aria-label": "search bars by name, category or lane",
  });
  private readonly count = element("output", { class: "count" });
  private readonly search: Search;

  constructor(private readonly state: ChartState) {
    this.search = new Search(state.gantt);
    this.input.addEventListener("input", () => this.find());
    this.input.addEventListener("keydown", (event) => {
      if (event.key === "Enter") this.next(event.shiftKey ? -1 : 1);
    });
    const { view } = state;
    const zoom = (factor: number) => view.zoom(factor, (view.from + view.to) / 2);
    this.node = element(
      "div",
      { class: "toolbar" },
      this.input,
      this.count,
      button("−", "zoom out (-)", () => zoom(1 / 2)),
      button("+", "zoom in (+)", () => zoom(2)),
      button("All", "show the whole time range (0)", () => view.all()),
    );
  }

  focus(): void {
    this.input.focus();
    this.input.select();
  }

  // Selects the next (previous) match after (before) the selected bar, wrapping around.
  next(step: 1 | -1): void {
    const { found, selected, gantt } = this.state;
    if (!found) return;
    const bars = gantt.begin.length;
    let bar = selected ?? (step > 0 ? -1 : bars);
    for (let tried = 0; tried < bars; ++tried) {
      bar = (bar + step + bars) % bars;
      if (found[bar]) return this.state.goTo(bar);
    }
  }

  private find(): void {
    const found = this.search.find(this.input.value);
    this.state.found = found;
    const number = found?.reduce((sum, one) => sum + one, 0);
    this.count.textContent = number === undefined ? "" : `${number.toLocaleString("en-US")} found`;
    this.state.changed();
  }
}
