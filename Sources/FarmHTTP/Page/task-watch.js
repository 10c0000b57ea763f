// The tasks of one job, kept current by events, and read again where events do not say enough.

import { api } from "./api.js";
import { now } from "./state.js";

/** Between two readings. Those of many tasks are megabytes. */
const shortestPause = 1500;
const pauseOfManyTasks = 8000;
const manyTasks = 2000;

export class JobTasks {
  /**
   * @param {(tasks: object[]) => void} onChange
   * @param {() => void} onRead They were read again.
   */
  constructor(job, onChange, onRead = () => {}) {
    this.job = job;
    this.onChange = onChange;
    this.onRead = onRead;
    this.tasks = [];
    this.readAt = 0;
    this.timer = null;
    this.hasEnded = false;
  }

  end() {
    this.hasEnded = true;
    clearTimeout(this.timer);
  }

  async load() {
    clearTimeout(this.timer);
    this.timer = null;
    this.readAt = Date.now();
    try {
      const { tasks } = await api.tasks(this.job);
      if (this.hasEnded) return;
      for (const task of tasks) if (task.state === "running") task.startedAt = now() - task.ranSeconds;
      this.tasks = tasks;
      this.onChange(tasks);
      this.onRead();
    } catch {
      // What is shown stays; the next event reads again.
    }
  }

  /** Reads again, but not within the pause after the last reading. */
  loadSoon() {
    if (this.timer !== null || this.hasEnded) return;
    const pause = this.tasks.length > manyTasks ? pauseOfManyTasks : shortestPause;
    this.timer = setTimeout(() => this.load(), Math.max(0, this.readAt + pause - Date.now()));
  }

  /** An event of the job. */
  take(event) {
    const task = event.ordinal === undefined ? null : this.tasks[event.ordinal]?.ordinal === event.ordinal
      ? this.tasks[event.ordinal] : this.tasks.find(candidate => candidate.ordinal === event.ordinal);
    if (task && event.event === "taskGranted") {
      if (task.state === "running") task.secondWorkerName = event.worker;
      else {
        Object.assign(task, {
          state: "running", worker: event.workerID, workerName: event.worker, done: 0, ranSeconds: 0, startedAt: event.time,
        });
      }
    } else if (task && event.event === "taskDone") {
      Object.assign(task, {
        state: "done", worker: event.workerID, workerName: event.worker, done: task.work, secondWorkerName: undefined,
      });
      if (event.seconds !== undefined) task.ranSeconds = event.seconds;
    }
    if (task) this.show();
    this.loadSoon();
  }

  /** Several events of one moment are shown together. */
  show() {
    if (this.shows) return;
    this.shows = true;
    setTimeout(() => {
      this.shows = false;
      if (!this.hasEnded) this.onChange(this.tasks);
    }, 100);
  }
}
