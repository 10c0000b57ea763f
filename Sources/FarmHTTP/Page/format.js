// Numbers, times and names as people read them.

import { phaseNames } from "./attempts.js";
import { element } from "./dom.js";

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const clock = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23",
});
const day = new Intl.DateTimeFormat(undefined, {
  month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hourCycle: "h23",
});

export function count(number) {
  return whole.format(number);
}

/** The beginning of a worker's id, for people. */
export function shortID(id) {
  return id.slice(0, 6);
}

/** "1 job", "2 jobs". */
export function counted(number, one, many = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : many}`;
}

export function rate(number) {
  if (number === null) return "–";
  return number >= 100 ? count(number) : number.toFixed(1);
}

export function bytes(number) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  let value = number;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 || value >= 100 ? value.toFixed(0) : value.toFixed(1)} ${units[unit]}`;
}

/** A length of time: "4.2 s" below ten seconds, then "1:05" and "2:03:09". */
export function duration(seconds) {
  if (seconds === null || seconds === undefined || !Number.isFinite(seconds)) return "–";
  const value = Math.max(0, seconds);
  if (value < 10) return `${value.toFixed(1)} s`;
  if (value < 60) return `${Math.floor(value)} s`;
  const total = Math.floor(value);
  const two = number => String(number).padStart(2, "0");
  const hours = Math.floor(total / 3600);
  const minutes = Math.floor(total / 60) % 60;
  if (hours >= 48) return `${Math.floor(hours / 24)} d ${hours % 24} h`;
  return hours > 0 ? `${hours}:${two(minutes)}:${two(total % 60)}` : `${minutes}:${two(total % 60)}`;
}

/** An age: "just now", "12 s ago", "3 min ago", "5 h ago", "2 d ago". */
export function age(seconds) {
  if (seconds < 2) return "just now";
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)} h ago`;
  return `${Math.floor(seconds / 86400)} d ago`;
}

export function percent(fraction) {
  // 100 % is only said of what is complete.
  return `${Math.min(fraction >= 1 ? 100 : 99, Math.floor(fraction * 100))} %`;
}

/** The local time of today, or the day too. @param {number} time Seconds since 1970. */
export function localTime(time) {
  const date = new Date(time * 1000);
  const isToday = new Date().toDateString() === date.toDateString();
  return isToday ? clock.format(date) : day.format(date);
}

export function exactTime(time) {
  return new Date(time * 1000).toISOString();
}

/** A local time with the exact one on hover. */
export function timeElement(time) {
  const exact = exactTime(time);
  return element("time", { datetime: exact, title: exact, text: localTime(time) });
}

export const jobStates = ["probing", "measuring", "rendering", "done", "failed", "cancelled"];
export const openStates = ["probing", "measuring", "rendering"];

export function isOpen(job) {
  return openStates.includes(job.state);
}

/** How an attempt ended, in words. */
export function endWords(outcome) {
  const words = {
    running: "running",
    done: "done",
    away: "worker disconnected",
    expired: "lease expired",
    superseded: "another attempt was first",
    stopped: "stopped with its job",
    unknown: "end not seen",
  };
  return words[outcome] ?? outcome.replace(/([A-Z])/g, " $1").toLowerCase();
}

/** "wait 0.2 s, fetch 1.4 s, …", as `phasesOf` gives the seconds. */
export function phaseText(phases) {
  return phases.map((seconds, index) => `${phaseNames[index]} ${duration(seconds)}`).join(", ");
}

/** What an attempt took of its worker: names and values. */
export function usageTexts(usage) {
  return [
    ["Waited for a slot", duration(usage.waitSeconds)], ["Fetched its inputs", duration(usage.fetchSeconds)],
    ["Rendered", duration(usage.renderSeconds)], ["Uploaded its result", duration(usage.uploadSeconds)],
    ["CPU", duration(usage.cpuSeconds)], ["Peak memory", bytes(usage.peakBytes)],
    ["Fetched", bytes(usage.fetchedBytes)], ["Sent", bytes(usage.uploadedBytes)],
  ];
}

/** The kind of a task by its label, if nothing else is known. */
export function kindOfLabel(label) {
  if (/^frames /.test(label)) return "video";
  if (/^audio/.test(label)) return "audio";
  if (/^measur/.test(label)) return "measure";
  if (/^(probe|fonts|compositors)/.test(label)) return "probe";
  return "stitch";
}

/** The first frame and the end of "frames 30..90 of flower.mp4". Null: it is another task. */
export function framesOfLabel(label) {
  const found = /frames (\d+)\.\.(\d+)/.exec(label ?? "");
  return found ? { first: Number(found[1]), end: Number(found[2]) + 1 } : null;
}
