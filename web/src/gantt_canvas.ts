// Draws a chart: lanes of bars, the time axis, and the selected bar with its arrows.

import { ChartState } from "./chart_state";
import { sizeCanvas } from "./dom";
import { timeAxis } from "./format";
import { axisHeight, Layout, textFont, textWidth, xOf } from "./layout";
import { LaneRaster, Look, mixColors, parseColor } from "./raster";
import { Ink, ink, isDark } from "./theme";
import { labelOf } from "./text";
import { firstBarAfter } from "./data";

const upperShare = 0.6; // share of a lane's height that only work fills; idle time stays below it
const leastLabelHeight = 11;

function lookOf(state: ChartState, colors: Ink): Look {
  const ground = parseColor(colors.ground);
  const categories = state.gantt.data.categories;
  const own = categories.map((category) => parseColor(isDark() ? category.dark : category.color));
  return {
    ground,
    colors: own,
    dimmed: own.map((color) => mixColors(color, ground, 0.82)),
    visible: state.visible,
    idle: categories.map((category) => category.idle),
  };
}

// Whether white reads better than black on the color.
function isDarkColor(hex: string): boolean {
  const [red, green, blue] = parseColor(hex);
  return 299 * red + 587 * green + 114 * blue < 140000;
}

export class GanttCanvas {
  private readonly lines = document.createElement("canvas"); // two lines of pixels per lane
  private raster = new LaneRaster(1);
  private image = new ImageData(1, 1);

  constructor(private readonly canvas: HTMLCanvasElement) {}

  draw(state: ChartState, layout: Layout, ratio: number): void {
    const colors = ink();
    const context = sizeCanvas(this.canvas, layout.width, layout.height, ratio);
    context.font = textFont;
    context.textBaseline = "middle";
    context.fillStyle = colors.ground;
    context.fillRect(0, 0, layout.width, layout.height);
    this.drawAxis(context, state, layout, colors);
    context.save();
    context.beginPath();
    context.rect(0, axisHeight, layout.width, layout.height - axisHeight);
    context.clip();
    const [first, last] = lanesInView(state, layout);
    this.drawLanes(context, state, layout, colors, ratio, first, last);
    this.drawLabels(context, state, layout, first, last);
    this.drawNames(context, state, layout, colors, first, last);
    this.drawSelection(context, state, layout, colors);
    context.restore();
    drawScrollbar(context, state, layout, colors);
  }

  private drawAxis(context: CanvasRenderingContext2D, state: ChartState, layout: Layout, colors: Ink): void {
    const { from, to } = state.view;
    const axis = timeAxis(((to - from) * 96) / layout.plotWidth, to, state.gantt.data.time_unit);
    context.textAlign = "center";
    for (let time = Math.ceil(from / axis.step) * axis.step; time <= to; time += axis.step) {
      const x = Math.round(xOf(layout, state, time)) + 0.5;
      context.fillStyle = colors.line;
      context.fillRect(x - 0.5, axisHeight - 5, 1, layout.height);
      context.fillStyle = colors.faint;
      const half = textWidth(axis.text(time)) / 2;
      context.fillText(axis.text(time), Math.min(Math.max(x, layout.plotLeft + half - 8), layout.width - half - 2), 9);
    }
  }

