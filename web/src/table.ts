// Table sortable by column. Rows that belong to a bar link to it.

import { TableData } from "./data";
import { element } from "./dom";
import { parseAmount } from "./format";

type Order = { column: number; descending: boolean };

// Compares numbers by value, regardless of their units, and sorts non-numbers first; compares other strings
// alphabetically.
function compare(a: string, b: string, number: boolean): number {
  const [x, y] = [parseAmount(a), parseAmount(b)];
  if (!number || (Number.isNaN(x) && Number.isNaN(y))) return a.localeCompare(b, "en", { numeric: true });
  return Number.isNaN(x) ? -1 : Number.isNaN(y) ? 1 : x - y;
}

function bodyRow(data: TableData, index: number, goTo: (bar: number) => void): HTMLElement {
  const cells = data.rows[index]!.map((text, column) =>
    element("td", data.columns[column]!.number ? { class: "number" } : {}, text),
  );
  const row = element("tr", data.marked.includes(index) ? { class: "marked" } : {}, ...cells);
  const bar = data.bars?.[index] ?? -1;
  if (bar < 0) return row;
  const link = element(
    "button",
    { type: "button", class: "row-link", title: "show in the chart" },
    ...(cells[0]?.childNodes ?? []),
  );
  link.addEventListener("click", () => goTo(bar));
  cells[0]?.append(link);
  return row;
}

export function tableSection(data: TableData, goTo: (bar: number) => void): HTMLElement {
  const body = element("tbody", {}, ...data.rows.map((_, index) => bodyRow(data, index, goTo)));
  const rows = [...body.children];
  let order: Order | undefined;
  const heads = data.columns.map((column, index) => {
    const sort = element("button", { type: "button", title: `sort by ${column.name}` }, column.name);
    const head = element("th", column.number ? { class: "number", scope: "col" } : { scope: "col" }, sort);
    sort.addEventListener("click", () => {
      order = { column: index, descending: order?.column === index && !order.descending };
      const sign = order.descending ? -1 : 1;
      const sorted = rows
        .map((_, row) => row)
        .sort((a, b) => sign * compare(data.rows[a]![index]!, data.rows[b]![index]!, column.number));
      body.append(...sorted.map((row) => rows[row]!));
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", order.descending ? "descending" : "ascending");
    });
    return head;
  });
  return element(
    "section",
    {},
    element("h2", {}, data.title),
    ...(data.note ? [element("p", { class: "note" }, data.note)] : []),
    element("div", { class: "wide" }, element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body)),
  );
}
