// Builds the page from the report data embedded in it.

import { breakdownSection } from "./breakdown";
import { ReportData } from "./data";
import { button, element } from "./dom";
import { GanttSection } from "./gantt_section";
import { helpDialog } from "./help";
import { lineChartSection } from "./line_chart";
import { tableSection } from "./table";
import { switchTheme, watchTheme } from "./theme";

function header(report: ReportData, help: HTMLDialogElement): HTMLElement {
  const figures = report.figures.map((figure) =>
    element(
      "div",
      { class: "figure" },
      element("span", { class: "figure-name" }, figure.name),
      element("b", {}, figure.value),
      element("small", {}, figure.note),
    ),
  );
  return element(
    "header",
    {},
    element(
      "div",
      { class: "title-row" },
      element("div", {}, element("h1", {}, report.title), element("p", { class: "subtitle" }, report.subtitle)),
      element(
        "div",
        { class: "actions" },
        button("◐", "light or dark", switchTheme),
        button("Print", "print the report", () => window.print()),
        button("?", "keys and gestures (?)", () => help.showModal()),
      ),
    ),
    element("div", { class: "figures" }, ...figures),
  );
}

function build(report: ReportData): void {
  const help = helpDialog();
  const charts: GanttSection[] = [];
  const main = element("main");
  let curves: HTMLElement | undefined; // adjacent curves share a row
  for (const section of report.sections) {
    if (section.kind === "gantt") {
      const chart = new GanttSection(section);
      charts.push(chart);
      main.append(chart.node);
    } else if (section.kind === "breakdown") {
      main.append(breakdownSection(section));
    } else if (section.kind === "table") {
      const chart = charts[charts.length - 1];
      main.append(tableSection(section, (bar) => chart?.goTo(bar)));
    } else {
      if (!curves) main.append((curves = element("div", { class: "curves" })));
      curves.append(lineChartSection(section));
      continue;
    }
    curves = undefined;
  }
  document.body.append(header(report, help), main, help);
  for (const chart of charts) chart.start();
}

performance.mark("dovetail-start");
watchTheme();
build(JSON.parse(document.getElementById("dovetail-report")?.textContent ?? "") as ReportData);
requestAnimationFrame(() => {
  performance.measure("dovetail-open", { start: 0 });
  performance.measure("dovetail-build", "dovetail-start");
});
