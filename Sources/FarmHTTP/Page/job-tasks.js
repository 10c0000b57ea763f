// The tasks of a job: a list, the attempts of one with the ends of their logs, and what each worker did.

import { element, reconcile, setHidden, setText } from "./dom.js";
import { bytes, count, duration, endWords, rate } from "./format.js";
import { VirtualList } from "./virtual-list.js";

const filters = [
  ["all", "All", () => true],
  ["running", "Running", task => task.state === "running"],
  ["failures", "With failures", task => task.attempts.length > 0 || task.state === "failed"],
  ["waiting", "Waiting", task => task.state === "waiting" || task.state === "ready"],
];

export class TaskTable {
  constructor() {
    this.tasks = [];
    this.filter = "all";
    this.chosen = null;
    this.buttons = filters.map(([name, text]) => element("button", {
      type: "button", text, "aria-pressed": name === this.filter, onclick: () => this.choose(name),
    }));
    this.list = new VirtualList({ height: 30, label: "Tasks", make: () => this.make(), fill: (row, task) => this.fill(row, task) });
    this.list.node.classList.add("tasks");
    this.empty = element("p.empty", { hidden: true });
    this.detail = element("div.task-detail", { hidden: true, "aria-live": "polite" });
    const head = element("div.task-row.head", { "aria-hidden": "true" },
      ["Task", "State", "Worker", "Progress", "Time", "Failures"].map(text => element("span", { text })));
    this.node = element("section.panel", { "aria-labelledby": "tasks-title" },
      element("div.panel-head", {}, element("h2", { id: "tasks-title", text: "Tasks" }),
        element("div.tools", {}, element("div.group", { role: "group", "aria-label": "Which tasks" }, this.buttons))),
      head, this.list.node, this.empty, this.detail);
  }

  end() { this.list.end(); }

  choose(name) {
    this.filter = name;
    this.buttons.forEach((button, index) => button.setAttribute("aria-pressed", filters[index][0] === name));
    this.set(this.tasks);
  }

  set(tasks) {
    this.tasks = tasks;
    const shown = tasks.filter(filters.find(([name]) => name === this.filter)[2]);
    this.list.node.style.height = `${Math.min(12, Math.max(1, shown.length)) * 30}px`;
    this.list.set(shown);
    setHidden(this.list.node, shown.length === 0);
    setHidden(this.empty, shown.length > 0);
    setText(this.empty, tasks.length === 0 ? "No tasks yet." : "No such tasks.");
    if (this.chosen !== null) this.showDetail(tasks.find(task => task.ordinal === this.chosen));
  }

  make() {
    const open = element("button.link", { type: "button" });
    const row = element("div.task-row", {}, element("span.label", {}, open), element("span.state"), element("span"),
      element("span.number"), element("span.number"), element("span.number"));
    open.addEventListener("click", () => this.open(Number(row.dataset.ordinal)));
    return row;
  }

  fill(row, task) {
    const [label, state, worker, made, time, failures] = row.children;
    row.dataset.ordinal = task.ordinal;
    setText(label.firstElementChild, task.label ?? `task ${task.ordinal}`);
    label.title = task.label ?? "";
    setText(state, task.cached ? "known" : task.state);
    state.dataset.state = task.cached ? "cached" : task.state;
    const second = task.secondWorkerName ? ` + ${task.secondWorkerName}` : "";
    setText(worker, task.cached ? "" : `${task.workerName ?? ""}${second}`);
    worker.title = worker.textContent;
    setText(made, task.work > 0 && task.state === "running" ? `${count(task.done)} / ${count(task.work)}` : "");
    setText(time, task.ranSeconds > 0 && !task.cached ? duration(task.ranSeconds) : "");
    setText(failures, task.attempts.length > 0 ? count(task.attempts.length) : "");
    failures.classList.toggle("bad", task.attempts.length > 0);
  }

