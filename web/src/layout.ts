// Positions of lanes and times on the canvas, in CSS pixels.

import { Gantt } from "./data";
import { ChartState } from "./chart_state";

export const axisHeight = 24;
export const textFont = "12px system-ui, 'DejaVu Sans', sans-serif";
const mostHeightShare = 0.68; // share of the window's height
const longestName = 190;
const paperHeight = 420; // fits a page with the legend above and the curves below

export interface Layout {
  width: number;
  height: number;
  plotLeft: number;
  plotWidth: number;
  laneTop: number[]; // below the axis, before scrolling; the last entry is the bottom of all lanes
  laneHeight: number;
}

let ruler: CanvasRenderingContext2D | null = null;

export function textWidth(text: string): number {
  ruler ??= document.createElement("canvas").getContext("2d");
  if (!ruler) return 7 * text.length;
  ruler.font = textFont;
  return ruler.measureText(text).width;
}

// Returns the width of the lane names, at most longestName.
export function gutterWidth(gantt: Gantt): number {
  const widest = gantt.lanes.reduce((width, lane) => Math.max(width, textWidth(lane.name)), 0);
  return Math.ceil(Math.min(Math.max(widest, 56), longestName)) + 14;
}

// Computes the layout. On paper all lanes are shown, as tall as a page allows.
export function layOut(state: ChartState, width: number, gutter: number, onPaper: boolean): Layout {
  const fitting = Math.floor(paperHeight / Math.max(state.gantt.lanes.length, 1)) - 2;
  const height = onPaper ? Math.min(state.laneHeight, Math.max(fitting, 2)) : state.laneHeight;
  const gap = height >= 8 ? 2 : height >= 5 ? 1 : 0;
  const laneTop: number[] = [];
  let top = 4;
  state.gantt.lanes.forEach((lane, index) => {
    const paired = state.gantt.lanes[index + 1]?.joined === true;
    if (lane.joined && index > 0) top -= gap;
    laneTop.push(top);
    top += height + gap + (lane.joined && !paired ? 4 : 0);
  });
  laneTop.push(top);
  const most = onPaper ? Infinity : Math.max(mostHeightShare * window.innerHeight, 160);
  return {
    width,
    height: axisHeight + Math.min(top + 2, most),
    plotLeft: gutter,
    plotWidth: Math.max(width - gutter - 10, 50),
    laneTop,
    laneHeight: height,
  };
}

export function xOf(layout: Layout, state: ChartState, time: number): number {
  return layout.plotLeft + ((time - state.view.from) / (state.view.to - state.view.from)) * layout.plotWidth;
}

export function timeAt(layout: Layout, state: ChartState, x: number): number {
  return state.view.from + ((x - layout.plotLeft) / layout.plotWidth) * (state.view.to - state.view.from);
}

export function mostScroll(layout: Layout): number {
  return Math.max(0, layout.laneTop[layout.laneTop.length - 1]! + 2 - (layout.height - axisHeight));
}

// Returns the lane at `y` of the canvas, including the gap below it.
export function laneAt(layout: Layout, state: ChartState, y: number): number | undefined {
  const inLanes = y - axisHeight + state.scroll;
  if (y < axisHeight) return undefined;
  for (let lane = layout.laneTop.length - 2; lane >= 0; --lane) {
    if (layout.laneTop[lane]! <= inLanes)
      return inLanes < layout.laneTop[lane]! + layout.laneHeight + 3 ? lane : undefined;
  }
  return undefined;
}
