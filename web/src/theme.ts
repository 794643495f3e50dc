// Light or dark theme: follows the system until the reader chooses one. Printing is always light.

type Scheme = "light" | "dark";

const system = window.matchMedia("(prefers-color-scheme: dark)");
const listeners: (() => void)[] = [];
let chosen: Scheme | undefined;
let printing = false;

function current(): Scheme {
  if (printing) return "light";
  return chosen ?? (system.matches ? "dark" : "light");
}

function apply(): void {
  document.documentElement.dataset.theme = current();
  for (const listener of listeners) listener();
}

export function isDark(): boolean {
  return current() === "dark";
}

export function onThemeChange(listener: () => void): void {
  listeners.push(listener);
}

export function switchTheme(): void {
  chosen = isDark() ? "light" : "dark";
  apply();
}

export function watchTheme(): void {
  system.addEventListener("change", apply);
  window.addEventListener("beforeprint", () => {
    printing = true;
    apply();
  });
  window.addEventListener("afterprint", () => {
    printing = false;
    apply();
  });
  apply();
}

// Colors of the canvases, from the style sheet.
export interface Ink {
  ground: string;
  text: string;
  faint: string;
  line: string;
  accent: string;
  warning: string;
}

export function ink(): Ink {
  const style = getComputedStyle(document.documentElement);
  const value = (name: string) => style.getPropertyValue(name).trim();
  return {
    ground: value("--ground"),
    text: value("--text"),
    faint: value("--faint"),
    line: value("--line"),
    accent: value("--accent"),
    warning: value("--warning"),
  };
}
