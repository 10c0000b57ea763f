// The state of the farm as this page knows it, kept current by the stream of events.

import { api } from "./api.js";
import { AttemptLog } from "./attempts.js";
import { atNextFrame } from "./dom.js";
import { isOpen, shortID } from "./format.js";
import { RateMeter } from "./estimate.js";
import { followFarm } from "./stream.js";

const mostHappenings = 500;

export const farm = {
  /** By id. Each has `submittedAt`, in seconds since 1970, and `heardAt`. */
  jobs: new Map(),
  /** Another number when there are other jobs, or one has another state or name. */
  jobsVersion: 0,
  workers: [],
  notices: [],
  log: new AttemptLog(),
  frames: new RateMeter(),
  /** The newest events but grants and results, oldest first. */
  happenings: [],
  isConnected: false,
  hasState: false,
  /** Why there is no connection. */
  reason: null,
  /** When something came last, in milliseconds since 1970. */
  heardAt: 0,
  /** The coordinator's clock less this machine's, in seconds. */
  skew: 0,
};

/** The coordinator's time, in seconds since 1970. */
export function now() {
  return Date.now() / 1000 + farm.skew;
}

const listeners = new Set();
const eventListeners = new Set();
const notify = atNextFrame(() => {
  for (const listener of [...listeners]) listener();
});

/** Calls a function after changes, at most once a frame. Returns what ends that. */
export function onChange(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Calls a function for each event that happens, and with null when everything begins anew. */
export function onFarmEvent(listener) {
  eventListeners.add(listener);
  return () => eventListeners.delete(listener);
}

/** Takes the status of a job, from the stream or from a reply. */
export function takeJob(status) {
  const known = farm.jobs.get(status.job);
  const time = now();
  status.heardAt = time;
  const submittedAt = Date.parse(status.submittedAt) / 1000;
  status.submittedAt = Number.isFinite(submittedAt) ? submittedAt : known?.submittedAt ?? time - status.submittedSecondsAgo;
  // An event of a list has no damage, warnings, outputs and usage; those of the job itself are kept.
  if (known && known.state === status.state) {
    if (known.film && !status.film) status.film = known.film;
    for (const key of ["damage", "warnings", "losses"]) {
      if (status[key].length === 0 && known[key].length > 0) status[key] = known[key];
    }
    if (known.outputs && !status.outputs) status.outputs = known.outputs;
    if (known.usage && !status.usage) status.usage = known.usage;
  }
  if (known && status.framesDone > known.framesDone) farm.frames.add(time, status.framesDone - known.framesDone);
  farm.jobs.set(status.job, status);
  if (known?.state !== status.state || known.name !== status.name) farm.jobsVersion += 1;
  return status;
}

/** What a worker is called: its name, and the beginning of its id where two connected ones have the same. */
export function workerLabel(id, name) {
  const namesakes = farm.workers.filter(worker => worker.name === name);
  return namesakes.length > 1 && namesakes.some(worker => worker.id === id) ? `${name} ${shortID(id)}` : name;
}

export function forgetJob(job) {
  if (farm.jobs.delete(job)) farm.jobsVersion += 1;
  notify();
}

/** Grants and results are the timeline's: they would hide the others. */
function isTold(event) {
  return !["taskGranted", "taskDone", "taskCompared"].includes(event.event);
}

function reset(snapshot) {
  if (snapshot.time) farm.skew = snapshot.time - Date.now() / 1000;
  const history = snapshot.history ?? [];
  farm.jobs = new Map();
  farm.jobsVersion += 1;
  for (const job of snapshot.jobs) takeJob(job);
  farm.workers = snapshot.workers;
  farm.notices = snapshot.notices;
  farm.log.restart(history);
  farm.happenings = history.filter(isTold).slice(-mostHappenings);
  farm.hasState = true;
  for (const listener of eventListeners) listener(null);
  learnRunning();
}

/** What runs since before the coordinator's memory begins. */
async function learnRunning() {
  const running = [...farm.jobs.values()].filter(job => isOpen(job) && job.running > 0).slice(0, 8);
  const known = new Set([...farm.log.open.values()].flat().map(attempt => attempt.job));
  const jobs = new Set([...running.map(job => job.job), ...known]);
  for (const job of jobs) {
    try {
      const { tasks } = await api.tasks(job);
      farm.log.agree(job, tasks, now());
      notify();
    } catch {
      // It may be gone; the timeline then shows what the events say.
    }
  }
}

function take(name, value) {
  switch (name) {
    case "reset": reset(value); break;
    case "job": takeJob(value); break;
    case "deleted": forgetJob(value.job); break;
    case "workers":
      farm.workers = value.workers;
      farm.notices = value.notices;
      break;
    case "event": {
      const event = { time: now(), ...value };
      farm.log.apply(event);
      if (event.event === "jobDeleted") forgetJob(event.job);
      if (isTold(event)) farm.happenings.push(event);
      if (farm.happenings.length > mostHappenings * 1.2) farm.happenings.splice(0, mostHappenings / 5);
      for (const listener of eventListeners) listener(event);
      break;
    }
  }
  notify();
}

export function startFarm() {
  followFarm(take, (isConnected, reason) => {
    if (farm.isConnected === isConnected && farm.reason === reason) return;
    farm.isConnected = isConnected;
    farm.reason = reason;
    notify();
  }, () => {
    farm.heardAt = Date.now();
  });
}
