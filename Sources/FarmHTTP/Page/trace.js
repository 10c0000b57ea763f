// The timeline as a Chrome trace, which Perfetto and chrome://tracing open: a process a worker, a thread a slot. The
// phases of an attempt are slices within its own.

import { phaseNames } from "./attempts.js";
import { endWords, shortID } from "./format.js";

/** Thread 0 of each process has the worker's pauses. */
const pauseThread = 0;

/**
 * @param {AttemptLog} log
 * @param {number} time The present, in seconds since 1970: where bars end that run.
 * @param {(job: string) => string} nameOf
 * @returns {object[]} Events of the trace's JSON array: the names, then the bars by their beginning.
 */
export function chromeTrace(log, time, nameOf) {
  const processes = processesOf(log);
  for (const attempt of [...log.attempts].sort((a, b) => a.start - b.start)) {
    const process = processes.get(attempt.worker);
    const range = rangeOf(attempt, time);
    const tid = process.thread(attempt.lane, range);
    process.bars.push({
      ph: "X", name: attempt.label || `task ${attempt.ordinal}`, cat: attempt.outcome, pid: process.pid, tid, ...range,
      args: {
        job: attempt.job, name: nameOf(attempt.job), task: attempt.ordinal, end: endWords(attempt.outcome),
        ...(attempt.isBackup ? { backup: true } : {}), ...(attempt.reason ? { reason: attempt.reason } : {}),
      },
    });
    process.bars.push(...phaseSlices(attempt, range).map(slice => ({ ...slice, pid: process.pid, tid })));
  }
  for (const [id, worker] of log.workers) {
    const process = processes.get(id);
    for (const pause of worker.pauses) {
      process.bars.push({
        ph: "X", name: "paused", cat: "pause", pid: process.pid, tid: pauseThread, ...rangeOf(pause, time),
        args: { reason: pause.reason },
      });
    }
  }
  const all = [...processes.values()];
  // The outer of two slices that begin together comes first.
  const bars = all.flatMap(process => process.bars).sort((a, b) => a.ts - b.ts || b.dur - a.dur);
  return [...all.flatMap(process => process.names()), ...bars];
}

/** By the workers' ids, in the order of their names. */
function processesOf(log) {
  const names = new Map([...log.workers.values()].map(worker => [worker.id, worker.name]));
  for (const attempt of log.attempts) names.set(attempt.worker, attempt.workerName);
  const all = [...names.values()];
  const shown = ([id, name]) => all.indexOf(name) === all.lastIndexOf(name) ? name : `${name} ${shortID(id)}`;
  const workers = [...names].map(worker => ({ id: worker[0], name: shown(worker) }))
    .sort((a, b) => a.name.localeCompare(b.name) || (a.id < b.id ? -1 : 1));
  return new Map(workers.map(({ id, name }, index) => [id, new Process(name, index + 1)]));
}

/** The phases of an attempt that took time, within its range. */
function phaseSlices(attempt, { ts, dur }) {
  let begin = attempt.start;
  return (attempt.phases ?? []).flatMap((seconds, index) => {
    const start = Math.min(ts + dur, Math.max(ts, Math.round(begin * 1e6)));
    begin += seconds;
    const end = Math.min(ts + dur, Math.round(begin * 1e6));
    return end > start ? [{ ph: "X", name: phaseNames[index], cat: "phase", ts: start, dur: end - start, args: {} }] : [];
  });
}

/** Both ends are rounded, so that a bar that ends where the next begins does not reach into it. */
function rangeOf({ start, end }, time) {
  const ts = Math.round(start * 1e6);
  return { ts, dur: Math.max(0, Math.round((end ?? time) * 1e6) - ts) };
}

class Process {
  constructor(name, pid) {
    this.name = name;
    this.pid = pid;
    this.bars = [];
    /** Where the last bar of each slot ends. */
    this.ends = [];
  }

  /** The thread of a bar: its lane's, or the next where nothing runs, because bars of a thread may not overlap. */
  thread(lane, { ts, dur }) {
    let slot = lane;
    while ((this.ends[slot] ?? 0) > ts) slot += 1;
    this.ends[slot] = ts + dur;
    return slot + 1;
  }

  names() {
    const named = (name, tid, value) => ({ ph: "M", name, ts: 0, pid: this.pid, tid, args: { name: value } });
    const threads = [...new Set(this.bars.map(bar => bar.tid))].sort((a, b) => a - b);
    return [
      named("process_name", pauseThread, this.name),
      ...threads.map(tid => named("thread_name", tid, tid === pauseThread ? "pauses" : `slot ${tid}`)),
    ];
  }
}

/** Gives a text to the person as a file. */
export function saveText(text, name, type) {
  saveBlob(new Blob([text], { type }), name);
}

export function saveBlob(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // Not at once: the browser reads it later.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
