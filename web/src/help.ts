// The keys and gestures, in a dialog.

import { button, element } from "./dom";

const keys: [string, string][] = [
  ["← →", "pan; with Shift half a screen"],
  ["+ −", "zoom in, out"],
  ["0", "all of the time"],
  ["Home End", "the beginning, the end"],
  ["Tab, Shift Tab", "the next, the previous bar"],
  ["↑ ↓", "the bar above, below"],
  ["Enter", "the numbers of the selected bar"],
  ["f", "zoom to the selected bar"],
  ["/", "search; n, N: the next, the previous one found"],
  ["[ ]", "lower, higher lanes"],
  ["Esc", "select nothing; then Tab leaves the chart"],
  ["?", "this help"],
];

const gestures: [string, string][] = [
  ["drag", "pan; up and down where not all lanes fit"],
  ["Ctrl + wheel, pinch", "zoom where the pointer is"],
  ["wheel", "zoom, once the chart was clicked"],
  ["Shift + wheel", "pan"],
  ["click", "the numbers of a bar, with arrows to what it needs and what needs it"],
  ["double click", "zoom in"],
  ["legend", "show or hide a kind of bar"],
];

function list(title: string, rows: [string, string][]): HTMLElement {
  const items = rows.flatMap(([key, meaning]) => [
    element("dt", {}, element("kbd", {}, key)),
    element("dd", {}, meaning),
  ]);
  return element("div", {}, element("h3", {}, title), element("dl", { class: "keys-list" }, ...items));
}

export function helpDialog(): HTMLDialogElement {
  const dialog = element(
    "dialog",
    { "aria-label": "keys and gestures" },
    list("Keys, in a chart", keys),
    list("Mouse and touch", gestures),
  );
  dialog.append(button("Close", "close the help (Escape)", () => dialog.close()));
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  window.addEventListener("keydown", (event) => {
    if (event.key !== "?" || event.target instanceof HTMLInputElement || dialog.open) return;
    event.preventDefault();
    dialog.showModal();
  });
  return dialog;
}
