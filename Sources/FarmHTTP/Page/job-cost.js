// What each worker did for a job, and what that took.

import { element, reconcile, setHidden, setText } from "./dom.js";
import { bytes, count, duration, rate } from "./format.js";
import { workerLabel } from "./state.js";

const columns = ["Worker", "Tasks", "Frames", "Slot time", "Frames a second", "CPU", "Fetched", "Sent", "Peak memory",
  "Lost in failures"];

export class CostTable {
  constructor() {
    this.body = element("tbody");
    this.total = element("tr.total", { hidden: true }, element("th", { scope: "row", text: "All" }), makeCells());
    this.table = element("table", {}, element("thead", {}, element("tr", {}, columns
      .map((text, index) => element(index > 0 ? "th.number" : "th", { scope: "col", text })))),
    this.body, element("tfoot", {}, this.total));
    this.node = element("section.panel", { "aria-labelledby": "cost-title", hidden: true },
      element("div.panel-head", {}, element("h2", { id: "cost-title", text: "Cost by worker" })),
      element("div.scroll", { tabindex: "0", role: "group", "aria-labelledby": "cost-title" }, this.table));
  }

  /** @param {object} [usage] The job's: what the attempts took of their workers, as far as those have measured it. */
  set(tasks, usage) {
    const workers = new Map();
    const of = (id, name) => {
      if (!workers.has(id)) workers.set(id, { id, name: name ?? id, tasks: 0, frames: 0, seconds: 0, video: 0, lost: 0 });
      return workers.get(id);
    };
    for (const task of tasks) {
      if (task.cached) continue;
      for (const attempt of task.attempts) of(attempt.worker, attempt.workerName).lost += attempt.ranSeconds;
      if (task.state !== "done" || !task.worker) continue;
      const worker = of(task.worker, task.workerName);
      worker.tasks += 1;
      worker.seconds += task.ranSeconds;
      if (task.kind !== "video") continue;
      worker.frames += task.work;
      worker.video += task.ranSeconds;
    }
    for (const used of usage?.workers ?? []) of(used.worker, used.workerName).usage = used.usage;
    const rows = [...workers.values()].sort((a, b) => a.name.localeCompare(b.name) || (a.id < b.id ? -1 : 1));
    setHidden(this.node, rows.length === 0);
    // Workers may not have measured what the attempts took.
    this.table.classList.toggle("bare", !usage);
    reconcile(
      this.body, rows, worker => worker.id, () => element("tr", {}, element("th", { scope: "row" }), makeCells()),
      (row, worker) => {
        setText(row.firstElementChild, workerLabel(worker.id, worker.name));
        row.firstElementChild.title = `id ${worker.id}`;
        fillRow(row, worker);
      });
    setHidden(this.total, rows.length < 2);
    if (rows.length < 2) return;
    const sum = { usage: usage?.total };
    for (const key of ["tasks", "frames", "seconds", "video", "lost"]) sum[key] = rows.reduce((all, row) => all + row[key], 0);
    fillRow(this.total, sum);
  }
}

function makeCells() {
  return Array.from({ length: columns.length - 1 }, () => element("td.number"));
}

function fillRow(row, { tasks, frames, seconds, video, lost, usage }) {
  [
    count(tasks), count(frames), duration(seconds), video > 0 ? rate(frames / video) : "–",
    usage ? duration(usage.cpuSeconds) : "–", usage ? bytes(usage.fetchedBytes) : "–",
    usage ? bytes(usage.uploadedBytes) : "–", usage?.peakBytes ? bytes(usage.peakBytes) : "–",
    lost > 0 ? duration(lost) : "–",
  ].forEach((text, index) => setText(row.children[index + 1], text));
}
