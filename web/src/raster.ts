// Draws a lane as one line of pixels. Each pixel mixes the colors of its bars by the share that they cover, so a screen
// of 100,000 bars takes a single pass over them, and narrow bars neither flicker nor vanish.

import { firstBarAfter, Gantt, Lane } from "./data";

export type Rgb = [number, number, number];

export function parseColor(hex: string): Rgb {
  const value = parseInt(hex.slice(1), 16);
  return [value >> 16, (value >> 8) & 255, value & 255];
}

export function mixColors(from: Rgb, to: Rgb, share: number): Rgb {
  const channel = (i: 0 | 1 | 2) => from[i] + (to[i] - from[i]) * share;
  return [channel(0), channel(1), channel(2)];
}

export interface Look {
  ground: Rgb;
  colors: Rgb[]; // by category
  dimmed: Rgb[]; // by category, for bars that a search excludes
  visible: boolean[];
  idle: boolean[];
}

// Red, green, blue and covered share of each pixel.
class Sums {
  readonly values: Float32Array;

  constructor(columns: number) {
    this.values = new Float32Array(4 * columns);
  }

  add(column: number, color: Rgb, share: number): void {
    const at = 4 * column;
    this.values[at] += color[0] * share;
    this.values[at + 1] += color[1] * share;
    this.values[at + 2] += color[2] * share;
    this.values[at + 3] += share;
  }

  // Adds a bar over [left, right) in pixels.
  addBar(left: number, right: number, color: Rgb): void {
    const first = Math.floor(left);
    const last = Math.floor(right);
    if (first === last) {
      this.add(first, color, right - left);
      return;
    }
    this.add(first, color, first + 1 - left);
    for (let column = first + 1; column < last; ++column) this.add(column, color, 1);
    if (right > last) this.add(last, color, right - last);
  }
}

// Returns the gap after a bar. Bars at least two pixels wide end up to a pixel early, so that neighbors of one color
// stay distinct.
function gapAfter(width: number): number {
  return Math.min(Math.max((width - 2) / 4, 0), 1);
}

function pack(red: number, green: number, blue: number): number {
  return (255 << 24) | ((blue + 0.5) << 16) | ((green + 0.5) << 8) | (red + 0.5);
}

export class LaneRaster {
  private readonly work: Sums;
  private readonly idle: Sums;

  constructor(readonly columns: number) {
    this.work = new Sums(columns + 1);
    this.idle = new Sums(columns + 1);
  }

  // Writes two lines of pixels (red in the lowest byte) at `offset`. The upper line has only work, the lower one also
  // idle time.
  draw(
    gantt: Gantt,
    lane: Lane,
    from: number,
    to: number,
    look: Look,
    found: Uint8Array | undefined,
    out: Uint32Array,
    offset: number,
  ): void {
    this.work.values.fill(0);
    this.idle.values.fill(0);
    const scale = this.columns / (to - from);
    for (let bar = firstBarAfter(gantt, lane, from); bar < lane.last; ++bar) {
      const begin = gantt.begin[bar]!;
      if (begin >= to) break;
      const category = gantt.category[bar]!;
      if (!look.visible[category]) continue;
      const end = gantt.finish[bar]!;
      const left = Math.max((begin - from) * scale, 0);
      const right = Math.min((end - from) * scale - gapAfter((end - begin) * scale), this.columns);
      if (right <= left) continue;
      const color = found === undefined || found[bar] ? look.colors[category]! : look.dimmed[category]!;
      (look.idle[category] ? this.idle : this.work).addBar(left, right, color);
    }
    this.write(look.ground, out, offset);
  }

  private write(ground: Rgb, out: Uint32Array, offset: number): void {
    const work = this.work.values;
    const idle = this.idle.values;
    const [groundRed, groundGreen, groundBlue] = ground;
    for (let column = 0, i = 0; column < this.columns; ++column, i += 4) {
      const red = work[i]!;
      const green = work[i + 1]!;
      const blue = work[i + 2]!;
      const workRest = Math.max(1 - work[i + 3]!, 0);
      out[offset + column] = pack(
        red + groundRed * workRest,
        green + groundGreen * workRest,
        blue + groundBlue * workRest,
      );
      const rest = Math.max(workRest - idle[i + 3]!, 0);
      out[offset + this.columns + column] = pack(
        red + idle[i]! + groundRed * rest,
        green + idle[i + 1]! + groundGreen * rest,
        blue + idle[i + 2]! + groundBlue * rest,
      );
    }
  }
}
