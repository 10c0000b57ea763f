// Workers as rows of slots, and attempts as bars over time, on a canvas that draws only what is seen.

import { element, fitCanvas, hideTip, showTip } from "./dom.js";
import { duration, endWords, kindOfLabel, localTime } from "./format.js";
import { farm, now } from "./state.js";
import { colours, onTheme } from "./theme.js";

const axis = 22;
const laneHeight = 18;
const gap = 10;
const shortestSpan = 2;
const longestSpan = 7 * 86_400;
const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200,
  86_400];

/** The colour of an attempt says how it ended, or what it makes. */
export function barColour(attempt, palette) {
  switch (attempt.outcome) {
    case "running": return palette.accent;
    case "done": return kindOfLabel(attempt.label) === "video" ? palette.done : palette.other;
    case "superseded":
    case "stopped":
    case "unknown": return palette.waiting;
    default: return palette.bad;
  }
}

export class Timeline {
  constructor() {
    this.span = 120;
    /** The right edge, in seconds since 1970. Null: it is the present, and moves. */
    this.right = null;
    this.scroll = 0;
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
    this.onView = () => {};
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
  get labelWidth() { return this.canvas.clientWidth < 520 ? 72 : 132; }

  /** The rows: connected workers by name, then those that are gone and have bars within what is seen. */
  rows() {
    const names = new Map(farm.workers.map(worker => [worker.name, worker]));
    const right = this.rightTime;
    const left = right - this.span;
    // A worker may have a task more than it has slots while it publishes a result.
    const used = new Map();
    for (const attempt of farm.log.attempts) {
      if ((attempt.end ?? Infinity) < left || attempt.start > right) continue;
      if (!names.has(attempt.worker)) names.set(attempt.worker, null);
      used.set(attempt.worker, Math.max(used.get(attempt.worker) ?? 0, attempt.lane + 1));
    }
    let top = axis + 4;
    return [...names].sort(([a, one], [b, other]) => (one === null) - (other === null) || a.localeCompare(b))
      .map(([name, status]) => {
        const seen = farm.log.workers.get(name);
        const lanes = Math.max(status?.slots ?? 1, Math.min(used.get(name) ?? 1, 64));
        const row = { name, status, lanes, top, height: lanes * laneHeight, pauses: seen?.pauses ?? [] };
        top += row.height + gap;
        return row;
      });
  }

  /** The height that shows every row, within a bound. */
  get wantedHeight() {
    const last = this.rows().at(-1);
    return Math.min(560, Math.max(96, (last ? last.top + last.height : 0) + 14));
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
    const labels = this.labelWidth;
    const right = this.rightTime;
    const left = right - this.span;
    const scale = (width - labels) / this.span;
    const x = time => labels + (time - left) * scale;
    this.geometry = { x, left, right, scale, labels, rows, width, height };
    context.clearRect(0, 0, width, height);
    context.font = `12px ${palette.font}`;
    context.textBaseline = "middle";
    context.save();
    context.beginPath();
    context.rect(0, axis, width, height - axis);
    context.clip();
    this.paintRows(context, palette, rows);
    context.restore();
    this.paintGrid(context, palette);
    this.paintBars(context, palette, rows);
    this.paintPresent(context, palette);
  }

  paintRows(context, palette, rows) {
    const { width, height, labels, x, left } = this.geometry;
    for (const row of rows) {
      const top = row.top - this.scroll;
      if (top > height || top + row.height < axis) continue;
      context.fillStyle = palette.zebra;
      for (let lane = 0; lane < row.lanes; lane += 1) {
        context.fillRect(labels, top + lane * laneHeight + 1, width - labels, laneHeight - 2);
      }
      for (const pause of row.pauses) {
        const start = Math.max(x(pause.start), labels);
        const end = Math.min(x(pause.end ?? now()), width);
        if (end > start && (pause.end ?? Infinity) > left) hatch(context, start, top, end - start, row.height, palette.warn);
      }
      context.fillStyle = row.status ? palette.text : palette.dim;
      context.fillText(clipped(context, row.name, labels - 14), 2, top + laneHeight / 2 + 1);
      if (row.height > laneHeight) {
        context.fillStyle = row.status?.paused ? palette.warn : palette.dim;
        const words = row.status ? row.status.paused ? "paused" : `${Math.min(row.status.busy, row.status.slots)} of ${row.status.slots}` : "gone";
        context.fillText(words, 2, top + laneHeight * 1.5);
      }
    }
  }

  paintBars(context, palette, rows) {
    const { labels, width, height, x, left, right } = this.geometry;
    const byName = new Map(rows.map(row => [row.name, row]));
    const present = now();
    this.boxes = [];
    context.save();
    context.beginPath();
    context.rect(labels, axis, width - labels, height - axis);
    context.clip();
    for (const attempt of farm.log.attempts) {
      const end = attempt.end ?? present;
      if (end < left || attempt.start > right) continue;
      const row = byName.get(attempt.worker);
      if (!row) continue;
      const top = row.top - this.scroll + Math.min(attempt.lane, row.lanes - 1) * laneHeight + 2;
      if (top > height || top + laneHeight < axis) continue;
      const start = Math.max(x(attempt.start), labels - 2);
      const box = { attempt, x: start, y: top, width: Math.max(2, x(end) - start), height: laneHeight - 4 };
      this.boxes.push(box);
      this.paintBar(context, palette, box);
    }
    context.restore();
  }

  paintBar(context, palette, { attempt, x, y, width, height }) {
    const isOther = this.job !== null && attempt.job !== this.job;
    context.globalAlpha = isOther ? 0.25 : 1;
    context.fillStyle = barColour(attempt, palette);
    // A gap keeps neighbours apart.
    context.fillRect(x, y, Math.max(1.5, width - 1), height);
    if (attempt.isBackup) {
      context.fillStyle = palette.panel;
      context.fillRect(x, y + height - 4, Math.max(1.5, width - 1), 2);
    }
    if (attempt === this.hovered) {
      context.strokeStyle = palette.text;
      context.lineWidth = 1.5;
      context.strokeRect(x + 0.5, y + 0.5, Math.max(2, width - 2), height - 1);
    }
    if (width > 64) {
      context.fillStyle = palette.panel;
      const frames = /frames (\d+\.\.\d+)/.exec(attempt.label);
      context.fillText(clipped(context, frames ? frames[1] : attempt.label, width - 12), x + 5, y + height / 2 + 0.5);
    }
    context.globalAlpha = 1;
  }

  /** The times: lines under the bars, and their texts above. */
  paintGrid(context, palette) {
    const { width, height, x, left, right, labels } = this.geometry;
    const step = steps.find(candidate => candidate * this.geometry.scale >= 76) ?? 86_400;
    const offset = new Date(left * 1000).getTimezoneOffset() * 60;
    context.textAlign = "center";
    for (let time = Math.ceil((left - offset) / step) * step + offset; time <= right; time += step) {
      const place = x(time);
      context.fillStyle = palette.line;
      context.fillRect(Math.round(place), axis - 4, 1, height);
      context.fillStyle = palette.dim;
      if (place > labels + 28 && place < width - 28) context.fillText(tickText(time, step), place, axis / 2 - 1);
    }
    context.textAlign = "left";
  }

  paintPresent(context, palette) {
    const { width, height, x, labels } = this.geometry;
    const edge = x(now());
    if (edge < labels || edge > width) return;
    context.fillStyle = palette.accent;
    context.fillRect(Math.round(edge), axis - 6, 1.5, height);
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

  grab(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    let { clientX, clientY } = event;
    const move = next => {
      const across = clientX - next.clientX;
      const down = clientY - next.clientY;
      if (Math.abs(across) < 2 && Math.abs(down) < 2) return;
      hideTip();
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
      "+": () => this.zoom(0.7), "=": () => this.zoom(0.7), "-": () => this.zoom(1.4), End: () => this.goLive(),
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
    showTip(describe(attempt), event.clientX, event.clientY);
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
    `${job?.name || attempt.job} on ${attempt.worker}${attempt.isBackup ? ", backup lease" : ""}`,
    `${endWords(attempt.outcome)}, ${lasted} from ${localTime(attempt.start)}`,
    ...(attempt.reason ? [attempt.reason] : []),
  ];
}

function tickText(time, step) {
  const date = new Date(time * 1000);
  if (step < 1) return `${date.getSeconds()}.${Math.floor(date.getMilliseconds() / 100)}`;
  const options = step >= 86_400
    ? { month: "short", day: "numeric" }
    : { hour: "2-digit", minute: "2-digit", hourCycle: "h23", ...(step < 60 ? { second: "2-digit" } : {}) };
  return new Intl.DateTimeFormat(undefined, options).format(date);
}

function clipped(context, text, width) {
  if (context.measureText(text).width <= width) return text;
  let short = text.slice(0, Math.max(1, Math.floor(width / 5)));
  while (short.length > 1 && context.measureText(`${short}…`).width > width) short = short.slice(0, -1);
  return width < 14 ? "" : `${short}…`;
}

function hatch(context, x, y, width, height, colour) {
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  context.strokeStyle = colour;
  context.globalAlpha = 0.5;
  context.lineWidth = 1;
  context.beginPath();
  for (let place = x - height - (x % 7); place < x + width; place += 7) {
    context.moveTo(place, y + height);
    context.lineTo(place + height, y);
  }
  context.stroke();
  context.restore();
}
