// Help dialog with the keys and gestures.

import { button, element } from "./dom";

const keys: [string, string][] = [
  ["← →", "pan; with Shift by half a screen"],
  ["+ −", "zoom in, out"],
  ["0", "show the whole time range"],
  ["Home End", "go to the beginning or end"],
  ["Tab, Shift Tab", "next or previous bar"],
  ["↑ ↓", "bar above or below"],
  ["Enter", "details of the selected bar"],
  ["f", "zoom to the selected bar"],
  ["/", "search; n or N for the next or previous match"],
  ["[ ]", "shrink or enlarge lanes"],
  ["Esc", "clear the selection; Tab then leaves the chart"],
  ["?", "this help"],
];

const gestures: [string, string][] = [
  ["drag", "pan; also vertically if not all lanes fit"],
  ["Ctrl + wheel, pinch", "zoom at the pointer"],
  ["wheel", "zoom, after a click on the chart"],
  ["Shift + wheel", "pan"],
  ["click", "details of a bar, with arrows to the bars it depends on and those that depend on it"],
  ["double click", "zoom in"],
  ["legend", "show or hide a category of bars"],
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
    list("Keys in a chart", keys),
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
