// Curves over a varied input with labels at marked points, such as the best, and a table of the numbers.

import { CurvesData } from "./data";
import { element, svgElement } from "./dom";
import { formatNumber, formatValue, roundStep } from "./format";
import { paintSwatch } from "./legend";
import { isDark, onThemeChange } from "./theme";

const width = 760;
const height = 300;
const left = 64;
const right = width - 20;
const top = 32;
const bottom = height - 44;
/** Lines with more points than this get small points, which would otherwise overlap. */
const maxDotted = 60;

interface Scale {
  least: number;
  most: number;
  step: number;
}

function scaleOf(values: number[], fromZero: boolean): Scale {
  const most = Math.max(...values);
  const least = fromZero ? Math.min(0, ...values) : Math.min(...values);
  const step = roundStep((most - least || Math.abs(most) || 1) / 5);
  return { least: Math.floor(least / step) * step, most: Math.ceil(most / step) * step, step };
}

/** Returns the range of the inputs. */
function rangeOf(values: number[]): Scale {
  const { step } = scaleOf(values, false);
  return { least: Math.min(...values), most: Math.max(...values), step };
}

function marksOf(scale: Scale): number[] {
  const first = Math.ceil(scale.least / scale.step - 1e-9);
  const last = Math.floor(scale.most / scale.step + 1e-9);
  return Array.from({ length: Math.max(0, last - first) + 1 }, (_, i) => (first + i) * scale.step);
}

function draw(data: CurvesData): SVGElement {
  const xs = rangeOf(data.series.flatMap((series) => series.x));
  const all = data.series.flatMap((series) => series.y);
  const ys = scaleOf(all, Math.min(...all) < 0.6 * Math.max(...all));
  const x = (value: number) => left + ((right - left) * (value - xs.least)) / (xs.most - xs.least || 1);
  const y = (value: number) => bottom - ((bottom - top) * (value - ys.least)) / (ys.most - ys.least || 1);
  const svg = svgElement("svg", {
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": `${data.title}: ${data.y} over ${data.x}`,
  });
  for (const mark of marksOf(ys)) {
    svg.append(svgElement("line", { x1: left, x2: right, y1: y(mark), y2: y(mark), class: "grid" }));
    svg.append(svgElement("text", { x: left - 8, y: y(mark) + 4, "text-anchor": "end" }, formatValue(mark)));
  }
  for (const mark of marksOf(xs))
    svg.append(svgElement("text", { x: x(mark), y: bottom + 18, "text-anchor": "middle" }, formatNumber(mark, 4)));
  svg.append(svgElement("text", { x: (left + right) / 2, y: height - 6, "text-anchor": "middle" }, data.x));
  svg.append(svgElement("text", { x: left - 8, y: 13, "text-anchor": "start" }, data.y));
  for (const series of data.series) {
    const color = isDark() ? series.dark : series.color;
    const points = series.x.map((value, i) => `${x(value)},${y(series.y[i]!)}`).join(" ");
    svg.append(svgElement("polyline", { points, stroke: color, fill: "none", "stroke-width": 2 }));
    series.x.forEach((value, i) => {
      const dot = svgElement("circle", { cx: x(value), cy: y(series.y[i]!), r: series.x.length > maxDotted ? 1 : 3, fill: color });
      dot.append(
        svgElement(
          "title",
          {},
          `${series.name}, ${data.x} ${formatNumber(value, 6)}: ${formatValue(series.y[i]!)}`,
        ),
      );
      svg.append(dot);
    });
  }
  for (const mark of data.marks) {
    const series = data.series[mark.series]!;
    const [cx, cy] = [x(series.x[mark.point]!), y(series.y[mark.point]!)];
    svg.append(svgElement("circle", { cx, cy, r: 6, class: "mark" }));
    const anchor = cx > (left + right) / 2 ? "end" : "start";
    svg.append(
      svgElement(
        "text",
        { x: cx + (anchor === "end" ? -10 : 10), y: Math.max(cy - 12, top), "text-anchor": anchor, class: "mark-text" },
        mark.text,
      ),
    );
  }
  return svg;
}

function table(data: CurvesData): HTMLElement {
  const head = element(
    "tr",
    {},
    element("th", { class: "number" }, data.x),
    ...data.series.map((series) => element("th", { class: "number" }, series.name)),
  );
  const inputs = [...new Set(data.series.flatMap((series) => series.x))].sort((a, b) => a - b);
  const rows = inputs.map((input) => {
    const cells = data.series.map((series) => {
      const point = series.x.indexOf(input);
      return element("td", { class: "number" }, point < 0 ? "" : formatValue(series.y[point]!));
    });
    return element("tr", {}, element("th", { class: "number", scope: "row" }, formatNumber(input, 6)), ...cells);
  });
  return element(
    "div",
    { class: "wide" },
    element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)),
  );
}

export function lineChartSection(data: CurvesData): HTMLElement {
  const holder = element("div", { class: "lines" });
  const paint = () => holder.replaceChildren(draw(data));
  onThemeChange(paint);
  paint();
  const keys = data.series.map((series) => {
    const swatch = element("span", { class: "swatch" });
    paintSwatch(swatch, series);
    return element("span", { class: "key" }, swatch, series.name);
  });
  return element(
    "section",
    {},
    element("h2", {}, data.title),
    ...(data.note ? [element("p", { class: "note" }, data.note)] : []),
    ...(keys.length > 1 ? [element("div", { class: "keys" }, ...keys)] : []),
    holder,
    element("details", {}, element("summary", {}, "numbers as a table"), table(data)),
  );
}
