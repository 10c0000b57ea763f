// Home: what every worker does and did, what waits and why, and what has happened.

import { phaseNames } from "./attempts.js";
import { element, reconcile, setHidden, setText } from "./dom.js";
import { phase, progress, remaining, roughly } from "./estimate.js";
import { count, counted, endWords, isOpen, percent, rate, timeElement } from "./format.js";
import { farm, now, onChange, workerLabel } from "./state.js";
import { PathControl } from "./path-control.js";
import { Timeline } from "./timeline.js";
import { chromeTrace, saveText } from "./trace.js";

const spans = [[60, "1 min"], [300, "5 min"], [1800, "30 min"], [7200, "2 h"], [86_400, "1 d"]];
const mostQueued = 100;
const mostHappenings = 12;

/** @param {URLSearchParams} query `job`: the one whose critical path is shown. */
export function showFarm(parent, query) {
  const timeline = new Timeline();
  const path = new PathControl(timeline);
  const figures = makeFigures();
  const notices = element("ul.notices", { "aria-label": "Notices" });
  const queue = element("ol.queue");
  const queueEmpty = element("p.empty", {}, "Nothing waits and nothing renders. ",
    element("a", { href: "#/new", text: "Submit a document" }), ".");
  const queueMore = element("p.more", { hidden: true });
  const recent = element("ol.recent");
  const recentEmpty = element("p.empty", { text: "Nothing has happened since the coordinator was started." });
  const empty = element("p.empty", { text: "No worker is connected. A worker is started with “sheaf-worker --coordinator HOST:PORT”." });

  parent.append(
    element("h1.visually-hidden", { text: "Farm" }),
    figures.node, notices,
    element("section.panel", { "aria-labelledby": "timeline-title" },
      element("div.panel-head", {},
        element("h2", { id: "timeline-title", text: "Timeline" }), makeTools(timeline, path)),
      path.text, timeline.canvas, makeLegend(), empty),
    element("div.columns", {},
      element("section.panel", { "aria-labelledby": "queue-title" },
        element("div.panel-head", {}, element("h2", { id: "queue-title", text: "Queue" })), queue, queueEmpty, queueMore),
      element("section.panel", { "aria-labelledby": "recent-title" },
        element("div.panel-head", {}, element("h2", { id: "recent-title", text: "What happened" })), recent, recentEmpty)));

  const update = () => {
    figures.update();
    reconcile(notices, farm.notices, text => text, text => element("li", { text }), () => {});
    setHidden(notices, farm.notices.length === 0);
    const open = [...farm.jobs.values()].filter(isOpen)
      .sort((a, b) => b.priority - a.priority || a.submittedAt - b.submittedAt);
    reconcile(queue, open.slice(0, mostQueued), job => job.job, makeQueued, updateQueued);
    setHidden(queue, open.length === 0);
    setHidden(queueEmpty, open.length > 0 || !farm.hasState);
    setHidden(queueMore, open.length <= mostQueued);
    setText(queueMore, `and ${count(open.length - mostQueued)} more`);
    const happened = farm.happenings.slice(-mostHappenings).reverse();
    reconcile(recent, happened, keyOf, makeHappening, () => {});
    setHidden(recentEmpty, happened.length > 0 || !farm.hasState);
    setHidden(empty, farm.workers.length > 0 || !farm.hasState);
    path.update();
    timeline.draw();
  };
  const endChanges = onChange(update);
  const timer = setInterval(update, 1000);
  update();
  if (query.get("job")) path.choose(query.get("job"), true);
  return () => {
    endChanges();
    clearInterval(timer);
    timeline.end();
  };
}

function makeFigures() {
  const names = ["Workers", "Slots in use", "Open jobs", "Frames a second", "Tasks a minute", "Failed in an hour"];
  const values = names.map(() => element("dd", { text: "–" }));
  const node = element("dl.figures", {}, names.map((name, index) =>
    element("div", {}, element("dt", { text: name }), values[index])));
  return {
    node,
    update() {
      if (!farm.hasState) return;
      const time = now();
      const slots = farm.workers.reduce((sum, worker) => sum + worker.slots, 0);
      const busy = farm.workers.reduce((sum, worker) => sum + Math.min(worker.busy, worker.slots), 0);
      const paused = farm.workers.filter(worker => worker.paused).length;
      const failures = farm.happenings.filter(event =>
        event.event === "taskFailed" && event.time > time - 3600).length;
      [
        paused > 0 ? `${farm.workers.length}, ${paused} paused` : `${farm.workers.length}`,
        `${busy} of ${slots}`, count([...farm.jobs.values()].filter(isOpen).length),
        rate(farm.frames.rate(time)), count(farm.log.doneSince(time - 60)), count(failures),
      ].forEach((text, index) => setText(values[index], text));
      values[5].classList.toggle("bad", failures > 0);
    },
  };
}

