// The timeline as a Chrome trace, which Perfetto and chrome://tracing open: a process a worker, a thread a slot.

import { endWords } from "./format.js";

/** Thread 0 of each process has the worker's pauses. */
const pauseThread = 0;

/**
 * @param {AttemptLog} log
 * @param {number} time The present, in seconds since 1970: where bars end that run.
 * @param {(job: string) => string} nameOf
 * @returns {object[]} Events of the trace's JSON array: the names, then the bars by their beginning.
 */
export function chromeTrace(log, time, nameOf) {
  const names = [...new Set([...log.workers.keys(), ...log.attempts.map(attempt => attempt.worker)])].sort();
  const processes = new Map(names.map((name, index) => [name, new Process(name, index + 1)]));
  for (const attempt of [...log.attempts].sort((a, b) => a.start - b.start)) {
    const process = processes.get(attempt.worker);
    const range = rangeOf(attempt, time);
    process.bars.push({
      ph: "X", name: attempt.label || `task ${attempt.ordinal}`, cat: attempt.outcome, pid: process.pid,
      tid: process.thread(attempt.lane, range), ...range,
      args: {
        job: attempt.job, name: nameOf(attempt.job), task: attempt.ordinal, end: endWords(attempt.outcome),
        ...(attempt.isBackup ? { backup: true } : {}), ...(attempt.reason ? { reason: attempt.reason } : {}),
      },
    });
  }
  for (const [name, worker] of log.workers) {
    const process = processes.get(name);
    for (const pause of worker.pauses) {
      process.bars.push({
        ph: "X", name: "paused", cat: "pause", pid: process.pid, tid: pauseThread, ...rangeOf(pause, time),
        args: { reason: pause.reason },
      });
    }
  }
  const all = [...processes.values()];
  const bars = all.flatMap(process => process.bars).sort((a, b) => a.ts - b.ts);
  return [...all.flatMap(process => process.names()), ...bars];
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
