// The timeline as a Chrome trace, which Perfetto and chrome://tracing open: a process a worker, a thread a slot.

import { endWords } from "./format.js";

/**
 * @param {AttemptLog} log
 * @param {number} time The present, in seconds since 1970: where bars end that run.
 * @param {(job: string) => string} nameOf
 * @returns {object[]} Events of the trace's JSON array.
 */
export function chromeTrace(log, time, nameOf) {
  const events = [];
  const processes = new Map();
  const names = [...new Set([...log.workers.keys(), ...log.attempts.map(attempt => attempt.worker)])].sort();
  for (const name of names) {
    const pid = processes.size + 1;
    processes.set(name, pid);
    events.push({ ph: "M", name: "process_name", pid, tid: 0, args: { name } });
  }
  const microseconds = seconds => Math.round(seconds * 1e6);
  const slots = new Set();
  for (const attempt of log.attempts) {
    const pid = processes.get(attempt.worker);
    const tid = attempt.lane + 1;
    if (!slots.has(`${pid}/${tid}`)) {
      slots.add(`${pid}/${tid}`);
      events.push({ ph: "M", name: "thread_name", pid, tid, args: { name: `slot ${tid}` } });
    }
    events.push({
      ph: "X", name: attempt.label || `task ${attempt.ordinal}`, cat: attempt.outcome, pid, tid,
      ts: microseconds(attempt.start), dur: microseconds((attempt.end ?? time) - attempt.start),
      args: {
        job: attempt.job, name: nameOf(attempt.job), task: attempt.ordinal, end: endWords(attempt.outcome),
        ...(attempt.isBackup ? { backup: true } : {}), ...(attempt.reason ? { reason: attempt.reason } : {}),
      },
    });
  }
  for (const [name, worker] of log.workers) {
    for (const pause of worker.pauses) {
      events.push({
        ph: "X", name: "paused", cat: "pause", pid: processes.get(name), tid: 0, ts: microseconds(pause.start),
        dur: microseconds((pause.end ?? time) - pause.start), args: { reason: pause.reason },
      });
    }
  }
  return events;
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
