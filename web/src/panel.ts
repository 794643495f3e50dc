// Details of one bar, next to its chart.

import { ChartState } from "./chart_state";
import { CurvesCanvas, valueAt } from "./curves_canvas";
import { Gantt } from "./data";
import { button, element } from "./dom";
import { formatAmount, formatShare, formatTime, formatTimeExactly } from "./format";
import { isDark } from "./theme";
import { fieldText, laneName, titleOf } from "./text";

const mostLinks = 8;

function row(name: string, value: Node | string): HTMLElement[] {
  return [element("dt", {}, name), element("dd", {}, value)];
}

function barLink(state: ChartState, bar: number): HTMLElement {
  const { gantt } = state;
  const text = `${titleOf(gantt, bar)} · ${laneName(gantt, bar)}`;
  return button(text, `go to ${text}`, () => state.goTo(bar));
}

function links(state: ChartState, bars: number[]): HTMLElement {
  const list = element("span", { class: "links" }, ...bars.slice(0, mostLinks).map((bar) => barLink(state, bar)));
  if (bars.length > mostLinks) list.append(`and ${bars.length - mostLinks} more`);
  return list;
}

function swatch(gantt: Gantt, bar: number): HTMLElement {
  const category = gantt.data.categories[gantt.category[bar]!]!;
  const made = element("span", { class: "swatch" });
  made.style.background = isDark() ? category.dark : category.color;
  return made;
}

function partnerRows(state: ChartState, bar: number): HTMLElement[] {
  const { gantt } = state;
  const partner = gantt.data.partner?.[bar] ?? -1;
  if (partner < 0) return gantt.data.partner ? row("matching bar", "none in the other timeline") : [];
  const unit = gantt.data.time_unit;
  const signed = (change: number) => (change > 0 ? `+${formatTime(change, unit)}` : formatTime(change, unit));
  return [
    ...row("matching bar", barLink(state, partner)),
    ...row("start difference", signed(gantt.begin[partner]! - gantt.begin[bar]!)),
    ...row(
      "duration difference",
      signed(gantt.finish[partner]! - gantt.begin[partner]! - (gantt.finish[bar]! - gantt.begin[bar]!)),
    ),
  ];
}

function rowsOf(state: ChartState, bar: number, curves: CurvesCanvas | undefined): HTMLElement[] {
  const { gantt } = state;
  const unit = gantt.data.time_unit;
  const begin = gantt.begin[bar]!;
  const end = gantt.finish[bar]!;
  const rows = [
    ...row(gantt.data.lane_noun, laneName(gantt, bar)),
    ...row("duration", formatTimeExactly(end - begin, unit)),
    ...row("start", formatTimeExactly(begin, unit)),
    ...row("end", formatTimeExactly(end, unit)),
    ...row("share of total", formatShare((end - begin) / state.view.end)),
  ];
  gantt.data.fields.forEach((field, index) => {
    const text = fieldText(gantt, index, bar);
    if (text !== undefined) rows.push(...row(field.name, text));
  });
  const awaits = gantt.data.awaits?.[bar] ?? -1;
  if (awaits >= 0) rows.push(...row("waits for", barLink(state, awaits)));
  const curve = curves?.shown(state);
  if (curve && curve.lane === gantt.laneOf[bar]) {
    rows.push(...row(`${gantt.data.curves.name} at start`, formatAmount(valueAt(curve, begin), gantt.data.curves.unit)));
  }
  const from = gantt.from.get(bar);
  const to = gantt.to.get(bar);
  if (from) rows.push(...row("needs", links(state, from)));
  if (to) rows.push(...row("needed by", links(state, to)));
  rows.push(...partnerRows(state, bar));
  return rows;
}

export class Panel {
  readonly node = element("aside", { class: "panel", "aria-label": "details of the selected bar", tabindex: "-1" });
  private readonly spoken = element("div", { class: "unseen", "aria-live": "polite" });
  private shown: number | undefined | "nothing" = "nothing";

  constructor(
    private readonly state: ChartState,
    private readonly curves: CurvesCanvas | undefined,
  ) {
    state.onChange(() => this.update());
    this.update();
  }

  focus(): void {
    this.node.focus();
  }

  private update(): void {
    const bar = this.state.selected;
    if (bar === this.shown) return;
    this.shown = bar;
    if (bar === undefined) {
      this.spoken.textContent = "";
      this.node.replaceChildren(
        element("p", { class: "hint" }, "Click a bar for its details, or press Tab in the chart. ? lists all keys."),
        this.spoken,
      );
      return;
    }
    const { gantt } = this.state;
    const close = button("✕", "close the details (Escape)", () => this.state.select(undefined));
    const title = element("h3", {}, swatch(gantt, bar), element("span", {}, titleOf(gantt, bar)), close);
    this.node.replaceChildren(title, element("dl", {}, ...rowsOf(this.state, bar, this.curves)), this.spoken);
    this.spoken.textContent = `${titleOf(gantt, bar)}, ${laneName(gantt, bar)}, ${formatTime(gantt.finish[bar]! - gantt.begin[bar]!, gantt.data.time_unit)}`;
  }
}
