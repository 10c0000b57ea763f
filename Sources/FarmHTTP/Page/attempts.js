// What ran where and when, from the farm's events: one attempt is one bar of the timeline.

const mostAttempts = 20_000;

/** The phases of an attempt, in their order from its grant. */
export const phaseNames = ["wait", "fetch", "render", "upload"];

/**
 * How long each phase of an attempt took, in seconds in the order of `phaseNames`; null if its worker did not say.
 * @param report An event, or the usage of an attempt.
 */
export function phasesOf(report) {
  const seconds = phaseNames.map(name => report?.[`${name}Seconds`]);
  return seconds.every(Number.isFinite) ? seconds.map(number => Math.max(0, number)) : null;
}

/**
 * An attempt: `worker` is the id of its worker, as names need not differ. `start` and `end` are in seconds since 1970;
 * `end` is null while it runs. `lane` is the row among those of its worker. `isBackup`: it was granted while another
 * attempt of the task ran. `phases`: what it spent its time on, as `phasesOf` says.
 */
export class AttemptLog {
  constructor() {
    this.attempts = [];
    this.open = new Map();
    /** By id: `{ id, name, lanes, pauses: [{ start, end, reason }], isAway }`. */
    this.workers = new Map();
    this.doneTimes = [];
    /** Another number after each change. */
    this.version = 0;
  }

  worker(id, name = id) {
    let found = this.workers.get(id);
    if (!found) {
      found = { id, name, lanes: [], pauses: [], isAway: false };
      this.workers.set(id, found);
    }
    return found;
  }

  /** The worker that an event is about. */
  workerOf(event) {
    return this.worker(event.workerID ?? event.worker, event.name);
  }

  openOf(job, ordinal) {
    return this.open.get(`${job}/${ordinal}`) ?? [];
  }

  begin(event, start) {
    this.version += 1;
    const key = `${event.job}/${event.ordinal}`;
    const running = this.openOf(event.job, event.ordinal);
    const worker = this.worker(event.workerID, event.worker);
    let lane = worker.lanes.findIndex(taken => taken === null);
    if (lane < 0) lane = worker.lanes.push(null) - 1;
    const attempt = {
      job: event.job, ordinal: event.ordinal, epoch: event.epoch, label: event.label ?? "", worker: worker.id,
      workerName: worker.name, start, end: null, outcome: "running", reason: null, lane, phases: null,
      isBackup: running.some(other => other.worker !== worker.id),
    };
    worker.lanes[lane] = attempt;
    this.attempts.push(attempt);
    this.open.set(key, [...running, attempt]);
    if (this.attempts.length > mostAttempts) this.attempts.splice(0, mostAttempts / 10);
    return attempt;
  }

  finish(attempt, end, outcome, reason = null) {
    this.version += 1;
    attempt.end = Math.max(attempt.start, end);
    attempt.outcome = outcome;
    attempt.reason = reason;
    const worker = this.worker(attempt.worker);
    if (worker.lanes[attempt.lane] === attempt) worker.lanes[attempt.lane] = null;
    const key = `${attempt.job}/${attempt.ordinal}`;
    const rest = this.openOf(attempt.job, attempt.ordinal).filter(other => other !== attempt);
    if (rest.length > 0) this.open.set(key, rest);
    else this.open.delete(key);
  }

  /** The attempt that an event is about, which is made if its beginning was not seen. */
  ended(event) {
    const known = this.openOf(event.job, event.ordinal).find(attempt => attempt.worker === event.workerID);
    const attempt = known ?? (event.seconds === undefined ? null : this.begin(event, event.time - event.seconds));
    if (attempt) attempt.phases = phasesOf(event);
    return attempt;
  }

  apply(event) {
    const time = event.time;
    switch (event.event) {
      case "taskGranted": {
        const running = this.openOf(event.job, event.ordinal);
        for (const attempt of running.filter(other => other.outcome === "away" || other.worker === event.workerID)) {
          this.finish(attempt, attempt.end ?? time, attempt.outcome === "away" ? "away" : "expired");
        }
        this.begin(event, time);
        break;
      }
      case "taskDone": {
        const attempt = this.ended(event);
        if (attempt) this.finish(attempt, time, "done");
        for (const other of this.openOf(event.job, event.ordinal)) this.finish(other, time, "superseded");
        this.doneTimes.push(time);
        if (this.doneTimes.length > 5000) this.doneTimes.splice(0, 1000);
        break;
      }
      case "taskCompared": {
        const attempt = this.ended(event);
        if (attempt) this.finish(attempt, time, "done");
        break;
      }
      case "taskFailed": {
        const attempt = this.ended(event);
        // The lease of a worker that is away has run out: it has not worked since it was lost.
        if (attempt?.outcome === "away") this.finish(attempt, attempt.end ?? time, "away", event.reason ?? null);
        else if (attempt) this.finish(attempt, time, event.end ?? "failed", event.reason ?? null);
        break;
      }
      case "jobReplanned":
      case "jobEnded":
      case "jobDeleted":
        for (const attempt of this.runningOf(event.job)) this.finish(attempt, attempt.end ?? time, "stopped");
        break;
      case "workerConnected": this.connected(this.workerOf(event)); break;
      case "workerDisconnected": this.disconnected(this.workerOf(event), time); break;
      case "workerPaused":
        this.workerOf(event).pauses.push({ start: time, end: null, reason: event.reason ?? "" });
        break;
      case "workerResumed": this.endPause(this.workerOf(event), time); break;
    }
  }

