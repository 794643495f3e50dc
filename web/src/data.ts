// Data of the report in the page (schemas/report@1.json), decoded into columns that are fast to draw.

export interface Category {
  name: string;
  title: string; // title of a bar; {field} stands for the bar's value of that field
  label: string; // text on a bar if it fits; {field} as above
  color: string;
  dark: string; // its color on a dark background
  idle: boolean;
}

export interface LegendEntry {
  name: string;
  about?: string; // explanation of the name
  idle: boolean;
  categories: number[];
}

export interface FieldData {
  name: string;
  kind: "number" | "time" | "text";
  texts?: string[];
  values: number[]; // by bar; -1: no value
}

export interface CurveData {
  lane: number;
  time: number[];
  value: number[];
  capacity?: number;
}

export interface GanttData {
  kind: "gantt";
  title: string;
  note: string;
  lane_noun: string;
  time_unit: string;
  end: number;
  categories: Category[];
  legend: LegendEntry[]; // each category belongs to one entry
  lanes: { name: string; bars: number; joined?: boolean }[];
  gap: number[]; // time between a bar and the previous one on its lane
  length: number[];
  category: number[];
  fields: FieldData[];
  awaits?: number[];
  partner?: number[];
  arrows: { from: number[]; to: number[] };
  curves: { name: string; unit: string; curves: CurveData[] };
}

export interface BreakdownData {
  kind: "breakdown";
  title: string;
  note: string;
  time_unit: string;
  parts: { name: string; color: string; dark: string; idle: boolean }[];
  rows: { name: string; amounts: number[]; whole?: number }[]; // whole: length of the full row; otherwise the sum of
                                                               // its amounts
}

export interface TableData {
  kind: "table";
  title: string;
  note: string;
  columns: { name: string; number: boolean }[];
  rows: string[][];
  marked: number[];
  bars?: number[];
}

export interface CurvesData {
  kind: "curves";
  title: string;
  note: string;
  x: string;
  y: string;
  series: { name: string; color: string; dark: string; x: number[]; y: number[] }[];
  marks: { series: number; point: number; text: string }[];
}

export type SectionData = GanttData | BreakdownData | TableData | CurvesData;

export interface ReportData {
  format: string;
  title: string;
  subtitle: string;
  figures: { name: string; value: string; note: string }[];
  sections: SectionData[];
}

export interface Lane {
  name: string;
  first: number; // first bar
  last: number; // index after the last bar
  joined: boolean; // drawn close below the previous lane
}

export interface Curve {
  lane: number;
  time: Float64Array;
  value: Float64Array;
  capacity: number | undefined;
}

// Bars are numbered lane by lane in order of time. Columns are indexed by bar.
export interface Gantt {
  data: GanttData;
  end: number;
  lanes: Lane[];
  begin: Float64Array;
  finish: Float64Array;
  category: Uint16Array;
  laneOf: Int32Array;
  from: Map<number, number[]>; // bar -> bars that it depends on
  to: Map<number, number[]>; // bar -> bars that depend on it
  curves: Curve[];
}

function addArrow(arrows: Map<number, number[]>, key: number, value: number): void {
  const known = arrows.get(key);
  if (known) known.push(value);
  else arrows.set(key, [value]);
}

export function decodeGantt(data: GanttData): Gantt {
  const bars = data.length.length;
  const begin = new Float64Array(bars);
  const finish = new Float64Array(bars);
  const laneOf = new Int32Array(bars);
  const lanes: Lane[] = [];
  let bar = 0;
  data.lanes.forEach((lane, index) => {
    const first = bar;
    let now = 0;
    for (; bar < first + lane.bars; ++bar) {
      now += data.gap[bar]!;
      begin[bar] = now;
      now += data.length[bar]!;
      finish[bar] = now;
      laneOf[bar] = index;
    }
    lanes.push({ name: lane.name, first, last: bar, joined: lane.joined === true });
  });
  const from = new Map<number, number[]>();
  const to = new Map<number, number[]>();
  data.arrows.from.forEach((source, i) => {
    addArrow(to, source, data.arrows.to[i]!);
    addArrow(from, data.arrows.to[i]!, source);
  });
  const curves = data.curves.curves.map((curve) => ({
    lane: curve.lane,
    time: Float64Array.from(curve.time),
    value: Float64Array.from(curve.value),
    capacity: curve.capacity,
  }));
  return {
    data,
    end: data.end,
    lanes,
    begin,
    finish,
    category: Uint16Array.from(data.category),
    laneOf,
    from,
    to,
    curves,
  };
}

// Returns the first bar of the lane that ends after `time`, or lane.last.
export function firstBarAfter(gantt: Gantt, lane: Lane, time: number): number {
  let low = lane.first;
  let high = lane.last;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (gantt.finish[middle]! > time) high = middle;
    else low = middle + 1;
  }
  return low;
}
