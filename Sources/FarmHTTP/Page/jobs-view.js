// All jobs: followed ones from the stream, older ones by pages.

import { api } from "./api.js";
import { confirmAction, showFailure } from "./dialogs.js";
import { element, setHidden, setText } from "./dom.js";
import { progress } from "./estimate.js";
import { count, counted, duration, exactTime, isOpen, jobStates, localTime, percent } from "./format.js";
import { farm, now, onChange, takeJob } from "./state.js";
import { VirtualList } from "./virtual-list.js";

const rowHeight = 36;
const choices = [
  ["all", "All", []], ["open", "Open", ["probing", "measuring", "rendering"]], ["done", "Done", ["done"]],
  ["failed", "Failed", ["failed"]], ["cancelled", "Cancelled", ["cancelled"]],
];

export function showJobs(parent) {
  const view = new JobList();
  parent.append(
    element("div.view-head", {}, element("h1", { text: "Jobs" }), view.total),
    element("div.filters", {}, element("div.group", { role: "group", "aria-label": "State" }, view.buttons),
      view.search, view.removeAll),
    element("section.panel.fill", { "aria-label": "Jobs" }, view.head, view.list.node, view.empty));
  const endChanges = onChange(() => view.update());
  const timer = setInterval(() => view.update(), 1000);
  view.choose("all");
  return () => {
    endChanges();
    clearInterval(timer);
    view.list.end();
  };
}

class JobList {
  constructor() {
    this.choice = choices[0];
    /** The cursor of the next page. Undefined: the first was not read; null: there are no more. */
    this.next = undefined;
    this.isLoading = false;
    this.turn = 0;
    this.total = element("span.dim");
    this.buttons = choices.map(([name, text]) => element("button", {
      type: "button", text, onclick: () => this.choose(name),
    }));
    this.search = element("input", { type: "search", placeholder: "Name or id", "aria-label": "Filter by name or id" });
    this.search.addEventListener("input", () => this.update());
    this.removeAll = element("button", { type: "button", onclick: () => this.removeShown() });
    this.head = element("div.job-row.head", { "aria-hidden": "true" },
      ["Name", "State", "Progress", "Submitted", "Took", "Job"].map(text => element("span", { text })));
    this.list = new VirtualList({
      height: rowHeight, label: "Jobs", make: makeRow, fill: fillRow, onEnd: () => this.loadPage(),
    });
    this.list.node.classList.add("jobs");
    this.empty = element("p.empty", { hidden: true });
  }

  choose(name) {
    this.choice = choices.find(choice => choice[0] === name);
    this.buttons.forEach((button, index) => button.setAttribute("aria-pressed", choices[index] === this.choice));
    this.next = undefined;
    this.turn += 1;
    this.isLoading = false;
    this.update();
    this.loadPage();
  }

  async loadPage() {
    if (this.isLoading || this.next === null) return;
    this.isLoading = true;
    const turn = this.turn;
    try {
      const page = await api.jobs(this.choice[2], this.next, this.next === undefined ? 200 : 1000);
      if (turn !== this.turn) return;
      for (const job of page.jobs) takeJob(job);
      this.next = page.next ?? null;
      this.isLoading = false;
      this.update();
      // A name is looked for among all of them.
      if (this.search.value.trim() !== "" && this.next) this.loadPage();
    } catch {
      this.isLoading = false;
    }
  }

  update() {
    const states = new Set(this.choice[2].length > 0 ? this.choice[2] : [...jobStates, "unknown"]);
    const words = this.search.value.trim().toLowerCase();
    const shown = [];
    for (const job of farm.jobs.values()) {
      if (!states.has(job.state)) continue;
      if (words !== "" && !job.name.toLowerCase().includes(words) && !job.job.includes(words)) continue;
      shown.push(job);
    }
    shown.sort((a, b) => b.submittedAt - a.submittedAt || (a.job < b.job ? 1 : -1));
    this.list.set(shown);
    if (words !== "" && this.next) this.loadPage();
    setText(this.total, `${counted(shown.length, "job")}${this.next ? " or more" : ""}`);
    setHidden(this.empty, shown.length > 0 || !farm.hasState);
    setHidden(this.list.node, shown.length === 0);
    if (this.empty.dataset.name !== this.choice[0] + words) {
      this.empty.dataset.name = this.choice[0] + words;
      this.empty.replaceChildren(...(words !== "" ? ["No job has this name."]
        : this.choice[0] === "all"
          ? ["There are no jobs. ", element("a", { href: "#/new", text: "Submit a document" }), "."]
          : [`No job is ${this.choice[1].toLowerCase()}.`]));
    }
    const canRemove = ["failed", "cancelled"].includes(this.choice[0]) && shown.length > 0 && words === "";
    setHidden(this.removeAll, !canRemove);
    setText(this.removeAll, `Delete all ${this.choice[1].toLowerCase()}`);
  }

  async removeShown() {
    const [state, text] = this.choice;
    const really = await confirmAction({
      title: `Delete all ${text.toLowerCase()} jobs?`,
      text: "Also those that are not shown yet. They are removed from the farm.", action: "Delete them",
    });
    if (!really) return;
    try {
      await api.removeAll([state]);
      for (const job of [...farm.jobs.values()]) if (job.state === state) farm.jobs.delete(job.job);
      this.choose(state);
    } catch (error) {
      showFailure("The jobs were not deleted", error);
    }
  }
}

function makeRow() {
  return element("div.job-row", {}, element("a.name"), element("span.state"),
    element("span.progress", {}, element("progress", { max: 1, value: 0 }), element("span.number")),
    element("time"), element("span.number"), element("span.mono"));
}

function fillRow(row, job) {
  const [name, state, made, submitted, took, id] = row.children;
  name.href = `#/jobs/${job.job}`;
  setText(name, job.name || job.job);
  name.title = job.name;
  setText(state, job.state);
  state.dataset.state = job.state;
  const [bar, part] = made.children;
  bar.value = progress(job);
  bar.setAttribute("aria-label", `Progress of ${job.name || job.job}`);
  made.classList.toggle("none", !isOpen(job));
  setText(part, percent(progress(job)));
  made.title = job.framesTotal > 0 ? `${count(job.framesDone)} of ${count(job.framesTotal)} frames` : "";
  setText(submitted, localTime(job.submittedAt));
  submitted.title = exactTime(job.submittedAt);
  setText(took, duration(job.elapsedSeconds + (isOpen(job) ? now() - job.heardAt : 0)));
  setText(id, job.job);
}
