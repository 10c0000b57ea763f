// Paints the timeline's rows, bars and times. It draws only what is seen.

import { kindOfLabel } from "./format.js";
import { farm, now } from "./state.js";

/** The heights of the times above the rows and of a row, where the text is not scaled. */
export const unscaled = { axis: 22, lane: 18 };
const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200,
  86_400];

/** The colour of an attempt says how it ended, or what it makes. */
function barColour(attempt, palette) {
  switch (attempt.outcome) {
    case "running": return palette.accent;
    case "done": return kindOfLabel(attempt.label) === "video" ? palette.done : palette.other;
    case "superseded":
    case "stopped":
    case "unknown": return palette.waiting;
    default: return palette.bad;
  }
}

/** How much of an attempt's colour each of its phases has, in the order of `phaseNames`. */
export const phaseStrengths = [0.3, 0.5, 1, 0.72];

/**
 * @param view What is seen: the timeline's geometry, its scroll, and the job and the attempt that stand out.
 * @returns {object[]} Where each bar is.
 */
export function paintTimeline(context, palette, view) {
  const { width, height, axis, textScale } = view;
  context.clearRect(0, 0, width, height);
  context.font = `${12 * textScale}px ${palette.font}`;
  context.textBaseline = "middle";
  context.save();
  context.beginPath();
  context.rect(0, axis, width, height - axis);
  context.clip();
  paintRows(context, palette, view);
  context.restore();
  paintGrid(context, palette, view);
  const boxes = paintBars(context, palette, view);
  paintPath(context, palette, view, boxes);
  paintPresent(context, palette, view);
  return boxes;
}

function paintRows(context, palette, { rows, scroll, width, height, labels, x, left, axis, lane: laneHeight }) {
  for (const row of rows) {
    const top = row.top - scroll;
    if (top > height || top + row.height < axis) continue;
    context.fillStyle = palette.zebra;
    for (let lane = 0; lane < row.lanes; lane += 1) {
      context.fillRect(labels, top + lane * laneHeight + 1, width - labels, laneHeight - 2);
    }
    for (const pause of row.pauses) {
      const start = Math.max(x(pause.start), labels);
      const end = Math.min(x(pause.end ?? now()), width);
      if (end <= start || (pause.end ?? Infinity) <= left) continue;
      hatch(context, start, top, end - start, row.height, palette.warn);
    }
    context.fillStyle = row.status ? palette.text : palette.dim;
    context.fillText(clipped(context, row.name, labels - 14), 2, top + laneHeight / 2 + 1);
    if (row.height > laneHeight) {
      context.fillStyle = row.status?.paused ? palette.warn : palette.dim;
      context.fillText(stateWords(row.status), 2, top + laneHeight * 1.5);
    }
  }
}

function stateWords(status) {
  if (!status) return "gone";
  return status.paused ? "paused" : `${Math.min(status.busy, status.slots)} of ${status.slots}`;
}

function paintBars(context, palette, view) {
  const { rows, scroll, labels, width, height, x, left, right, axis, lane: laneHeight } = view;
  const byID = new Map(rows.map(row => [row.id, row]));
  const present = now();
  const boxes = [];
  context.save();
  context.beginPath();
  context.rect(labels, axis, width - labels, height - axis);
  context.clip();
  for (const attempt of farm.log.attempts) {
    const end = attempt.end ?? present;
    if (end < left || attempt.start > right) continue;
    const row = byID.get(attempt.worker);
    if (!row) continue;
    const top = row.top - scroll + Math.min(attempt.lane, row.lanes - 1) * laneHeight + 2;
    if (top > height || top + laneHeight < axis) continue;
    const start = Math.max(x(attempt.start), labels - 2);
    const box = { attempt, x: start, y: top, width: Math.max(2, x(end) - start), height: laneHeight - 4 };
    boxes.push(box);
    paintBar(context, palette, box, view);
  }
  context.restore();
  return boxes;
}

