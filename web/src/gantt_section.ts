// A complete chart section: toolbar, legend, bars, curves, tooltip and details.

import { ChartState } from "./chart_state";
import { CurvesCanvas } from "./curves_canvas";
import { decodeGantt, GanttData } from "./data";
import { element } from "./dom";
import { formatTime } from "./format";
import { GanttCanvas } from "./gantt_canvas";
import { listenToKeys } from "./key_input";
import { axisHeight, gutterWidth, layOut, Layout, mostScroll, xOf } from "./layout";
import { glossary, legend } from "./legend";
import { Panel } from "./panel";
import { PointerInput } from "./pointer_input";
import { onThemeChange } from "./theme";
import { Toolbar } from "./toolbar";
import { laneName, titleOf } from "./text";

const printWidth = 1060; // width of a landscape page in CSS pixels
const printRatio = 2;

export class GanttSection {
  readonly node: HTMLElement;
  private readonly state: ChartState;
  private readonly canvas = element("canvas", { class: "bars", tabindex: "0", role: "application" });
  private readonly curvesCanvas = element("canvas", { class: "curves", role: "img" });
  private readonly cursor = element("div", { class: "cursor", hidden: "" });
  private readonly tooltip = element("div", { class: "tooltip", role: "presentation", hidden: "" });
  private readonly stage: HTMLElement;
  private readonly painter: GanttCanvas;
  private readonly curves: CurvesCanvas | undefined;
  private readonly gutter: number;
  private layout: Layout;
  private pending = false;
  private printing = false;

  constructor(data: GanttData) {
    const gantt = decodeGantt(data);
    this.state = new ChartState(gantt);
    this.painter = new GanttCanvas(this.canvas);
    this.gutter = gutterWidth(gantt);
    const hasCurves = gantt.curves.length > 0;
    if (hasCurves)
      this.curves = new CurvesCanvas(this.curvesCanvas, gantt.curves, gantt.end, data.curves.name, data.curves.unit);
    this.canvas.setAttribute(
      "aria-label",
      `${data.title}: ${gantt.begin.length} bars on ${gantt.lanes.length} lanes over ${formatTime(gantt.end, data.time_unit)}. ` +
        "Arrow keys pan, plus and minus zoom, Tab steps through the bars, Enter reads a bar's details, Escape leaves.",
    );
    this.curvesCanvas.setAttribute("aria-label", `${data.curves.name} over time`);
    const toolbar = new Toolbar(this.state);
    const panel = new Panel(this.state, this.curves);
    this.stage = element(
      "div",
      { class: "stage" },
      this.canvas,
      ...(hasCurves ? [this.curvesCanvas] : []),
      this.cursor,
      this.tooltip,
    );
    this.node = element(
      "section",
      { class: "gantt" },
      element("div", { class: "section-head" }, element("h2", {}, data.title), toolbar.node),
      ...(data.note ? [element("p", { class: "note" }, data.note)] : []),
      legend(this.state),
      ...glossary(this.state),
      element("div", { class: "chart" }, this.stage, panel.node),
    );
    this.layout = layOut(this.state, 600, this.gutter, false);
    new PointerInput(
      this.canvas,
      this.state,
      () => this.layout,
      (bar, x, y) => this.showTooltip(bar, x, y),
    );
    listenToKeys(this.canvas, this.state, {
      details: () => panel.focus(),
      search: () => toolbar.focus(),
      nextFound: (step) => toolbar.next(step),
    });
    this.listen();
  }

  // Draws the first picture immediately: the section is now in the page.
  start(): void {
    this.draw();
    new ResizeObserver(() => this.schedule()).observe(this.stage);
  }

  goTo(bar: number): void {
    this.state.goTo(bar);
    this.canvas.focus();
    this.canvas.scrollIntoView({ block: "center" });
  }

  private listen(): void {
    let selected = this.state.selected;
    this.state.onChange(() => {
      if (this.state.selected !== selected) this.scrollToSelected();
      selected = this.state.selected;
      this.schedule();
    });
    this.state.view.onPoint(() => {
      this.placeCursor();
      if (!this.cursor.hidden) this.curves?.draw(this.state, this.layout, window.devicePixelRatio || 1);
    });
    onThemeChange(() => this.schedule());
    window.addEventListener("beforeprint", () => this.print(true));
    window.addEventListener("afterprint", () => this.print(false));
  }

  private print(printing: boolean): void {
    this.printing = printing;
    this.draw();
  }

  private schedule(): void {
    if (this.pending || this.printing) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.draw();
    });
  }

  private draw(): void {
    const width = this.printing ? printWidth : this.stage.clientWidth;
    if (width === 0) return;
    const ratio = this.printing ? printRatio : window.devicePixelRatio || 1;
    this.layout = layOut(this.state, width, this.gutter, this.printing);
    this.state.scroll = this.printing ? 0 : Math.min(this.state.scroll, mostScroll(this.layout));
    this.painter.draw(this.state, this.layout, ratio);
    this.curves?.draw(this.state, this.layout, ratio);
    this.placeCursor();
  }

  private scrollToSelected(): void {
    const { selected, gantt } = this.state;
    if (selected === undefined) return;
    const top = this.layout.laneTop[gantt.laneOf[selected]!]!;
    const seen = this.layout.height - axisHeight;
    if (top < this.state.scroll) this.state.scroll = top;
    if (top + this.layout.laneHeight > this.state.scroll + seen)
      this.state.scroll = top + this.layout.laneHeight + 4 - seen;
  }

  private placeCursor(): void {
    const { cursor } = this.state.view;
    const x = cursor === undefined ? -1 : xOf(this.layout, this.state, cursor);
    const inside = x >= this.layout.plotLeft && x <= this.layout.plotLeft + this.layout.plotWidth;
    this.cursor.hidden = !inside;
    if (!inside || cursor === undefined) return;
    this.cursor.style.transform = `translateX(${x}px)`;
    this.cursor.dataset.time = formatTime(cursor, this.state.gantt.data.time_unit);
  }

  private showTooltip(bar: number | undefined, x: number, y: number): void {
    this.tooltip.hidden = bar === undefined;
    if (bar === undefined) return;
    const { gantt } = this.state;
    const unit = gantt.data.time_unit;
    const times = `${formatTime(gantt.begin[bar]!, unit)} – ${formatTime(gantt.finish[bar]!, unit)} · ${laneName(gantt, bar)}`;
    this.tooltip.replaceChildren(
      element("b", {}, `${titleOf(gantt, bar)} · ${formatTime(gantt.finish[bar]! - gantt.begin[bar]!, unit)}`),
      element("span", {}, times),
    );
    const left = x + 14 + this.tooltip.offsetWidth > this.layout.width ? x - 10 - this.tooltip.offsetWidth : x + 14;
    this.tooltip.style.transform = `translate(${Math.max(left, 0)}px, ${y + 16}px)`;
  }
}
