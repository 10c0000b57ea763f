// The film as a bar of its segments: what is done, what runs and what failed, at its place.

import { element, fitCanvas, hideTip, setAttribute, showTip } from "./dom.js";
import { describeMarks } from "./film-marks.js";
import { count, duration, framesOfLabel } from "./format.js";
import { colours, onTheme } from "./theme.js";

/** The height of the marks below the bar. */
const markHeight = 10;

/** Drawn in this order, so that where many share a pixel the last is seen. */
const order = { cached: 0, done: 1, waiting: 2, ready: 2, running: 3, failed: 4 };

/** The segments of a job's tasks, in the order of the film. */
export function segmentsOf(tasks) {
  const segments = [];
  for (const task of tasks) {
    if (task.kind !== "video") continue;
    const frames = framesOfLabel(task.label);
    if (frames) segments.push({ task, ...frames });
  }
  return segments.sort((a, b) => a.first - b.first || a.task.ordinal - b.task.ordinal);
}

export function segmentState(task) {
  return task.cached ? "cached" : task.state;
}

/** A segment in lines of text. @param {object[]} marks As `marksOf` gives them. */
export function describeSegment({ task, first, end }, marks = []) {
  const words = {
    cached: "known before, not rendered again", done: "done", running: "renders", failed: "failed", ready: "waits for a slot",
    waiting: "waits for other tasks",
  };
  const state = segmentState(task);
  const where = task.workerName && state !== "cached" ? ` on ${task.workerName}` : "";
  const time = task.ranSeconds > 0 && state !== "cached" ? `, ${duration(task.ranSeconds)}` : "";
  return [
    `Frames ${count(first)} to ${count(end - 1)}`,
    (task.label ?? "").replace(/^frames \d+\.\.\d+ of /, ""),
    `${words[state] ?? state}${where}${time}`,
    ...(task.boundary ? [`why it starts there: ${task.boundary}`] : []),
    ...(task.secondWorkerName ? [`backup lease on ${task.secondWorkerName}`] : []),
    ...(task.attempts.length > 0 ? [`${task.attempts.length} failed: ${task.error ?? ""}`] : []),
    ...describeMarks(marks, first, end),
  ];
}

/** Damage is a triangle at its frame, and what a warning is about is a line. */
function paintMark(context, palette, { kind, first, end }, y, scale, width) {
  const x = Math.min(first * scale, width - 2);
  if (kind !== "damage") {
    context.fillStyle = palette.warn;
    context.fillRect(x, y + 7, Math.max(2, Math.min((end - first) * scale, width - x)), 2);
    return;
  }
  context.fillStyle = palette.bad;
  context.beginPath();
  context.moveTo(x, y);
  context.lineTo(x - 4, y + 7);
  context.lineTo(x + 4, y + 7);
  context.fill();
}

