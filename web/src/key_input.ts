// Keyboard input of a focused chart.

import { ChartState, leastLaneHeight, mostLaneHeight } from "./chart_state";
import { firstBarAfter } from "./data";

export interface KeyActions {
  details(): void; // moves the focus to the details of the selected bar
  search(): void;
  nextFound(step: 1 | -1): void;
}

// Returns the next or previous bar in order of lanes and time, or the first one in view if none is selected.
function neighbor(state: ChartState, step: 1 | -1): number | undefined {
  const { gantt } = state;
  if (state.selected === undefined) {
    const lane = gantt.lanes.find((candidate) => firstBarAfter(gantt, candidate, state.view.from) < candidate.last);
    return lane && firstBarAfter(gantt, lane, state.view.from);
  }
  let bar = state.selected + step;
  while (bar >= 0 && bar < gantt.begin.length && !state.visible[gantt.category[bar]!]) bar += step;
  return bar >= 0 && bar < gantt.begin.length ? bar : undefined;
}

// Returns the bar of the lane above or below that runs at the middle of the selected bar, or the next one there.
function acrossLanes(state: ChartState, step: 1 | -1): number | undefined {
  const { gantt, selected } = state;
  if (selected === undefined) return neighbor(state, 1);
  const middle = (gantt.begin[selected]! + gantt.finish[selected]!) / 2;
  for (let index = gantt.laneOf[selected]! + step; index >= 0 && index < gantt.lanes.length; index += step) {
    const lane = gantt.lanes[index]!;
    if (lane.first < lane.last) return Math.min(firstBarAfter(gantt, lane, middle), lane.last - 1);
  }
  return undefined;
}

function goTo(state: ChartState, bar: number | undefined): boolean {
  if (bar === undefined) return false;
  state.goTo(bar);
  return true;
}

function setLaneHeight(state: ChartState, height: number): true {
  state.laneHeight = Math.min(Math.max(height, leastLaneHeight), mostLaneHeight);
  state.changed();
  return true;
}

function zoomBy(state: ChartState, factor: number): true {
  const { view, gantt, selected } = state;
  const middle = selected !== undefined ? (gantt.begin[selected]! + gantt.finish[selected]!) / 2 : -1;
  view.zoom(factor, middle >= view.from && middle <= view.to ? middle : (view.cursor ?? (view.from + view.to) / 2));
  return true;
}

// Handles a key. Returns whether it is a key of the chart.
function act(state: ChartState, actions: KeyActions, event: KeyboardEvent): boolean {
  const { view } = state;
  const pan = (share: number) => (view.pan(share * (view.to - view.from)), true);
  switch (event.key) {
    case "ArrowLeft":
      return pan(event.shiftKey ? -0.5 : -0.1);
    case "ArrowRight":
      return pan(event.shiftKey ? 0.5 : 0.1);
    case "ArrowUp":
      return goTo(state, acrossLanes(state, -1));
    case "ArrowDown":
      return goTo(state, acrossLanes(state, 1));
    case "+":
    case "=":
      return zoomBy(state, 1.5);
    case "-":
      return zoomBy(state, 1 / 1.5);
    case "0":
      return (view.all(), true);
    case "Home":
      return (view.set(0, view.to - view.from), true);
    case "End":
      return (view.set(view.end - (view.to - view.from), view.end), true);
    case "[":
      return setLaneHeight(state, state.laneHeight - (state.laneHeight > 8 ? 3 : 1));
    case "]":
      return setLaneHeight(state, state.laneHeight + (state.laneHeight >= 8 ? 3 : 1));
    case "Tab":
      return goTo(state, neighbor(state, event.shiftKey ? -1 : 1));
    case "Escape":
      if (state.selected === undefined) return false;
      return (state.select(undefined), true);
    case "Enter":
      if (state.selected === undefined) return false;
      return (actions.details(), true);
    case "f":
      if (state.selected === undefined) return false;
      return (view.set(state.gantt.begin[state.selected]!, state.gantt.finish[state.selected]!), zoomBy(state, 1 / 3));
    case "n":
      return (actions.nextFound(1), true);
    case "N":
      return (actions.nextFound(-1), true);
    case "/":
      return (actions.search(), true);
    default:
      return false;
  }
}

// After Escape, Tab leaves the chart until another of its keys is pressed.
export function listenToKeys(canvas: HTMLCanvasElement, state: ChartState, actions: KeyActions): void {
  let leaving = false;
  canvas.addEventListener("focus", () => (leaving = false));
  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") leaving = true;
    else if (event.key !== "Tab" && event.key !== "Shift") leaving = false;
    if (event.key === "Tab" && leaving) return;
    if (act(state, actions, event)) event.preventDefault();
  });
}
