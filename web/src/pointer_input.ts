// Mouse, wheel and touch input of a chart: dragging pans, the wheel and two fingers zoom, a click selects.

import { ChartState } from "./chart_state";
import { firstBarAfter } from "./data";
import { laneAt, Layout, mostScroll, timeAt } from "./layout";

const clickTolerance = 4; // pixels that the pointer may move during a click
const grabTolerance = 3; // pixels next to a narrow bar that still hit it

// Returns the bar at a point of the canvas, or a narrow bar close to it.
export function barAt(state: ChartState, layout: Layout, x: number, y: number): number | undefined {
  const index = laneAt(layout, state, y);
  if (index === undefined || x < layout.plotLeft || x > layout.plotLeft + layout.plotWidth) return undefined;
  const { gantt } = state;
  const lane = gantt.lanes[index]!;
  const time = timeAt(layout, state, x);
  const grab = timeAt(layout, state, x + grabTolerance) - time;
  let nearest: number | undefined;
  let nearestDistance = grab;
  for (let bar = firstBarAfter(gantt, lane, time - grab); bar < lane.last && gantt.begin[bar]! <= time + grab; ++bar) {
    if (!state.visible[gantt.category[bar]!]) continue;
    const distance = Math.max(gantt.begin[bar]! - time, time - gantt.finish[bar]!, 0);
    if (distance < nearestDistance || (distance === 0 && nearestDistance === 0))
      [nearest, nearestDistance] = [bar, distance];
  }
  return nearest;
}

interface Finger {
  x: number;
  y: number;
}

export class PointerInput {
  private readonly fingers = new Map<number, Finger>();
  private travelled = 0;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly state: ChartState,
    private readonly layout: () => Layout,
    private readonly onHover: (bar: number | undefined, x: number, y: number) => void,
  ) {
    canvas.addEventListener("pointerdown", (event) => this.press(event));
    canvas.addEventListener("pointermove", (event) => this.move(event));
    canvas.addEventListener("pointerup", (event) => this.release(event));
    canvas.addEventListener("pointercancel", (event) => this.fingers.delete(event.pointerId));
    canvas.addEventListener("pointerleave", () => this.hover(undefined, 0, 0, undefined));
    canvas.addEventListener("dblclick", (event) => state.view.zoom(2, timeAt(layout(), state, event.offsetX)));
    canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
  }

  private press(event: PointerEvent): void {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.fingers.set(event.pointerId, { x: event.offsetX, y: event.offsetY });
    if (this.fingers.size === 1) this.travelled = 0;
  }

  private move(event: PointerEvent): void {
    const finger = this.fingers.get(event.pointerId);
    const [x, y] = [event.offsetX, event.offsetY];
    if (!finger) {
      this.hover(barAt(this.state, this.layout(), x, y), x, y, timeAt(this.layout(), this.state, x));
      return;
    }
    this.travelled += Math.abs(x - finger.x) + Math.abs(y - finger.y);
    if (this.fingers.size === 2) this.pinch(event.pointerId, x);
    else this.drag(x - finger.x, y - finger.y);
    finger.x = x;
    finger.y = y;
  }

  private release(event: PointerEvent): void {
    if (!this.fingers.delete(event.pointerId) || this.travelled > clickTolerance) return;
    this.state.select(barAt(this.state, this.layout(), event.offsetX, event.offsetY));
  }

  private drag(x: number, y: number): void {
    const { view } = this.state;
    view.pan((-x * (view.to - view.from)) / this.layout().plotWidth);
    this.scroll(-y);
  }

  // Zooms so that the time under the resting finger stays under it.
  private pinch(moving: number, x: number): void {
    const layout = this.layout();
    const resting = [...this.fingers].find(([id]) => id !== moving)?.[1];
    const before = this.fingers.get(moving);
    if (!resting || !before) return;
    const factor = Math.max(Math.abs(x - resting.x), 8) / Math.max(Math.abs(before.x - resting.x), 8);
    this.state.view.zoom(factor, timeAt(layout, this.state, resting.x));
  }

  // Zooms if the chart has the focus or Ctrl is held, which is what a touchpad pinch sends. Otherwise the wheel scrolls
  // the page.
  private wheel(event: WheelEvent): void {
    const layout = this.layout();
    const { view } = this.state;
    const sideways = event.shiftKey ? event.deltaY : event.deltaX;
    if (
      event.ctrlKey ||
      event.metaKey ||
      (document.activeElement === this.canvas && Math.abs(event.deltaY) > Math.abs(sideways))
    ) {
      const speed = event.ctrlKey && Math.abs(event.deltaY) < 40 ? 0.01 : 0.0018;
      view.zoom(Math.exp(-event.deltaY * speed), timeAt(layout, this.state, event.offsetX));
    } else if (Math.abs(sideways) > 0 && Math.abs(sideways) >= Math.abs(event.deltaY) * (event.shiftKey ? 0 : 1)) {
      view.pan((sideways * (view.to - view.from)) / layout.plotWidth);
    } else {
      return;
    }
    event.preventDefault();
  }

  private scroll(pixels: number): void {
    const { state } = this;
    const scroll = Math.min(Math.max(state.scroll + pixels, 0), mostScroll(this.layout()));
    if (scroll === state.scroll) return;
    state.scroll = scroll;
    state.changed();
  }

  private hover(bar: number | undefined, x: number, y: number, time: number | undefined): void {
    this.state.view.point(time);
    this.onHover(bar, x, y);
    if (bar === this.state.hovered) return;
    this.state.hovered = bar;
    this.state.changed();
  }
}
