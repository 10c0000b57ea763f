// Workers as rows of slots, and attempts as bars over time, on a canvas: what is seen of it, and moving there.

import { criticalPath } from "./critical-path.js";
import { element, fitCanvas, hideTip, showTip } from "./dom.js";
import { duration, endWords, localTime, phaseText } from "./format.js";
import { farm, now, workerLabel } from "./state.js";
import { colours, onTheme, textScale } from "./theme.js";
import { paintTimeline, unscaled } from "./timeline-painting.js";

const gap = 10;
const shortestSpan = 2;
const longestSpan = 7 * 86_400;

export class Timeline {
  constructor() {
    this.span = 120;
    /** The right edge, in seconds since 1970. Null: it is the present, and moves. */
    this.right = null;
    this.scroll = 0;
    /** The job that stands out, with its critical path. */
    this.job = null;
    this.hovered = null;
    this.canvas = element("canvas.timeline", {
      tabindex: "0", role: "img",
      "aria-label": "Timeline of workers. Arrow keys move it, plus and minus change its scale, End goes to the present.",
    });
    this.canvas.addEventListener("wheel", event => this.wheel(event), { passive: false });
    this.canvas.addEventListener("pointerdown", event => this.grab(event));
    this.canvas.addEventListener("pointermove", event => this.hover(event));
    this.canvas.addEventListener("pointerleave", () => this.leave());
    this.canvas.addEventListener("keydown", event => this.key(event));
    this.canvas.addEventListener("dblclick", event => {
      const hit = this.hit(event);
      if (hit) location.hash = `#/jobs/${hit.job}`;
    });
    this.canvas.addEventListener("click", event => {
      const hit = this.wasDragged ? null : this.hit(event);
      if (hit && hit.job !== this.job) this.onJob(hit.job);
    });
    this.onView = () => {};
    /** Called with the job of a bar that was clicked, or null. */
    this.onJob = () => {};
    this.timer = 0;
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.canvas);
    this.endTheme = onTheme(() => this.draw());
  }

  end() {
    this.observer.disconnect();
    this.endTheme();
    cancelAnimationFrame(this.frame);
  }

  get isLive() { return this.right === null; }
  get rightTime() { return this.right ?? now() + this.span * 0.02; }
  /** The critical path of the job that stands out. */
  get path() {
    const { version } = farm.log;
    if (this.known?.job !== this.job || this.known.version !== version) {
      const attempts = this.job === null ? [] : farm.log.attempts.filter(attempt => attempt.job === this.job);
      this.known = { job: this.job, version, path: criticalPath(attempts) };
    }
    return this.known.path;
  }

  get axis() { return Math.round(unscaled.axis * textScale()); }
  get lane() { return Math.round(unscaled.lane * textScale()); }

  /** Wide enough for the names, within bounds. */
  labelWidth(rows) {
    const [least, most] = this.canvas.clientWidth < 520 ? [72, 108] : [132, 220];
    const context = this.canvas.getContext("2d");
    context.font = `${12 * textScale()}px ${colours().font}`;
    const longest = rows.reduce((width, row) => Math.max(width, context.measureText(row.name).width), 0);
    return Math.round(Math.min(most * textScale(), Math.max(least * textScale(), longest + 18)));
  }

  /** The rows: connected workers by name, then those that are gone and have bars within what is seen. */
  rows() {
    const seen = new Map(farm.workers.map(worker => [worker.id, { name: worker.name, status: worker }]));
    const right = this.rightTime;
    const left = right - this.span;
    // A worker may have a task more than it has slots while it publishes a result.
    const used = new Map();
    for (const attempt of farm.log.attempts) {
      if ((attempt.end ?? Infinity) < left || attempt.start > right) continue;
      if (!seen.has(attempt.worker)) seen.set(attempt.worker, { name: attempt.workerName, status: null });
      used.set(attempt.worker, Math.max(used.get(attempt.worker) ?? 0, attempt.lane + 1));
    }
    const { lane } = this;
    let top = this.axis + 4;
    return [...seen]
      .sort(([id, one], [otherID, other]) => (one.status === null) - (other.status === null)
        || one.name.localeCompare(other.name) || (id < otherID ? -1 : 1))
      .map(([id, { name, status }]) => {
        const lanes = Math.max(status?.slots ?? 1, Math.min(used.get(id) ?? 1, 64));
        const row = {
          id, name: workerLabel(id, name), status, lanes, top, height: lanes * lane,
          pauses: farm.log.workers.get(id)?.pauses ?? [],
        };
        top += row.height + gap;
        return row;
      });
  }

  /** The height that shows every row, within a bound. */
  get wantedHeight() {
    const last = this.rows().at(-1);
    return Math.min(Math.max(560, window.innerHeight * 0.6), Math.max(96, (last ? last.top + last.height : 0) + 14));
  }

  /** Draws at the next frame, and goes on as long as the present moves. */
  draw() {
    cancelAnimationFrame(this.frame);
    this.frame = requestAnimationFrame(() => {
      this.paint();
      if (this.isLive && this.canvas.isConnected) {
        clearTimeout(this.timer);
        // A bar moves by a pixel in so many seconds.
        const pause = Math.min(1000, Math.max(33, this.span / Math.max(300, this.canvas.clientWidth) * 1000));
        this.timer = setTimeout(() => this.draw(), pause);
      }
    });
  }

  paint() {
    if (!this.canvas.isConnected) return;
    const wanted = `${this.wantedHeight}px`;
    if (this.canvas.style.height !== wanted) this.canvas.style.height = wanted;
    const { width, height, context } = fitCanvas(this.canvas);
    const palette = colours();
    const rows = this.rows();
    const full = (rows.at(-1)?.top ?? 0) + (rows.at(-1)?.height ?? 0) + 14;
    this.scroll = Math.max(0, Math.min(this.scroll, full - height));
    const labels = this.labelWidth(rows);
    const right = this.rightTime;
    const left = right - this.span;
    const scale = (width - labels) / this.span;
    const x = time => labels + (time - left) * scale;
    this.geometry = { x, left, right, scale, labels, rows, width, height };
    this.boxes = paintTimeline(context, palette, {
      ...this.geometry, axis: this.axis, lane: this.lane, textScale: textScale(), scroll: this.scroll, job: this.job,
      path: this.path, hovered: this.hovered,
    });
  }

  // Moving

  wheel(event) {
    event.preventDefault();
    const box = this.canvas.getBoundingClientRect();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      this.pan((event.deltaX || event.deltaY) / this.geometry.scale);
    } else if (event.altKey) {
      this.scroll += event.deltaY;
      this.draw();
    } else {
      this.zoom(Math.exp(event.deltaY * 0.0015), this.timeAt(event.clientX - box.left));
    }
  }

  timeAt(place) {
    const { left, scale, labels } = this.geometry;
    return left + Math.max(0, place - labels) / scale;
  }

  /** @param {number} around The time that stays where it is. */
  zoom(factor, around = this.rightTime) {
    const span = Math.min(longestSpan, Math.max(shortestSpan, this.span * factor));
    const right = this.rightTime;
    const share = (right - around) / this.span;
    this.span = span;
    // At the live edge, the edge stays.
    if (!(this.isLive && share < 0.15)) this.moveTo(around + share * span);
    this.draw();
    this.onView();
  }

  pan(seconds) {
    this.moveTo(this.rightTime + seconds);
    this.draw();
    this.onView();
  }

  moveTo(right) {
    this.right = right >= now() + this.span * 0.02 ? null : right;
  }

  goLive() {
    this.right = null;
    this.draw();
    this.onView();
  }

  setSpan(seconds) {
    this.span = Math.min(longestSpan, Math.max(shortestSpan, seconds));
    this.goLive();
  }

  /** Shows the time from one moment to another, with some room at both ends. */
  showRange(start, end) {
    const span = Math.min(longestSpan, Math.max(shortestSpan, (end - start) * 1.1));
    this.span = span;
    this.moveTo((start + end) / 2 + span / 2);
    this.draw();
    this.onView();
  }

  grab(event) {
    this.wasDragged = false;
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    let { clientX, clientY } = event;
    const move = next => {
      const across = clientX - next.clientX;
      const down = clientY - next.clientY;
      if (Math.abs(across) < 2 && Math.abs(down) < 2) return;
      hideTip();
      this.wasDragged = true;
      ({ clientX, clientY } = next);
      this.scroll += down;
      if (across !== 0) this.pan(across / this.geometry.scale);
    };
    this.canvas.addEventListener("pointermove", move);
    const release = () => this.canvas.removeEventListener("pointermove", move);
    this.canvas.addEventListener("pointerup", release, { once: true });
    this.canvas.addEventListener("pointercancel", release, { once: true });
  }

  key(event) {
    const actions = {
      ArrowLeft: () => this.pan(-this.span / 8), ArrowRight: () => this.pan(this.span / 8),
      ArrowUp: () => { this.scroll -= 40; this.draw(); }, ArrowDown: () => { this.scroll += 40; this.draw(); },
      "+": () => this.zoom(0.7), "=": () => this.zoom(0.7), "-": () => this.zoom(1.4), End: () => this.goLive(), Escape: () => this.onJob(null),
    };
    const action = actions[event.key];
    if (!action || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    action();
  }

  hit(event) {
    const box = this.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    return this.boxes?.findLast(bar =>
      x >= bar.x - 1 && x <= bar.x + bar.width + 1 && y >= bar.y - 2 && y <= bar.y + bar.height + 2)?.attempt ?? null;
  }

  hover(event) {
    const attempt = this.hit(event);
    if (attempt !== this.hovered) {
      this.hovered = attempt;
      this.draw();
    }
    if (!attempt || event.buttons !== 0) return hideTip();
    const isCritical = this.path.some(link => link.attempt === attempt);
    showTip([...describe(attempt), ...(isCritical ? ["on the critical path"] : [])], event.clientX, event.clientY);
  }

  leave() {
    this.hovered = null;
    hideTip();
    this.draw();
  }
}

/** An attempt in lines of text. */
export function describe(attempt) {
  const job = farm.jobs.get(attempt.job);
  const lasted = duration((attempt.end ?? now()) - attempt.start);
  return [
    attempt.label || `task ${attempt.ordinal}`,
    `${job?.name || attempt.job} on ${workerLabel(attempt.worker, attempt.workerName)}${attempt.isBackup ? ", backup lease" : ""}`,
    `${endWords(attempt.outcome)}, ${lasted} from ${localTime(attempt.start)}`,
    ...(attempt.phases ? [phaseText(attempt.phases)] : []),
    ...(attempt.reason ? [attempt.reason] : []),
  ];
}
