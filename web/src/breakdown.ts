// Stacked bars of time per row as shares of the row's total, with a table of the numbers.

import { BreakdownData } from "./data";
import { element } from "./dom";
import { formatShare, formatTime } from "./format";
import { paintSwatch } from "./legend";

const mostRows = 16;

type Row = BreakdownData["rows"][number];

function wholeOf(row: Row): number {
  return row.whole ?? row.amounts.reduce((sum, amount) => sum + amount, 0);
}

function bar(data: BreakdownData, row: Row): HTMLElement {
  const total = wholeOf(row);
  const made = element("div", { class: "stack" });
  row.amounts.forEach((amount, index) => {
    if (amount <= 0) return;
    const part = data.parts[index]!;
    const piece = element("span", {
      title: `${part.name}: ${formatTime(amount, data.time_unit)}, ${formatShare(amount / total)}`,
    });
    piece.style.width = `${(100 * amount) / total}%`;
    paintSwatch(piece, part);
    made.append(piece);
  });
  return made;
}

function table(data: BreakdownData): HTMLElement {
  const head = element(
    "tr",
    {},
    element("th", {}, ""),
    ...data.parts.map((part) => element("th", { class: "number" }, part.name)),
  );
  const rows = data.rows.map((row) => {
    const total = wholeOf(row) || 1;
    const cells = row.amounts.map((amount) =>
      element(
        "td",
        { class: "number" },
        formatTime(amount, data.time_unit),
        element("small", {}, formatShare(amount / total)),
      ),
    );
    return element("tr", {}, element("th", { scope: "row" }, row.name), ...cells);
  });
  return element(
    "div",
    { class: "wide" },
    element("table", {}, element("thead", {}, head), element("tbody", {}, ...rows)),
  );
}

export function breakdownSection(data: BreakdownData): HTMLElement {
  const keys = data.parts.map((part) => {
    const swatch = element("span", { class: "swatch" });
    paintSwatch(swatch, part);
    return element("span", { class: "key" }, swatch, part.name);
  });
  const rows = data.rows.map((row, index) => {
    const shown = element(
      "div",
      { class: "stack-row" },
      element("span", { class: "stack-name" }, row.name),
      bar(data, row),
    );
    shown.hidden = index >= mostRows;
    return shown;
  });
  const stacks = element("div", { class: "stacks" }, ...rows);
  if (rows.length > mostRows) {
    const more = element("button", { type: "button" }, `all ${rows.length} rows`);
    more.addEventListener("click", () => {
      rows.forEach((row) => (row.hidden = false));
      more.remove();
    });
    stacks.append(more);
  }
  return element(
    "section",
    {},
    element("h2", {}, data.title),
    ...(data.note ? [element("p", { class: "note" }, data.note)] : []),
    element("div", { class: "keys" }, ...keys),
    stacks,
    element("details", {}, element("summary", {}, "numbers as a table"), table(data)),
  );
}
