// Visible part of the time range, shared by the chart and its curves.

export class View {
  from = 0;
  to: number;
  cursor: number | undefined; // time under the pointer
  private readonly listeners: (() => void)[] = [];
  private readonly pointers: (() => void)[] = [];

  constructor(
    readonly end: number,
    private readonly least: number,
  ) {
    this.to = end;
  }

  onChange(listener: () => void): void {
    this.listeners.push(listener);
  }

  onPoint(listener: () => void): void {
    this.pointers.push(listener);
  }

  set(from: number, to: number): void {
    const length = Math.min(Math.max(to - from, this.least), this.end);
    const start = Math.min(Math.max(from, 0), this.end - length);
    if (start === this.from && start + length === this.to) return;
    this.from = start;
    this.to = start + length;
    this.changed();
  }

  all(): void {
    this.set(0, this.end);
  }

  // Shows 1/factor of the visible range and keeps `at` in place.
  zoom(factor: number, at: number): void {
    const length = (this.to - this.from) / factor;
    const share = (at - this.from) / (this.to - this.from);
    this.set(at - share * length, at + (1 - share) * length);
  }

  pan(time: number): void {
    this.set(this.from + time, this.to + time);
  }

  // Pans as little as needed to show [from, to], and zooms in if the range would be hard to see.
  show(from: number, to: number): void {
    const length = this.to - this.from;
    if (to - from < length / 200 || to - from > length) {
      const shown = Math.max(to - from, this.least) * 12;
      this.set((from + to - shown) / 2, (from + to + shown) / 2);
    } else if (from < this.from) {
      this.set(from - length / 20, from - length / 20 + length);
    } else if (to > this.to) {
      this.set(to + length / 20 - length, to + length / 20);
    }
  }

  point(time: number | undefined): void {
    if (time === this.cursor) return;
    this.cursor = time;
    for (const listener of this.pointers) listener();
  }

  private changed(): void {
    for (const listener of this.listeners) listener();
  }
}
