// What determined when a job ended: a chain of attempts, each of which could not begin before the one before it was
// over. `docs/page.md` has the definition.

import { kindOfLabel } from "./format.js";

/** A task of one stage depends on those of the stages before it. */
const stages = { probe: 0, measure: 1, video: 2, audio: 2, stitch: 3 };

/** Ends that decide nothing: the job went on, or had ended, without them. */
const idle = new Set(["superseded", "stopped", "unknown", "away"]);

/** How far the clocks of a worker and of the farm may be apart where a slot changes hands, in seconds. */
const slack = 0.05;

function stageOf(attempt) {
  return stages[kindOfLabel(attempt.label)];
}

/** When an attempt had its slot. */
export function beginOf(attempt) {
  return attempt.start + (attempt.phases?.[0] ?? 0);
}

/** When an attempt gave its slot up: its worker uploads a result without one. */
function slotFreedBy(attempt) {
  if (!attempt.phases) return attempt.end;
  const [wait, fetch, render] = attempt.phases;
  return Math.min(attempt.end, attempt.start + wait + fetch + render);
}

/** Whether what ended at a time comes after something else: of what ended together, what was granted last. */
function compareEnds(a, b) {
  return a.time - b.time || a.rank - b.rank;
}

/** What ends at some time, so that the last of it before another time is found fast. */
class Ends {
  /** @param {Map} ranks The attempts' places in the order of their grants. */
  constructor(attempts, ranks, timeOf) {
    this.list = attempts.map(attempt => ({ attempt, rank: ranks.get(attempt), time: timeOf(attempt) })).sort(compareEnds);
  }

  /** The last one that ends by a time, of those granted before a rank; null if there is none. */
  last(time, rank) {
    let [low, high] = [0, this.list.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.list[middle].time <= time) low = middle + 1;
      else high = middle;
    }
    for (let index = low - 1; index >= 0; index -= 1) {
      if (this.list[index].rank < rank) return this.list[index];
    }
    return null;
  }
}

/**
 * The critical path of a job, in the order of time. `from`: when the attempt had its slot. `to`: when the next one of
 * the path could begin, which is the attempt's end if that waited for its result, and else when its slot was free.
 * @param {object[]} attempts All that are known of the job, as an `AttemptLog` has them.
 * @returns {{ attempt, from: number, to: number }[]}
 */
export function criticalPath(attempts) {
  const ended = attempts.filter(attempt => attempt.end !== null);
  const decisive = ended.filter(attempt => !idle.has(attempt.outcome));
  if (decisive.length === 0) return [];
  const granted = [...attempts.keys()].sort((a, b) => attempts[a].start - attempts[b].start || a - b);
  const ranks = new Map(granted.map((index, rank) => [attempts[index], rank]));
  const ends = (list, timeOf) => new Map([...list].map(([key, group]) => [key, new Ends(group, ranks, timeOf)]));
  const byWorker = ends(Map.groupBy(ended, attempt => attempt.worker), slotFreedBy);
  const byStage = ends(Map.groupBy(decisive, stageOf), attempt => attempt.end);
  const byTask = ends(Map.groupBy(ended, attempt => attempt.ordinal), attempt => attempt.end);

  let { attempt } = new Ends(decisive, ranks, ended => ended.end).list.at(-1);
  let to = attempt.end;
  const path = [];
  while (attempt) {
    const rank = ranks.get(attempt);
    const from = Math.min(beginOf(attempt), to);
    path.push({ attempt, from, to });
    const found = [byWorker.get(attempt.worker)?.last(from + slack, rank)];
    for (let stage = 0; stage < stageOf(attempt); stage += 1) found.push(byStage.get(stage)?.last(attempt.start, rank));
    const again = byTask.get(attempt.ordinal)?.last(attempt.start, rank);
    if (again?.attempt.label === attempt.label) found.push(again);
    const before = found.filter(Boolean).sort(compareEnds).at(-1);
    attempt = before?.attempt ?? null;
    to = Math.min(before?.time ?? 0, from);
  }
  return path.reverse();
}

/**
 * Where the time of a path went, in seconds: in the phases of its attempts, in attempts whose phases are not known, and
 * between attempts.
 * @param {number} start When the job was submitted.
 */
export function pathTimes(path, start) {
  const times = { fetch: 0, render: 0, upload: 0, other: 0, between: 0 };
  let last = start;
  for (const { attempt, from, to } of path) {
    times.between += Math.max(0, from - last);
    last = to;
    if (!attempt.phases) {
      times.other += to - from;
      continue;
    }
    let rest = to - from;
    ["fetch", "render", "upload"].forEach((name, index) => {
      const seconds = Math.min(rest, attempt.phases[index + 1]);
      times[name] += seconds;
      rest -= seconds;
    });
    times.between += rest;
  }
  return times;
}