  /** Shows the attempts of a task. */
  open(ordinal) {
    this.chosen = ordinal;
    this.shown = null;
    this.showDetail(this.tasks.find(task => task.ordinal === ordinal));
    this.detail.scrollIntoView({ block: "nearest" });
  }

  showDetail(task) {
    setHidden(this.detail, !task);
    const key = JSON.stringify(task);
    if (!task || key === this.shown) return;
    this.shown = key;
    const attempts = task.attempts.map(attempt => element("li", {},
      element("p", {}, element("strong", { text: endWords(attempt.end) }),
        ` on ${attempt.workerName ?? attempt.worker} after ${duration(attempt.ranSeconds)}`,
        attempt.cpuSeconds === undefined ? "" : `, ${duration(attempt.cpuSeconds)} of CPU`,
        attempt.peakBytes ? `, ${bytes(attempt.peakBytes)} of memory at most` : "",
        attempt.signal ? `, signal ${attempt.signal}` : attempt.exitCode ? `, exit code ${attempt.exitCode}` : ""),
      element("p", { text: attempt.message }),
      attempt.log ? element("pre", { text: attempt.log, tabindex: "0", "aria-label": "End of the log" }) : null));
    const where = task.workerName ? ` on ${task.workerName}` : "";
    this.detail.replaceChildren(
      element("div.panel-head", {}, element("h3", { text: task.label ?? `Task ${task.ordinal}` }),
        element("button", { type: "button", text: "Close", onclick: () => { this.chosen = null; setHidden(this.detail, true); } })),
      element("p.dim", {
        text: task.cached ? "Its result was known, so it did not run."
          : `${task.state}${where}${task.ranSeconds > 0 ? `, ${duration(task.ranSeconds)}` : ""}, epoch ${task.epoch}`,
      }),
      attempts.length > 0 ? element("ol.attempts", {}, attempts) : element("p.empty", { text: "No attempt has failed." }));
  }
}

/** What each worker did for a job, as far as its tasks say it. */
export class CostTable {
  constructor() {
    this.body = element("tbody");
    this.node = element("section.panel", { "aria-labelledby": "cost-title", hidden: true },
      element("div.panel-head", {}, element("h2", { id: "cost-title", text: "Cost by worker" })),
      element("div.scroll", { tabindex: "0", role: "group", "aria-labelledby": "cost-title" }, element("table", {},
        element("thead", {}, element("tr", {}, ["Worker", "Tasks", "Frames", "Slot time", "Frames a second", "Lost in failures"]
          .map((text, index) => element(index > 0 ? "th.number" : "th", { scope: "col", text })))),
        this.body)));
  }

  set(tasks) {
    const workers = new Map();
    const of = name => {
      if (!workers.has(name)) workers.set(name, { name, tasks: 0, frames: 0, seconds: 0, video: 0, lost: 0 });
      return workers.get(name);
    };
    for (const task of tasks) {
      if (task.cached) continue;
      for (const attempt of task.attempts) of(attempt.workerName ?? attempt.worker).lost += attempt.ranSeconds;
      if (task.state !== "done" || !task.workerName) continue;
      const worker = of(task.workerName);
      worker.tasks += 1;
      worker.seconds += task.ranSeconds;
      if (task.kind !== "video") continue;
      worker.frames += task.work;
      worker.video += task.ranSeconds;
    }
    setHidden(this.node, workers.size === 0);
    reconcile(
      this.body, [...workers.values()].sort((a, b) => a.name.localeCompare(b.name)), worker => worker.name,
      worker => element("tr", {}, element("th", { scope: "row", text: worker.name }),
        Array.from({ length: 5 }, () => element("td.number"))),
      (row, worker) => {
        const cells = [count(worker.tasks), count(worker.frames), duration(worker.seconds),
          worker.video > 0 ? rate(worker.frames / worker.video) : "–", worker.lost > 0 ? duration(worker.lost) : "–"];
        cells.forEach((text, index) => setText(row.children[index + 1], text));
      });
  }
}
