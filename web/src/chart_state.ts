// What the reader has done to a chart: the time in view, the bar that is looked at, what is searched and hidden.

import { Gantt } from "./data";
import { View } from "./view";

export const leastLaneHeight = 3;
export const mostLaneHeight = 40;

export class ChartState {
  readonly view: View;
  readonly visible: boolean[];
  selected: number | undefined;
  hovered: number | undefined;
  found: Uint8Array | undefined; // by bar: whether the search finds it
  laneHeight: number;
  scroll = 0; // CSS pixels of lanes above the view
  private readonly listeners: (() => void)[] = [];

  constructor(readonly gantt: Gantt) {
    this.view = new View(Math.max(gantt.end, 1), gantt.data.time_unit === "tick" ? 4 : 20);
    this.visible = gantt.data.categories.map(() => true);
    const fitting = Math.floor((0.62 * window.innerHeight) / Math.max(gantt.lanes.length, 1)) - 2;
    this.laneHeight = Math.min(Math.max(fitting, 8), 26);
    this.view.onChange(() => this.changed());
  }

  // Called after every change, the view's included.
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

  // Selects a bar and brings it into view.
  goTo(bar: number): void {
    this.selected = bar;
    this.view.show(this.gantt.begin[bar]!, this.gantt.finish[bar]!);
    this.changed();
  }
}
