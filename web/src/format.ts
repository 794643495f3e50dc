// Formatting of times and amounts for display.

interface NamedUnit {
  name: string;
  size: number; // ns or bytes
}

const timeUnits: NamedUnit[] = [
  { name: "s", size: 1e9 },
  { name: "ms", size: 1e6 },
  { name: "µs", size: 1e3 },
  { name: "ns", size: 1 },
];

const byteUnits: NamedUnit[] = [
  { name: "TiB", size: 2 ** 40 },
  { name: "GiB", size: 2 ** 30 },
  { name: "MiB", size: 2 ** 20 },
  { name: "KiB", size: 2 ** 10 },
  { name: "B", size: 1 },
];

function unitFor(units: NamedUnit[], amount: number): NamedUnit {
  return units.find((unit) => Math.abs(amount) >= unit.size) ?? units[units.length - 1]!;
}

const formats: Intl.NumberFormat[] = []; // [digits]

// Formats with at most `digits` decimals, without trailing zeros, with thousands separators.
export function formatNumber(value: number, digits = 2): string {
  return (formats[digits] ??= new Intl.NumberFormat("en-US", { maximumFractionDigits: digits })).format(value);
}

const significant = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 4 });

// Formats with up to four decimals, or four significant digits for small numbers: 1,234.5, 0.00008, 2.5e-7.
export function formatValue(value: number): string {
  const size = Math.abs(value);
  if (size === 0 || size >= 0.01) return formatNumber(value, 4);
  return size >= 1e-5 ? significant.format(value) : String(Number(value.toPrecision(4)));
}

// Formats with three or four significant digits: 12.3 ms, 225 ticks.
export function formatTime(time: number, unit: string): string {
  if (unit === "tick") return `${formatNumber(time)} ${time === 1 ? "tick" : "ticks"}`;
  const shown = unitFor(timeUnits, time);
  const value = time / shown.size;
  return `${formatNumber(value, Math.abs(value) >= 100 ? 1 : Math.abs(value) >= 10 ? 2 : 3)} ${shown.name}`;
}

// Formats with all digits: 12.345678 ms.
export function formatTimeExactly(time: number, unit: string): string {
  if (unit === "tick") return formatTime(time, unit);
  const shown = unitFor(timeUnits, time);
  return `${formatNumber(time / shown.size, Math.round(Math.log10(shown.size)))} ${shown.name}`;
}

// Returns the number at the start of a string, converted to ns or bytes if such a unit follows; NaN if there is no
// number.
export function parseAmount(text: string): number {
  const [, digits, name] = /^([+-]?[\d.,]+(?:e[+-]?\d+)?)\s*(\S*)/.exec(text) ?? [];
  if (digits === undefined) return NaN;
  const unit = [...timeUnits, ...byteUnits].find((known) => known.name === name);
  return parseFloat(digits.replace(/,/g, "")) * (unit?.size ?? 1);
}

export function formatShare(share: number): string {
  return `${(100 * share).toFixed(1)}%`;
}

export function formatAmount(amount: number, unit: string): string {
  if (unit !== "bytes") return unit ? `${formatNumber(amount, 6)} ${unit}` : formatNumber(amount, 6);
  const shown = unitFor(byteUnits, amount);
  return `${formatNumber(amount / shown.size)} ${shown.name}`;
}

// Returns the smallest of 1, 2, 5, 10, 20, ... (and 0.5, 0.2, ...) that is at least `least`.
export function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  for (const factor of [1, 2, 5]) if (factor * power >= least * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

export interface Axis {
  step: number;
  text: (value: number) => string;
}

// Returns the marks of a time axis, at least `least` apart, all in one unit.
export function timeAxis(least: number, end: number, unit: string): Axis {
  if (unit === "tick") return { step: Math.max(1, roundStep(least)), text: (time) => formatNumber(time) };
  const step = Math.max(1, roundStep(least));
  const shown = unitFor(timeUnits, end);
  const digits = Math.max(0, Math.ceil(-Math.log10(step / shown.size) - 1e-9));
  return { step, text: (time) => `${(time / shown.size).toFixed(digits)} ${shown.name}` };
}

// Returns about `count` marks of an amount axis up to `most`.
export function amountAxis(most: number, count: number, unit: string): Axis {
  const base = unit === "bytes" ? unitFor(byteUnits, most).size : 1;
  const step = roundStep(most / base / count) * base;
  return { step, text: (amount) => (amount === 0 ? "0" : formatAmount(amount, unit)) };
}