  private drawLanes(
    context: CanvasRenderingContext2D,
    state: ChartState,
    layout: Layout,
    colors: Ink,
    ratio: number,
    first: number,
    last: number,
  ): void {
    const columns = Math.round(layout.plotWidth * ratio);
    if (last <= first) return;
    this.makeRoom(columns, 2 * (last - first));
    const look = lookOf(state, colors);
    const pixels = new Uint32Array(this.image.data.buffer);
    for (let lane = first; lane < last; ++lane) {
      const line = 2 * columns * (lane - first);
      this.raster.draw(
        state.gantt,
        state.gantt.lanes[lane]!,
        state.view.from,
        state.view.to,
        look,
        state.found,
        pixels,
        line,
      );
    }
    this.lines.getContext("2d", { alpha: false })?.putImageData(this.image, 0, 0);
    context.imageSmoothingEnabled = false;
    for (let lane = first; lane < last; ++lane) {
      const top = axisHeight + layout.laneTop[lane]! - state.scroll;
      const upper = Math.round(layout.laneHeight * upperShare);
      const line = 2 * (lane - first);
      context.drawImage(this.lines, 0, line, columns, 1, layout.plotLeft, top, layout.plotWidth, upper);
      context.drawImage(
        this.lines,
        0,
        line + 1,
        columns,
        1,
        layout.plotLeft,
        top + upper,
        layout.plotWidth,
        layout.laneHeight - upper,
      );
    }
  }

  private makeRoom(columns: number, lines: number): void {
    if (this.image.width === columns && this.image.height === lines) return;
    this.raster = new LaneRaster(columns);
    this.image = new ImageData(columns, lines);
    this.lines.width = columns;
    this.lines.height = lines;
  }

  private drawLabels(
    context: CanvasRenderingContext2D,
    state: ChartState,
    layout: Layout,
    first: number,
    last: number,
  ): void {
    if (layout.laneHeight < leastLabelHeight) return;
    const { gantt, view } = state;
    const least = (14 * (view.to - view.from)) / layout.plotWidth; // length of the shortest bar that can hold a label
    const dark = gantt.data.categories.map((category) => isDarkColor(isDark() ? category.dark : category.color));
    context.textAlign = "center";
    context.font = `${Math.min(12, layout.laneHeight - 3)}px system-ui, 'DejaVu Sans', sans-serif`;
    for (let index = first; index < last; ++index) {
      const lane = gantt.lanes[index]!;
      const middle = axisHeight + layout.laneTop[index]! - state.scroll + layout.laneHeight / 2 + 0.5;
      for (let bar = firstBarAfter(gantt, lane, view.from); bar < lane.last && gantt.begin[bar]! < view.to; ++bar) {
        const category = gantt.category[bar]!;
        if (
          gantt.finish[bar]! - gantt.begin[bar]! < least ||
          !state.visible[category] ||
          gantt.data.categories[category]!.idle
        )
          continue;
        if (state.found && !state.found[bar]) continue;
        const left = Math.max(xOf(layout, state, gantt.begin[bar]!), layout.plotLeft);
        const right = Math.min(xOf(layout, state, gantt.finish[bar]!), layout.plotLeft + layout.plotWidth);
        const label = labelOf(gantt, bar);
        if (label === "" || 6.6 * label.length + 4 > right - left) continue;
        context.fillStyle = dark[category] ? "#ffffff" : "#10151f";
        context.fillText(label, (left + right) / 2, middle);
      }
    }
    context.font = textFont;
  }

  private drawNames(
    context: CanvasRenderingContext2D,
    state: ChartState,
    layout: Layout,
    colors: Ink,
    first: number,
    last: number,
  ): void {
    const { gantt } = state;
    context.fillStyle = colors.ground;
    context.fillRect(0, axisHeight, layout.plotLeft - 4, layout.height);
    context.textAlign = "right";
    const every = Math.max(1, Math.ceil(13 / (layout.laneTop[1]! - layout.laneTop[0]! || 13)));
    const looked = state.selected ?? state.hovered;
    for (let lane = first; lane < last; ++lane) {
      const isLooked = looked !== undefined && gantt.laneOf[looked] === lane;
      if (!isLooked && (lane % every !== 0 || gantt.lanes[lane]!.name === "")) continue;
      context.fillStyle = isLooked ? colors.text : colors.faint;
      const middle = Math.max(
        axisHeight + layout.laneTop[lane]! - state.scroll + layout.laneHeight / 2,
        axisHeight + 6,
      );
      context.fillText(shorten(gantt.lanes[lane]!.name, layout.plotLeft - 14), layout.plotLeft - 9, middle);
    }
  }