function makeLegend() {
  const item = (name, text) => element("li", {}, element(`i.swatch.${name}`), text);
  return element("ul.legend.below", { "aria-label": "Colours" }, item("running", "running"), item("video", "frames"),
    item("other", "other tasks"), item("failed", "failed or lost"), item("paused", "paused"), ...phaseNames.map((name, index) =>
      element(index === 0 ? "li.phase.first" : "li.phase", {}, element(`i.swatch.video.${name}`), name)));
}

function makeTools(timeline, path) {
  const live = element("button", { type: "button", text: "Live", onclick: () => timeline.goLive() });
  const buttons = spans.map(([seconds, text]) => element("button", {
    type: "button", text, onclick: () => timeline.setSpan(seconds),
  }));
  const show = () => {
    live.setAttribute("aria-pressed", timeline.isLive);
    buttons.forEach((button, index) => button.setAttribute("aria-pressed", timeline.span === spans[index][0]));
  };
  timeline.onView = show;
  timeline.span = 300;
  show();
  return element("div.tools", {}, path.select,
    element("div.group", { role: "group", "aria-label": "Length of time" }, buttons),
    live,
    element("button", {
      type: "button", text: "Export trace", title: "A Chrome trace, which ui.perfetto.dev opens",
      onclick: () => {
        const events = chromeTrace(farm.log, now(), job => farm.jobs.get(job)?.name ?? job);
        saveText(JSON.stringify(events), "sheaf-trace.json", "application/json");
      },
    }));
}

function makeQueued(job) {
  return element("li", {},
    element("a.name", { href: `#/jobs/${job.job}`, text: job.name || job.job, title: job.name }),
    element("progress", { max: 1, value: 0, "aria-label": `Progress of ${job.name || job.job}` }),
    element("span.part"), element("span.why"));
}

function updateQueued(node, job) {
  const [name, bar, part, why] = node.children;
  setText(name, job.name || job.job);
  bar.value = progress(job);
  setText(part, job.state === "probing" ? "–" : percent(progress(job)));
  const left = remaining(job, now());
  const waits = job.waitsFor && job.running === 0;
  setText(why, waits ? `waits: ${job.waitsFor}`
    : `${phase(job)}, ${counted(job.running, "task")}${left.seconds ? `, ${roughly(left.seconds)} left` : ""}`);
  node.classList.toggle("waits", Boolean(waits));
}

function keyOf(event) {
  return [event.time, event.event, event.job, event.ordinal, event.worker].join(" ");
}

function makeHappening(event) {
  const job = event.job ? element("a", {
    href: `#/jobs/${event.job}`, text: event.name || farm.jobs.get(event.job)?.name || event.job,
  }) : null;
  const [words, isBad] = tell(event);
  return element("li", {}, timeElement(event.time),
    element(isBad ? "span.bad" : "span", {}, job ? [job, " "] : [], words));
}

function named(event) {
  return workerLabel(event.workerID ?? event.worker, event.name);
}

/** What has happened, in words, and whether it is a failure. */
function tell(event) {
  const because = event.reason ? `: ${event.reason}` : "";
  switch (event.event) {
    case "jobSubmitted": return ["submitted", false];
    case "jobPlanned":
      return [`planned: ${counted(event.tasks ?? 0, "task")}${event.cached ? `, ${event.cached} known` : ""}`, false];
    case "jobReplanned": return [`planned again${because}`, true];
    case "jobRetried": return ["retried", false];
    case "jobPaused": return ["paused", false];
    case "jobResumed": return ["resumed", false];
    case "jobPriorityChanged": return [`has ${event.reason ?? "another priority"}`, false];
    case "jobPoolChanged": return [`has ${event.reason ?? "another pool"}`, false];
    case "jobEnded": return [`${event.state}${because}`, event.state === "failed"];
    case "jobDeleted": return ["deleted", false];
    case "jobDoubted": return [`is in doubt${because}`, true];
    case "taskFailed":
      return [`${event.label}: ${endWords(event.end ?? "failed")} on ${workerLabel(event.workerID, event.worker)}${because}`, true];
    case "workerConnected": return [`worker ${named(event)} connected`, false];
    case "workerDisconnected": return [`worker ${named(event)} disconnected`, true];
    case "workerPaused": return [`worker ${named(event)} pauses${because}`, false];
    case "workerHeld": return [`worker ${event.name} is granted no tasks${because}`, event.reason?.startsWith("quarantined") ?? false];
    case "workerReleased": return [`worker ${event.name} is granted tasks again`, false];
    case "workerResumed": return [`worker ${named(event)} takes tasks again`, false];
    default: return [event.event, false];
  }
}
