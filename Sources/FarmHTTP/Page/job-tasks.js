// The tasks of a job: a list, and the attempts of one with what they took and the ends of their logs.

import { element, reconcile, setHidden, setText } from "./dom.js";
import { bytes, count, duration, endWords, exactTime, localTime, usageTexts } from "./format.js";
import { now } from "./state.js";
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
    this.node = element("section.panel.tasks-panel", { "aria-labelledby": "tasks-title" },
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
    const most = Math.max(12, Math.round(window.innerHeight / 75));
    this.list.node.style.height = `${Math.min(most, Math.max(1, shown.length)) * 30}px`;
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
    // Only of video tasks do events tell that they have gone on.
    const isKnown = task.work > 0 && task.state === "running" && task.kind === "video";
    setText(made, isKnown ? `${count(task.done)} / ${count(task.work)}` : "");
    const seconds = task.state === "running" ? now() - task.startedAt : task.ranSeconds;
    setText(time, seconds > 0 && !task.cached ? duration(seconds) : "");
    setText(failures, task.attempts.length > 0 ? count(task.attempts.length) : "");
    failures.classList.toggle("bad", task.attempts.length > 0);
  }

  /** The time of what runs goes on. */
  tick() {
    if (this.tasks.some(task => task.state === "running")) this.list.place(true);
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
        attempt.usage || attempt.cpuSeconds === undefined ? "" : `, ${duration(attempt.cpuSeconds)} of CPU`,
        attempt.usage || !attempt.peakBytes ? "" : `, ${bytes(attempt.peakBytes)} of memory at most`,
        attempt.signal ? `, signal ${attempt.signal}` : attempt.exitCode ? `, exit code ${attempt.exitCode}` : "",
        attempt.endedAt ? momentOf(", ended ", attempt.endedAt) : ""),
      element("p", { text: attempt.message }), usageList(attempt.usage),
      attempt.log ? element("pre", { text: attempt.log, tabindex: "0", "aria-label": "End of the log" }) : null));
    const where = task.workerName ? ` on ${task.workerName}` : "";
    this.detail.replaceChildren(...[
      element("div.panel-head", {}, element("h3", { text: task.label ?? `Task ${task.ordinal}` }),
        element("button", { type: "button", text: "Close", onclick: () => { this.chosen = null; setHidden(this.detail, true); } })),
      element("p.dim", {
        text: task.cached ? "Its result was known, so it did not run."
          : `${task.state}${where}${task.ranSeconds > 0 ? `, ${duration(task.ranSeconds)}` : ""}, epoch ${task.epoch}`,
      }, !task.cached && task.grantedAt ? momentOf(", granted ", task.grantedAt) : "",
      !task.cached && task.endedAt ? momentOf(", ended ", task.endedAt) : ""),
      task.boundary ? element("p", { text: `Why it starts there: ${task.boundary}.` }) : null,
      task.compared ? element("p", { text: `Its result waits for another worker's, with which that of ${task.compared.join(" and ")} is compared.` }) : null,
      usageList(task.usage),
      attempts.length > 0 ? element("ol.attempts", {}, attempts) : element("p.empty", { text: "No attempt has failed." }),
    ].filter(Boolean));
  }
}

/** A moment within a line of text, with the exact one on hover. @param {string} text RFC 3339. */
function momentOf(before, text) {
  const time = Date.parse(text) / 1000;
  return element("span", {}, before, element("time", { datetime: text, title: exactTime(time), text: localTime(time) }));
}

/** What an attempt took of its worker; nothing if the worker did not say. */
function usageList(usage) {
  return usage ? element("dl.usage", {}, usageTexts(usage).map(([name, value]) =>
    element("div", {}, element("dt", { text: name }), element("dd", { text: value })))) : null;
}