  private drawSelection(context: CanvasRenderingContext2D, state: ChartState, layout: Layout, colors: Ink): void {
    context.save();
    context.beginPath();
    context.rect(layout.plotLeft, axisHeight, layout.plotWidth, layout.height);
    context.clip();
    if (state.hovered !== undefined && state.hovered !== state.selected)
      outline(context, state, layout, state.hovered, colors.faint, 1);
    const bar = state.selected;
    if (bar !== undefined) {
      const partner = state.gantt.data.partner?.[bar] ?? -1;
      if (partner >= 0) outline(context, state, layout, partner, colors.warning, 2);
      context.strokeStyle = colors.accent;
      for (const other of state.gantt.from.get(bar) ?? []) arrow(context, state, layout, other, bar);
      for (const other of state.gantt.to.get(bar) ?? []) arrow(context, state, layout, bar, other);
      outline(context, state, layout, bar, colors.ground, 5);
      outline(context, state, layout, bar, colors.text, 2);
    }
    context.restore();
  }
}

function shorten(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  let kept = text.length;
  while (kept > 1 && textWidth(text.slice(0, kept) + "…") > width) --kept;
  return text.slice(0, kept) + "…";
}

function lanesInView(state: ChartState, layout: Layout): [number, number] {
  const lanes = state.gantt.lanes.length;
  let first = 0;
  while (first < lanes && layout.laneTop[first]! + layout.laneHeight < state.scroll) ++first;
  let last = first;
  while (last < lanes && layout.laneTop[last]! < state.scroll + layout.height - axisHeight) ++last;
  return [first, last];
}

function outline(
  context: CanvasRenderingContext2D,
  state: ChartState,
  layout: Layout,
  bar: number,
  color: string,
  width: number,
): void {
  const left = xOf(layout, state, state.gantt.begin[bar]!);
  const right = Math.max(xOf(layout, state, state.gantt.finish[bar]!), left + 2);
  const top = axisHeight + layout.laneTop[state.gantt.laneOf[bar]!]! - state.scroll;
  context.strokeStyle = color;
  context.lineWidth = width;
  context.strokeRect(left - 0.5, top - 0.5, right - left + 1, layout.laneHeight + 1);
}

function arrow(context: CanvasRenderingContext2D, state: ChartState, layout: Layout, from: number, to: number): void {
  const y = (bar: number) =>
    axisHeight + layout.laneTop[state.gantt.laneOf[bar]!]! - state.scroll + layout.laneHeight / 2;
  const [x1, y1, x2, y2] = [
    xOf(layout, state, state.gantt.finish[from]!),
    y(from),
    xOf(layout, state, state.gantt.begin[to]!),
    y(to),
  ];
  const bend = Math.max(10, Math.min(40, Math.abs(x2 - x1) / 2));
  context.lineWidth = 1.5;
  context.beginPath();
  context.moveTo(x1, y1);
  context.bezierCurveTo(x1 + bend, y1, x2 - bend, y2, x2, y2);
  context.moveTo(x2 - 6, y2 - 4);
  context.lineTo(x2, y2);
  context.lineTo(x2 - 6, y2 + 4);
  context.stroke();
}

function drawScrollbar(context: CanvasRenderingContext2D, state: ChartState, layout: Layout, colors: Ink): void {
  const all = layout.laneTop[layout.laneTop.length - 1]! + 2;
  const seen = layout.height - axisHeight;
  if (all <= seen + 1) return;
  context.fillStyle = colors.line;
  context.fillRect(layout.width - 7, axisHeight, 6, seen);
  context.fillStyle = colors.faint;
  context.fillRect(layout.width - 7, axisHeight + (state.scroll / all) * seen, 6, Math.max(12, (seen / all) * seen));
}