export class SegmentMap {
  /** @param {(task) => void} onChoose A segment was clicked, or chosen by Enter. */
  constructor(onChoose) {
    this.segments = [];
    this.marks = [];
    this.focused = -1;
    this.canvas = element("canvas.segments", {
      tabindex: "0", role: "slider", "aria-label": "Segments of the film", "aria-valuemin": "1", "aria-valuemax": "1",
      "aria-valuenow": "1", "aria-valuetext": "no segments yet",
    });
    this.canvas.addEventListener("pointermove", event => this.point(event));
    this.canvas.addEventListener("pointerleave", () => this.select(-1));
    this.canvas.addEventListener("blur", () => this.select(-1));
    this.canvas.addEventListener("focus", () => {
      if (this.canvas.matches(":focus-visible")) this.select(Math.max(0, this.focused), true);
    });
    this.canvas.addEventListener("click", () => {
      if (this.focused >= 0) onChoose(this.segments[this.focused].task);
    });
    this.canvas.addEventListener("keydown", event => {
      if (event.key === "Enter" && this.focused >= 0) return onChoose(this.segments[this.focused].task);
      const last = this.segments.length - 1;
      const jump = Math.max(1, Math.round(this.segments.length / 20));
      const to = {
        ArrowRight: this.focused + 1, ArrowLeft: this.focused - 1, Home: 0, End: last, PageDown: this.focused + jump,
        PageUp: this.focused - jump,
      }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      this.select(Math.max(0, Math.min(last, to)), true);
    });
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.canvas);
    this.endTheme = onTheme(() => this.draw());
  }

  end() {
    this.observer.disconnect();
    this.endTheme();
  }

  set(segments) {
    this.segments = segments;
    this.frames = segments.reduce((last, segment) => Math.max(last, segment.end), 1);
    setAttribute(this.canvas, "aria-valuemax", Math.max(1, segments.length));
    if (this.focused >= segments.length) this.focused = -1;
    this.describe();
    this.draw();
  }

  /** @param {object[]} marks As `marksOf` gives them. */
  setMarks(marks) {
    this.marks = marks;
    this.canvas.classList.toggle("marked", marks.length > 0);
    this.describe();
    this.draw();
  }

  /** Shows the segment that has a frame, as if it were pointed at. */
  show(frame) {
    const index = this.segments.findLastIndex(segment => segment.first <= frame);
    if (index < 0) return;
    this.canvas.scrollIntoView({ block: "nearest" });
    this.canvas.focus({ preventScroll: true });
    this.select(index, true);
  }

  draw() {
    cancelAnimationFrame(this.painting);
    this.painting = requestAnimationFrame(() => this.paint());
  }

  paint() {
    if (!this.canvas.isConnected) return;
    const { width, height: whole, context } = fitCanvas(this.canvas);
    // Below the bar there is room for marks.
    const height = this.marks.length > 0 ? whole - markHeight : whole;
    const palette = colours();
    const fills = {
      cached: palette.cached, done: palette.done, waiting: palette.waiting, ready: palette.waiting, running: palette.accent,
      failed: palette.bad,
    };
    const scale = width / (this.frames ?? 1);
    context.clearRect(0, 0, width, whole);
    const mean = width / Math.max(1, this.segments.length);
    // Gaps between segments, where there is room for them.
    const gap = mean > 4 ? 1 : 0;
    for (let turn = 0; turn <= 4; turn += 1) {
      for (const segment of this.segments) {
        const state = segmentState(segment.task);
        if ((order[state] ?? 2) !== turn) continue;
        const x = segment.first * scale;
        const wide = Math.max(1, (segment.end - segment.first) * scale - gap);
        context.fillStyle = fills[state] ?? palette.waiting;
        context.fillRect(x, 6, wide, height - 12);
        if (state === "running" && segment.task.work > 0) {
          context.fillStyle = palette["accent-soft"];
          const made = wide * Math.min(1, segment.task.done / segment.task.work);
          context.fillRect(x + made, 6, wide - made, height - 12);
        }
        if (segment.task.attempts.length > 0 && state !== "failed") {
          context.fillStyle = palette.bad;
          context.fillRect(x, 2, Math.max(2, wide), 2);
        }
        if (segment.task.secondWorker && state === "running") {
          context.fillStyle = palette.accent;
          context.fillRect(x, height - 4, Math.max(2, wide), 2);
        }
      }
    }
    for (const mark of this.marks) paintMark(context, palette, mark, height - 3, scale, width);
    const chosen = this.segments[this.focused];
    if (chosen) {
      context.strokeStyle = palette.text;
      context.lineWidth = 2;
      const wide = Math.max(3, (chosen.end - chosen.first) * scale - gap);
      context.strokeRect(chosen.first * scale, 4, wide, height - 8);
    }
  }

  /** The index of the segment at a place of the bar. */
  indexAt(place, width) {
    const frame = place / width * (this.frames ?? 1);
    let [low, high] = [0, this.segments.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.segments[middle].first <= frame) low = middle;
      else high = middle - 1;
    }
    return this.segments.length > 0 ? low : -1;
  }

  point(event) {
    const box = this.canvas.getBoundingClientRect();
    const index = this.indexAt(event.clientX - box.left, box.width);
    this.select(index);
    if (index >= 0) showTip(describeSegment(this.segments[index], this.marks), event.clientX, event.clientY);
  }

  select(index, showsTip = false) {
    if (index < 0) hideTip();
    if (index !== this.focused) {
      this.focused = index;
      this.describe();
      this.draw();
    }
    const segment = this.segments[index];
    if (!segment || !showsTip) return;
    const box = this.canvas.getBoundingClientRect();
    showTip(describeSegment(segment, this.marks), box.left + segment.first / this.frames * box.width, box.bottom - 10);
  }

  describe() {
    const segment = this.segments[this.focused];
    setAttribute(this.canvas, "aria-valuenow", Math.max(1, this.focused + 1));
    setAttribute(
      this.canvas, "aria-valuetext",
      segment ? describeSegment(segment, this.marks).join(". ") : `${count(this.segments.length)} segments`);
  }
}
