// What ran where and when, from the farm's events: one attempt is one bar of the timeline.

const mostAttempts = 20_000;

/**
 * An attempt: `start` and `end` are in seconds since 1970; `end` is null while it runs. `lane` is the row among those
 * of its worker. `isBackup`: it was granted while another attempt of the task ran.
 */
export class AttemptLog {
  constructor() {
    this.attempts = [];
    this.open = new Map();
    /** By name: `{ lanes, pauses: [{ start, end, reason }], isAway, awayID }`. */
    this.workers = new Map();
    this.doneTimes = [];
  }

  worker(name) {
    let found = this.workers.get(name);
    if (!found) {
      found = { name, lanes: [], pauses: [], isAway: false, awayID: null };
      this.workers.set(name, found);
    }
    return found;
  }

  openOf(job, ordinal) {
    return this.open.get(`${job}/${ordinal}`) ?? [];
  }

  begin(event, start) {
    const key = `${event.job}/${event.ordinal}`;
    const running = this.openOf(event.job, event.ordinal);
    const worker = this.worker(event.worker);
    let lane = worker.lanes.findIndex(taken => taken === null);
    if (lane < 0) lane = worker.lanes.push(null) - 1;
    const attempt = {
      job: event.job, ordinal: event.ordinal, label: event.label ?? "", worker: event.worker, start, end: null,
      outcome: "running", reason: null, lane, isBackup: running.some(other => other.worker !== event.worker),
    };
    worker.lanes[lane] = attempt;
    this.attempts.push(attempt);
    this.open.set(key, [...running, attempt]);
    if (this.attempts.length > mostAttempts) this.attempts.splice(0, mostAttempts / 10);
    return attempt;
  }

  finish(attempt, end, outcome, reason = null) {
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
    const known = this.openOf(event.job, event.ordinal).find(attempt => attempt.worker === event.worker);
    if (known) return known;
    return event.seconds === undefined ? null : this.begin(event, event.time - event.seconds);
  }

  apply(event) {
    const time = event.time;
    switch (event.event) {
      case "taskGranted": {
        const running = this.openOf(event.job, event.ordinal);
        for (const attempt of running.filter(other => other.outcome === "away" || other.worker === event.worker)) {
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
      case "taskFailed": {
        const attempt = this.ended(event);
        // The lease of a worker that is away has run out: it has not worked since it was lost.
        if (attempt?.outcome === "away") this.finish(attempt, attempt.end ?? time, "away", event.reason ?? null);
        else if (attempt) this.finish(attempt, time, event.end ?? "failed", event.reason ?? null);
        break;
      }
      case "jobEnded":
      case "jobDeleted":
        for (const attempt of this.runningOf(event.job)) this.finish(attempt, attempt.end ?? time, "stopped");
        break;
      case "workerConnected": this.connected(event.name, event.worker); break;
      case "workerDisconnected": this.disconnected(event.name, event.worker, time); break;
      case "workerPaused":
        this.worker(event.name).pauses.push({ start: time, end: null, reason: event.reason ?? "" });
        break;
      case "workerResumed": this.endPause(event.name, time); break;
    }
  }

  runningOf(job) {
    return [...this.open.values()].flat().filter(attempt => attempt.job === job);
  }

  /** Its tasks may go on: a worker that comes back in time reports them. Until then their bars do not grow. */
  disconnected(name, id, time) {
    const worker = this.worker(name);
    worker.isAway = true;
    worker.awayID = id;
    this.endPause(name, time);
    worker.lanes.forEach((attempt, lane) => {
      if (!attempt) return;
      attempt.end = time;
      attempt.outcome = "away";
      worker.lanes[lane] = null;
    });
  }

  /** @param {string} id A program that was started anew has another one, and has nothing of what ran before. */
  connected(name, id) {
    const worker = this.worker(name);
    worker.isAway = false;
    if (worker.awayID !== id) return;
    for (const attempt of [...this.open.values()].flat()) {
      if (attempt.worker !== name || attempt.outcome !== "away") continue;
      attempt.end = null;
      attempt.outcome = "running";
      worker.lanes[attempt.lane] ??= attempt;
    }
  }

  endPause(name, time) {
    const pause = this.worker(name).pauses.at(-1);
    if (pause && pause.end === null) pause.end = time;
  }

  /** The tasks of a job as the coordinator has them: adds what runs unseen, and ends what does not run any more. */
  agree(job, tasks, time) {
    const running = new Map();
    for (const task of tasks) {
      if (task.state !== "running" || !task.workerName) continue;
      running.set(task.ordinal, task);
      if (this.openOf(job, task.ordinal).length > 0) continue;
      this.begin({ job, ordinal: task.ordinal, label: task.label, worker: task.workerName }, time - task.ranSeconds);
    }
    for (const attempt of this.runningOf(job)) {
      if (!running.has(attempt.ordinal)) this.finish(attempt, attempt.end ?? time, "unknown");
    }
  }

  /** Begins anew with what the coordinator remembers, and keeps what was seen before that. */
  restart(history) {
    const first = history[0]?.time ?? Infinity;
    const kept = this.attempts.filter(attempt => attempt.start < first - 0.001);
    const pauses = new Map([...this.workers].map(([name, worker]) =>
      [name, worker.pauses.filter(pause => pause.start < first - 0.001)]));
    Object.assign(this, new AttemptLog());
    for (const [name, list] of pauses) this.worker(name).pauses = list;
    for (const attempt of kept) {
      this.attempts.push(attempt);
      if (attempt.end !== null && attempt.outcome !== "away") continue;
      const lanes = this.worker(attempt.worker).lanes;
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
