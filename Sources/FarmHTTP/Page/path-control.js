// Chooses the job whose critical path the timeline marks, and says where its time went.

import { api } from "./api.js";
import { pathTimes } from "./critical-path.js";
import { element, reconcile, setHidden, setText } from "./dom.js";
import { counted, duration, isOpen } from "./format.js";
import { farm, now } from "./state.js";

/** The jobs that can be chosen, newest first, beside one that was asked for. */
const mostJobs = 50;

export class PathControl {
  /** @param {Timeline} timeline */
  constructor(timeline) {
    this.timeline = timeline;
    this.select = element("select", { "aria-label": "Critical path of a job" });
    this.select.addEventListener("change", () => this.choose(this.select.value || null));
    this.text = element("p.path", { role: "status", hidden: true });
    timeline.onJob = job => this.choose(job);
    this.update();
  }

  /** @param {string | null} job Null: no job stands out. */
  async choose(job, movesThere = false) {
    this.timeline.job = job;
    history.replaceState(null, "", job ? `#/?job=${encodeURIComponent(job)}` : "#/");
    this.update();
    this.timeline.draw();
    if (job === null) return;
    try {
      const { tasks } = await api.tasks(job);
      farm.log.learn(job, tasks);
    } catch {
      // It may be deleted: what its events say is shown.
    }
    if (this.timeline.job !== job) return;
    const path = this.timeline.path;
    if (movesThere && path.length > 0 && !isOpen(farm.jobs.get(job) ?? {})) {
      this.timeline.showRange(path[0].attempt.start, path.at(-1).attempt.end);
    }
    this.update();
    this.timeline.draw();
  }

  update() {
    const { job } = this.timeline;
    const state = `${farm.log.version} ${farm.jobsVersion} ${job}`;
    if (state === this.state) return;
    this.state = state;
    const ids = new Set();
    for (const attempt of farm.log.attempts) ids.add(attempt.job);
    const newest = [...ids].filter(id => farm.jobs.has(id)).reverse().slice(0, mostJobs);
    if (job !== null && !newest.includes(job)) newest.push(job);
    reconcile(this.select, ["", ...newest], id => id, id => element("option", { value: id }), (option, id) => {
      setText(option, id === "" ? "No critical path" : `Critical path of ${nameOf(id)}`);
    });
    this.select.value = job ?? "";
    setHidden(this.text, job === null);
    if (job !== null) setText(this.text, this.describe(job));
  }

  describe(id) {
    const { path } = this.timeline;
    if (path.length === 0) return `${nameOf(id)} has no attempts that have ended.`;
    const job = farm.jobs.get(id);
    const start = job ? Math.min(job.submittedAt, path[0].from) : path[0].from;
    const times = pathTimes(path, start);
    const words = { fetch: "fetching", render: "rendering", upload: "uploading", other: "in attempts", between: "between them" };
    const parts = Object.entries(words).filter(([key]) => times[key] >= 0.05)
      .map(([key, text]) => `${duration(times[key])} ${text}`);
    const soFar = job && isOpen(job) ? " so far" : "";
    const total = duration(Math.min(now(), path.at(-1).to) - start);
    return `Critical path of ${nameOf(id)}${soFar}: ${counted(path.length, "attempt")} in ${total}: ${parts.join(", ")}.`;
  }
}

function nameOf(id) {
  return farm.jobs.get(id)?.name || id;
}
