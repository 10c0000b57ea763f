// The tasks of one job, kept current by events, and read again where events do not say enough.

import { api } from "./api.js";

/** Between two readings. Those of many tasks are megabytes. */
const shortestPause = 1500;
const pauseOfManyTasks = 8000;
const manyTasks = 2000;

export class JobTasks {
  /** @param {(tasks: object[]) => void} onChange */
  constructor(job, onChange) {
    this.job = job;
    this.onChange = onChange;
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
      this.tasks = tasks;
      this.onChange(tasks);
      // The job's status counts the frames of video tasks alone: nothing else says how far another task is.
      if (tasks.some(task => task.state === "running" && task.kind !== "video")) this.loadSoon();
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
      else Object.assign(task, { state: "running", workerName: event.worker, done: 0, ranSeconds: 0 });
    } else if (task && event.event === "taskDone") {
      Object.assign(task, { state: "done", workerName: event.worker, done: task.work, secondWorkerName: undefined });
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
