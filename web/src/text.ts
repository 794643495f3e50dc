// Titles and labels of bars, and the text that a search matches.

import { Gantt } from "./data";
import { formatTimeExactly } from "./format";

export function fieldText(gantt: Gantt, field: number, bar: number): string | undefined {
  const data = gantt.data.fields[field]!;
  const value = data.values[bar]!;
  if (value < 0) return undefined;
  if (data.kind === "text") return data.texts?.[value];
  return data.kind === "time" ? formatTimeExactly(value, gantt.data.time_unit) : String(value);
}

function fill(gantt: Gantt, pattern: string, bar: number): string {
  if (!pattern.includes("{")) return pattern;
  return pattern.replace(/\{([^}]*)\}/g, (_, name: string) => {
    const field = gantt.data.fields.findIndex((candidate) => candidate.name === name);
    return (field < 0 ? undefined : fieldText(gantt, field, bar)) ?? "";
  });
}

export function titleOf(gantt: Gantt, bar: number): string {
  return fill(gantt, gantt.data.categories[gantt.category[bar]!]!.title, bar);
}

export function labelOf(gantt: Gantt, bar: number): string {
  return fill(gantt, gantt.data.categories[gantt.category[bar]!]!.label, bar);
}

export function laneName(gantt: Gantt, bar: number): string {
  return gantt.lanes[gantt.laneOf[bar]!]!.name;
}

// Matches `word` at the start of a word of the text. A number at its end must match completely: f7 does not find f70.
function patternOf(word: string): RegExp {
  const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`(^|[^a-z0-9])${escaped}${/[0-9]$/.test(word) ? "(?![0-9])" : ""}`);
}

// Finds the bars whose title, category or lane contains every word of the query. Returns undefined for an empty query.
// The texts are built once.
export class Search {
  private texts: string[] | undefined;

  constructor(private readonly gantt: Gantt) {}

  find(query: string): Uint8Array | undefined {
    const words = query
      .toLowerCase()
      .split(/\s+/)
      .filter((word) => word !== "");
    if (words.length === 0) return undefined;
    const patterns = words.map(patternOf);
    return Uint8Array.from(this.allTexts(), (text) => (patterns.every((pattern) => pattern.test(text)) ? 1 : 0));
  }

  private allTexts(): string[] {
    if (this.texts) return this.texts;
    const gantt = this.gantt;
    const lanes = gantt.lanes.map((lane) => lane.name.toLowerCase());
    const categories = gantt.data.categories.map((category) => category.name.toLowerCase());
    this.texts = Array.from(gantt.begin, (_, bar) => {
      return `${titleOf(gantt, bar).toLowerCase()}\n${categories[gantt.category[bar]!]}\n${lanes[gantt.laneOf[bar]!]}`;
    });
    return this.texts;
  }
}
