// State of a chart that the reader controls: visible time range, selected bar, search and hidden categories.

import { Gantt } from "./data";
import { View } from "./view";

export const leastLaneHeight = 3;
export const mostLaneHeight = 40;

export class ChartState {
  readonly view: View;
  readonly visible: boolean[];
  selected: number | undefined;
  hovered: number | undefined;
  found: Uint8Array | undefined; // by bar: whether the search matches it
  laneHeight: number;
  scroll = 0; // CSS pixels of lanes scrolled out above the view
  private readonly listeners: (() => void)[] = [];

  constructor(readonly gantt: Gantt) {
    this.view = new View(Math.max(gantt.end, 1), gantt.data.time_unit === "tick" ? 4 : 20);
    this.visible = gantt.data.categories.map(() => true);
    const fitting = Math.floor((0.62 * window.innerHeight) / Math.max(gantt.lanes.length, 1)) - 2;
    this.laneHeight = Math.min(Math.max(fitting, 8), 26);
    this.view.onChange(() => this.changed());
  }

  // Registers a listener for every change, including changes of the view.
  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  changed(): void {
    for (const listener of this.listeners) listener();
  }

  select(bar: number | undefined): void {
    if (bar === this.selected) return;
    this.selected = bar;
    this.changed();
  }

  // Selects a bar and scrolls it into view.
  goTo(bar: number): void {
    this.selected = bar;
    this.view.show(this.gantt.begin[bar]!, this.gantt.finish[bar]!);
    this.changed();
  }
}
