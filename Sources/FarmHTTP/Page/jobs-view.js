// All jobs: followed ones from the stream, older ones by pages.

import { api } from "./api.js";
import { confirmAction, showFailure } from "./dialogs.js";
import { element, setHidden, setText } from "./dom.js";
import { progress } from "./estimate.js";
import { count, counted, duration, exactTime, isOpen, jobStates, localTime, percent } from "./format.js";
import { farm, forgetJob, now, onChange, onFarmEvent, takeJob } from "./state.js";
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
  const endEvents = onFarmEvent(event => event === null && view.reload());
  const timer = setInterval(() => view.update(), 1000);
  view.choose("all");
  return () => {
    endChanges();
    endEvents();
    clearInterval(timer);
    clearTimeout(view.typing);
    view.list.end();
  };
}

class JobList {
  constructor() {
    this.choice = choices[0];
    /** The cursor of the next page. Undefined: the first was not read; null: there are no more. */
    this.next = undefined;
    this.isLoading = false;
    /** How many jobs were listed before everything began anew, and are not read again yet. */
    this.wanted = 0;
    this.turn = 0;
    this.total = element("span.dim");
    this.buttons = choices.map(([name, text]) => element("button", {
      type: "button", text, onclick: () => this.choose(name),
    }));
    this.search = element("input", { type: "search", placeholder: "Name or id", "aria-label": "Filter by name or id" });
    this.search.addEventListener("input", () => this.find());
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
    this.restart();
  }

  /** Reads from the newest job on. */
  restart() {
    this.next = undefined;
    this.turn += 1;
    this.isLoading = false;
    this.update();
    this.loadPage();
  }

  get words() { return this.search.value.trim().toLowerCase(); }

  async loadPage() {
    if (this.isLoading || this.next === null) return;
    this.isLoading = true;
    const turn = this.turn;
    try {
      const limit = this.next === undefined ? 200 : 1000;
      const page = await api.jobs({ states: this.choice[2], name: this.words, after: this.next, limit });
      if (turn !== this.turn) return;
      for (const job of page.jobs) takeJob(job);
      this.next = page.next ?? null;
      this.isLoading = false;
      // What was read before a lost connection is read again before the list is shown.
      if (this.wanted > 0 && this.next) {
        this.wanted -= page.jobs.length;
        return this.loadPage();
      }
      this.wanted = 0;
      this.update();
    } catch {
      if (turn !== this.turn) return;
      // The next update tries again.
      this.isLoading = false;
      this.wanted = 0;
    }
  }

  /** Everything begins anew: jobs that are not followed are not known any more, and some may have been deleted. */
  reload() {
    this.wanted = this.list.items.length;
    this.restart();
  }

  /** Names are looked for among all jobs, and an id by itself. */
  async find() {
    const { words } = this;
    this.update();
    clearTimeout(this.typing);
    this.typing = setTimeout(() => this.restart(), 200);
    if (!/^[0-9a-z-]{8,64}$/.test(words) || farm.jobs.has(words)) return;
    try {
      takeJob(await api.job(words));
      this.update();
    } catch {
      // It is no id.
    }
  }

  update() {
    if (this.wanted > 0) return;
    const { words } = this;
    const key = JSON.stringify([farm.jobsVersion, this.choice[0], words]);
    // Most changes are of jobs that are listed already: only the rows that are seen are filled again.
    if (key === this.shown) this.list.place(true);
    else this.list.set(this.select(words));
    this.shown = key;
    const number = this.list.items.length;
    setText(this.total, `${counted(number, "job")}${this.next ? " or more" : ""}`);
    setHidden(this.empty, number > 0 || !farm.hasState || this.isLoading);
    setHidden(this.list.node, number === 0);
    if (this.empty.dataset.name !== this.choice[0] + words) {
      this.empty.dataset.name = this.choice[0] + words;
      this.empty.replaceChildren(...(words !== "" ? ["No job has this name."]
        : this.choice[0] === "all"
          ? ["There are no jobs. ", element("a", { href: "#/new", text: "Submit a document" }), "."]
          : [`No job is ${this.choice[1].toLowerCase()}.`]));
    }
    const canRemove = ["failed", "cancelled"].includes(this.choice[0]) && number > 0 && words === "";
    setHidden(this.removeAll, !canRemove);
    setText(this.removeAll, `Delete all ${this.choice[1].toLowerCase()}`);
  }

  /** The jobs that are listed, newest first. */
  select(words) {
    const states = new Set(this.choice[2].length > 0 ? this.choice[2] : [...jobStates, "unknown"]);
    const shown = [];
    for (const job of farm.jobs.values()) {
      if (!states.has(job.state)) continue;
      if (words !== "" && !job.name.toLowerCase().includes(words) && !job.job.includes(words)) continue;
      shown.push(job);
    }
    return shown.sort((a, b) => b.submittedAt - a.submittedAt || (a.job < b.job ? 1 : -1));
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
      for (const job of [...farm.jobs.values()]) if (job.state === state) forgetJob(job.job);
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