function paintBar(context, palette, { attempt, x, y, width, height }, view) {
  const { job, hovered, labels } = view;
  const isOther = job !== null && attempt.job !== job;
  const strength = isOther ? 0.25 : 1;
  context.globalAlpha = strength;
  context.fillStyle = barColour(attempt, palette);
  // A gap keeps neighbours apart.
  const body = { x, width: Math.max(1.5, width - 1) };
  const clear = attempt.phases && width >= 6 && attempt.end > attempt.start
    ? paintPhases(context, attempt, { x: view.x(attempt.start), y, height, scale: view.scale }, strength) : body;
  if (clear === body) context.fillRect(x, y, body.width, height);
  context.globalAlpha = strength;
  if (attempt.isBackup) {
    context.fillStyle = palette.panel;
    context.fillRect(x, y + height - 4, Math.max(1.5, width - 1), 2);
  }
  if (attempt === hovered) {
    context.strokeStyle = palette.text;
    context.lineWidth = 1.5;
    context.strokeRect(x + 0.5, y + 0.5, Math.max(2, width - 2), height - 1);
  }
  const textStart = Math.max(clear.x, labels);
  const space = clear.x + clear.width - textStart;
  if (space > 64) {
    context.fillStyle = palette.panel;
    const frames = /frames (\d+\.\.\d+)/.exec(attempt.label);
    const text = clipped(context, frames ? frames[1] : attempt.label, space - 12);
    context.fillText(text, textStart + 5, y + height / 2 + 0.5);
  }
  context.globalAlpha = 1;
}

/**
 * The phases of an attempt from left to right.
 * @returns Where it has its full colour, for its text.
 */
function paintPhases(context, attempt, { x, y, height, scale }, strength) {
  const right = x + (attempt.end - attempt.start) * scale - 1;
  let from = x;
  let clear = { x, width: 0 };
  const paint = (to, share) => {
    context.globalAlpha = strength * share;
    context.fillRect(from, y, to - from, height);
  };
  attempt.phases.forEach((seconds, index) => {
    const to = Math.min(right, from + seconds * scale);
    paint(to, phaseStrengths[index]);
    if (phaseStrengths[index] === 1) clear = { x: from, width: to - from };
    from = to;
  });
  // What the coordinator took beside the phases.
  paint(right, phaseStrengths[0]);
  return clear;
}

/** Outlines the attempts of the critical path, with a line from each to the next. */
function paintPath(context, palette, { path, labels, width, height, x, axis }, boxes) {
  if (path.length === 0) return;
  const placed = new Map(boxes.map(box => [box.attempt, box]));
  context.save();
  context.beginPath();
  context.rect(labels, axis, width - labels, height - axis);
  context.clip();
  context.strokeStyle = palette.text;
  context.lineWidth = 1.5;
  path.forEach(({ attempt, to }, index) => {
    const box = placed.get(attempt);
    if (!box) return;
    context.strokeRect(box.x, box.y - 0.75, Math.max(2, box.width - 1), box.height + 1.5);
    const next = path[index + 1];
    const nextBox = next && placed.get(next.attempt);
    if (!nextBox) return;
    const isBelow = nextBox.y > box.y;
    const turn = Math.max(x(to), box.x);
    context.beginPath();
    if (nextBox.y !== box.y) {
      context.moveTo(turn, isBelow ? box.y + box.height + 0.75 : box.y - 0.75);
      context.lineTo(turn, nextBox.y + nextBox.height / 2);
    } else {
      context.moveTo(turn, box.y + box.height / 2);
    }
    context.lineTo(Math.max(turn, x(next.from)), nextBox.y + nextBox.height / 2);
    context.stroke();
  });
  context.restore();
}

/** The times: lines under the bars, and their texts above. */
function paintGrid(context, palette, { width, height, x, left, right, labels, scale, axis, textScale }) {
  const step = steps.find(candidate => candidate * scale >= 76 * textScale) ?? 86_400;
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

function paintPresent(context, palette, { width, height, x, labels, axis }) {
  const edge = x(now());
  if (edge < labels || edge > width) return;
  context.fillStyle = palette.accent;
  context.fillRect(Math.round(edge), axis - 6, 1.5, height);
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
