// A notification of the browser when a job ends for which it was asked.

import { farm, onChange } from "./state.js";
import { isOpen } from "./format.js";

const key = "sheaf.notify";

function stored() {
  try {
    return new Set(JSON.parse(sessionStorage.getItem(key) ?? "[]"));
  } catch {
    return new Set();
  }
}

function store(jobs) {
  sessionStorage.setItem(key, JSON.stringify([...jobs]));
}

export function canNotify() {
  return "Notification" in window && Notification.permission !== "denied";
}

export function isWanted(job) {
  return stored().has(job);
}

/** Asks for the permission where it is not given. Returns whether the job's end will be notified. */
export async function toggleNotification(job) {
  const jobs = stored();
  if (jobs.delete(job)) {
    store(jobs);
    return false;
  }
  if (Notification.permission !== "granted" && await Notification.requestPermission() !== "granted") return false;
  jobs.add(job);
  store(jobs);
  return true;
}

export function startNotifications() {
  onChange(() => {
    const jobs = stored();
    if (jobs.size === 0) return;
    for (const id of [...jobs]) {
      const job = farm.jobs.get(id);
      if (!job || isOpen(job)) continue;
      jobs.delete(id);
      store(jobs);
      const notification = new Notification(`${job.name || id}: ${job.state}`, { tag: id, body: job.error ?? "" });
      notification.onclick = () => {
        window.focus();
        location.hash = `#/jobs/${id}`;
      };
    }
  });
}