  runningOf(job) {
    return [...this.open.values()].flat().filter(attempt => attempt.job === job);
  }

  /** Its tasks may go on: a worker that comes back in time reports them. Until then their bars do not grow. */
  disconnected(worker, time) {
    worker.isAway = true;
    this.endPause(worker, time);
    worker.lanes.forEach((attempt, lane) => {
      if (!attempt) return;
      attempt.end = time;
      attempt.outcome = "away";
      worker.lanes[lane] = null;
    });
  }

  /** A program that was started anew has another id, and has nothing of what ran before. */
  connected(worker) {
    if (!worker.isAway) return;
    worker.isAway = false;
    for (const attempt of [...this.open.values()].flat()) {
      if (attempt.worker !== worker.id || attempt.outcome !== "away") continue;
      attempt.end = null;
      attempt.outcome = "running";
      worker.lanes[attempt.lane] ??= attempt;
    }
  }

  endPause(worker, time) {
    const pause = worker.pauses.at(-1);
    if (pause && pause.end === null) pause.end = time;
  }

  /** The tasks of a job as the coordinator has them: adds what runs unseen, and ends what does not run any more. */
  agree(job, tasks, time) {
    const running = new Map();
    for (const task of tasks) {
      if (task.state !== "running" || !task.worker) continue;
      running.set(task.ordinal, task);
      if (this.openOf(job, task.ordinal).length > 0) continue;
      const { ordinal, epoch, label, worker, workerName = worker } = task;
      this.begin({ job, ordinal, epoch, label, workerID: worker, worker: workerName }, time - task.ranSeconds);
    }
    for (const attempt of this.runningOf(job)) {
      if (!running.has(attempt.ordinal)) this.finish(attempt, attempt.end ?? time, "unknown");
    }
  }

  /** Adds the attempts of a job that have ended and were not seen, as its tasks tell of them. */
  learn(job, tasks) {
    const known = new Set(this.attempts.filter(attempt => attempt.job === job).map(placeOf));
    const learnt = tasks.filter(task => !task.cached).flatMap(endedAttempts).filter(attempt => !known.has(placeOf(attempt)))
      .sort((a, b) => a.start - b.start);
    const byWorker = Map.groupBy(this.attempts, attempt => attempt.worker);
    for (const attempt of learnt) {
      this.version += 1;
      this.worker(attempt.worker, attempt.workerName);
      if (!byWorker.has(attempt.worker)) byWorker.set(attempt.worker, []);
      const others = byWorker.get(attempt.worker);
      this.attempts.push(Object.assign(attempt, { job, lane: freeLane(attempt, others) }));
      others.push(attempt);
    }
  }

  /** Begins anew with what the coordinator remembers, and keeps what was seen before that. */
  restart(history) {
    const first = history[0]?.time ?? Infinity;
    const kept = this.attempts.filter(attempt => attempt.start < first - 0.001);
    const known = [...this.workers.values()];
    Object.assign(this, new AttemptLog(), { version: this.version + 1 });
    for (const { id, name, pauses } of known) {
      const before = pauses.filter(pause => pause.start < first - 0.001);
      if (before.length > 0) this.worker(id, name).pauses = before;
    }
    for (const attempt of kept) {
      this.attempts.push(attempt);
      if (attempt.end !== null && attempt.outcome !== "away") continue;
      const lanes = this.worker(attempt.worker, attempt.workerName).lanes;
      while (lanes.length <= attempt.lane) lanes.push(null);
      if (attempt.end === null) lanes[attempt.lane] = attempt;
      const key = `${attempt.job}/${attempt.ordinal}`;
      this.open.set(key, [...(this.open.get(key) ?? []), attempt]);
    }
    for (const event of history) this.apply(event);
  }

  /** How many tasks were done in the last minute. */
  doneSince(time) {
    let number = 0;
    for (let index = this.doneTimes.length - 1; index >= 0 && this.doneTimes[index] > time; index -= 1) number += 1;
    return number;
  }
}

/** The first lane in which nothing else of its worker ran meanwhile. */
function freeLane({ start, end }, others) {
  const taken = new Set();
  for (const other of others) if (other.start < end && (other.end ?? Infinity) > start) taken.add(other.lane);
  let lane = 0;
  while (taken.has(lane)) lane += 1;
  return lane;
}

/** An attempt among those of its job. */
function placeOf({ ordinal, epoch }) {
  return `${ordinal}/${epoch}`;
}

/** The attempts at a task that have ended, and at known times. */
function endedAttempts(task) {
  const result = task.state === "done" && task.worker ? [{ ...task, end: "done", message: null }] : [];
  return [...task.attempts, ...result].filter(attempt => attempt.endedAt).map(attempt => {
    const end = Date.parse(attempt.endedAt) / 1000;
    return {
      ordinal: task.ordinal, epoch: attempt.epoch, label: task.label ?? "", worker: attempt.worker,
      workerName: attempt.workerName ?? attempt.worker, start: end - attempt.ranSeconds, end, outcome: attempt.end,
      reason: attempt.message, phases: phasesOf(attempt.usage), isBackup: false,
    };
  });
}
