// Memory of the lanes over time, below their chart and aligned with it: a band from the minimum to the maximum over all
// lanes, the curve of the selected lane (by default the one with the highest peak), and its capacity.

import { ChartState } from "./chart_state";
import { Curve } from "./data";
import { sizeCanvas } from "./dom";
import { Axis, amountAxis, formatAmount } from "./format";
import { Layout, textFont, textWidth, xOf } from "./layout";
import { Ink, ink } from "./theme";

const height = 150;
const top = 18;
const bottom = height - 8;
const mostFaintCurves = 12;

interface Range {
  least: Float64Array; // by column
  most: Float64Array;
}

function peakOf(curve: Curve): number {
  return curve.value.reduce((peak, value) => Math.max(peak, value), 0);
}

// Returns the value at `time`; 0 before the first step.
export function valueAt(curve: Curve, time: number): number {
  return indexAt(curve, time) < 0 ? 0 : curve.value[indexAt(curve, time)]!;
}

function indexAt(curve: Curve, time: number): number {
  let low = 0;
  let high = curve.time.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (curve.time[middle]! <= time) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function rangeOf(curve: Curve, from: number, to: number, columns: number): Range {
  const least = new Float64Array(columns);
  const most = new Float64Array(columns);
  let step = indexAt(curve, from);
  let value = step < 0 ? 0 : curve.value[step]!;
  for (let column = 0; column < columns; ++column) {
    const right = from + ((to - from) * (column + 1)) / columns;
    let [low, high] = [value, value];
    for (; step + 1 < curve.time.length && curve.time[step + 1]! < right; ++step) {
      value = curve.value[step + 1]!;
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
    least[column] = low;
    most[column] = high;
  }
  return { least, most };
}

const cells = 8192;

// Minimum and maximum over all lanes in each cell of the whole time range. A column of a wide view covers several
// cells.
class Band {
  private readonly whole: Range;

  constructor(
    private readonly curves: Curve[],
    private readonly end: number,
  ) {
    this.whole = this.envelope(0, end, cells);
  }

  range(from: number, to: number, columns: number): Range {
    const cell = this.end / cells;
    if ((to - from) / columns < cell) return this.envelope(from, to, columns);
    const least = new Float64Array(columns).fill(Infinity);
    const most = new Float64Array(columns);
    for (let column = 0; column < columns; ++column) {
      const first = Math.floor((from + ((to - from) * column) / columns) / cell);
      const last = Math.min(Math.floor((from + ((to - from) * (column + 1)) / columns) / cell), cells - 1);
      for (let i = first; i <= last; ++i) {
        least[column] = Math.min(least[column]!, this.whole.least[i]!);
        most[column] = Math.max(most[column]!, this.whole.most[i]!);
      }
    }
    return { least, most };
  }

  private envelope(from: number, to: number, columns: number): Range {
    const least = new Float64Array(columns).fill(Infinity);
    const most = new Float64Array(columns);
    for (const curve of this.curves) {
      const range = rangeOf(curve, from, to, columns);
      for (let column = 0; column < columns; ++column) {
        if (range.least[column]! < least[column]!) least[column] = range.least[column]!;
        if (range.most[column]! > most[column]!) most[column] = range.most[column]!;
      }
    }
    return { least, most };
  }
}

export class CurvesCanvas {
  private readonly band: Band | undefined; // replaces many curves
  private readonly top: number; // value at the upper edge
  private readonly fullest: number; // index of the curve with the highest peak
  private readonly axis: Axis;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly curves: Curve[],
    end: number,
    private readonly name: string,
    private readonly unit: string,
  ) {
    if (curves.length > mostFaintCurves) this.band = new Band(curves, end);
    const peaks = curves.map(peakOf);
    this.fullest = peaks.indexOf(Math.max(...peaks));
    const most = curves.reduce((high, curve) => Math.max(high, curve.capacity ?? 0), Math.max(...peaks));
    this.top = most > 0 ? most * 1.12 : 1;
    this.axis = amountAxis(this.top, 4, unit);
  }

  // Returns the curve of the selected lane, or by default the one with the highest peak.
  shown(state: ChartState): Curve {
    const bar = state.selected ?? state.hovered;
    const lane = bar === undefined ? -1 : state.gantt.laneOf[bar]!;
    return this.curves.find((curve) => curve.lane === lane) ?? this.curves[this.fullest]!;
  }

  draw(state: ChartState, layout: Layout, ratio: number): void {
    const colors = ink();
    const context = sizeCanvas(this.canvas, layout.width, height, ratio);
    context.font = textFont;
    context.textBaseline = "middle";
    context.fillStyle = colors.ground;
    context.fillRect(0, 0, layout.width, height);
    this.drawAxis(context, layout, colors);
    const columns = Math.round(layout.plotWidth);
    const { from, to } = state.view;
    const shown = this.curves.indexOf(this.shown(state));
    if (this.band) this.drawBand(context, layout, this.band.range(from, to, columns), colors);
    else
      this.curves.forEach((curve) =>
        this.drawCurve(context, layout, rangeOf(curve, from, to, columns), colors.faint, 0.35, false),
      );
    this.drawCurve(context, layout, rangeOf(this.curves[shown]!, from, to, columns), colors.accent, 1, true);
    this.drawCapacity(context, layout, this.curves[shown]!, colors);
    this.drawCaption(context, state, layout, shown, colors);
  }

  private y(value: number): number {
    return bottom - ((bottom - top) * value) / this.top;
  }

  private drawAxis(context: CanvasRenderingContext2D, layout: Layout, colors: Ink): void {
    context.textAlign = "right";
    for (let value = 0; value <= this.top; value += this.axis.step) {
      const y = Math.round(this.y(value));
      context.fillStyle = colors.line;
      context.fillRect(layout.plotLeft, y, layout.plotWidth, 1);
      context.fillStyle = colors.faint;
      if (y > top) context.fillText(this.axis.text(value), layout.plotLeft - 9, y);
    }
  }

  // Draws a ribbon from the minimum to the maximum of each column. Stroking a curve that jumps within columns would
  // take longer than drawing all bars.
  private drawCurve(
    context: CanvasRenderingContext2D,
    layout: Layout,
    range: Range,
    color: string,
    alpha: number,
    filled: boolean,
  ): void {
    const left = layout.plotLeft;
    const columns = range.most.length;
    const half = filled ? 0.8 : 0.5;
    context.fillStyle = color;
    context.beginPath();
    for (let column = 0; column < columns; ++column) {
      const y = this.y(range.most[column]!) - half;
      context.lineTo(left + column, y);
      context.lineTo(left + column + 1, y);
    }
    for (let column = columns - 1; column >= 0; --column) {
      const y = this.y(range.least[column]!) + half;
      context.lineTo(left + column + 1, y);
      context.lineTo(left + column, y);
    }
    context.globalAlpha = alpha;
    context.fill();
    if (filled) {
      context.beginPath();
      context.moveTo(left, bottom);
      for (let column = 0; column < columns; ++column)
        context.lineTo(left + column + 0.5, this.y(range.least[column]!));
      context.lineTo(left + columns, bottom);
      context.globalAlpha = 0.12;
      context.fill();
    }
    context.globalAlpha = 1;
  }

  private drawBand(context: CanvasRenderingContext2D, layout: Layout, range: Range, colors: Ink): void {
    const columns = range.most.length;
    context.beginPath();
    for (let column = 0; column < columns; ++column)
      context.lineTo(layout.plotLeft + column + 0.5, this.y(range.most[column]!));
    for (let column = columns - 1; column >= 0; --column)
      context.lineTo(layout.plotLeft + column + 0.5, this.y(range.least[column]!));
    context.fillStyle = colors.faint;
    context.globalAlpha = 0.22;
    context.fill();
    context.globalAlpha = 1;
  }

  private drawCapacity(context: CanvasRenderingContext2D, layout: Layout, curve: Curve, colors: Ink): void {
    if (curve.capacity === undefined) return;
    const y = Math.round(this.y(curve.capacity)) + 0.5;
    context.strokeStyle = colors.warning;
    context.lineWidth = 1;
    context.setLineDash([6, 4]);
    context.beginPath();
    context.moveTo(layout.plotLeft, y);
    context.lineTo(layout.plotLeft + layout.plotWidth, y);
    context.stroke();
    context.setLineDash([]);
    context.fillStyle = colors.warning;
    context.textAlign = "right";
    const text = `capacity ${formatAmount(curve.capacity, this.unit)}`;
    context.fillText(text, layout.plotLeft + layout.plotWidth - 2, y > 14 ? y - 8 : y + 9);
  }

  private drawCaption(
    context: CanvasRenderingContext2D,
    state: ChartState,
    layout: Layout,
    shown: number,
    colors: Ink,
  ): void {
    const curve = this.curves[shown]!;
    const lane = state.gantt.lanes[curve.lane]!.name;
    const fullest = shown === this.fullest ? ` (${state.gantt.data.lane_noun} with the highest peak)` : "";
    context.textAlign = "left";
    context.fillStyle = colors.text;
    context.fillText(this.name, layout.plotLeft, 8);
    context.fillStyle = colors.faint;
    const note = `${lane}${fullest}: peak ${formatAmount(peakOf(curve), this.unit)}`;
    context.fillText(note, layout.plotLeft + textWidth(this.name) + 10, 8);
    if (state.view.cursor === undefined) return;
    const value = valueAt(curve, state.view.cursor);
    context.fillStyle = colors.accent;
    context.beginPath();
    context.arc(xOf(layout, state, state.view.cursor), this.y(value), 3, 0, 2 * Math.PI);
    context.fill();
  }
}
