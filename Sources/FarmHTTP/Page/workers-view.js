// The workers: their load, what they did lately, and how fast they are against the others.

import { api } from "./api.js";
import { askHold, showFailure } from "./dialogs.js";
import { element, reconcile, setHidden, setText } from "./dom.js";
import { bytes, count, duration, exactTime, framesOfLabel, localTime, rate } from "./format.js";
import { showPools } from "./pools-panel.js";
import { farm, now, onChange, onFarmEvent, workerLabel } from "./state.js";

const columns = ["Worker", "Load", "State", "Pools", "Tasks done", "Failed", "Frames a slot second", "Against the others",
  "Connected since", "Memory a task", "Build", ""];

// A worker may have a task more than it has slots, such as one that it only probes with: it is busy all the same.

/** Ends that count as no failure of the worker. */
const harmless = new Set(["running", "done", "superseded", "stopped", "unknown"]);

/** Those after which the workers or the jobs of pools are others. */
const poolEvents = new Set(["workerConnected", "workerDisconnected", "jobSubmitted", "jobEnded", "jobPoolChanged"]);

export function showWorkers(parent) {
  const body = element("tbody");
  const total = element("span.dim");
  const empty = element("p.empty", { text: "No worker is connected. A worker is started with “sheaf-worker --coordinator HOST:PORT”." });
  const table = element("div.scroll", { tabindex: "0", role: "group", "aria-label": "Table of workers" },
    element("table.workers", {}, element("thead", {}, element("tr", {}, columns.map((text, index) =>
      element(index >= 4 && index <= 7 || index === 9 ? "th.number" : "th", { scope: "col", text })))), body));
  const held = element("tbody");
  const heldPanel = element("section.panel", { "aria-labelledby": "held-title", hidden: true },
    element("div.panel-head", {}, element("h2", { id: "held-title", text: "Held" })),
    element("div.scroll", { tabindex: "0", role: "group", "aria-label": "Table of workers that are held" },
      element("table", {}, element("thead", {}, element("tr", {}, ["Worker", "How", "Why", "Since", ""].map(text =>
        element("th", { scope: "col", text })))), held)));
  let isOver = false;
  const readHolds = async () => {
    try {
      const { holds } = await api.holds();
      if (isOver) return;
      setHidden(heldPanel, holds.length === 0);
      held.replaceChildren(...holds.map(hold => element("tr", {},
        element("th", { scope: "row", text: hold.worker }), element(hold.hold === "quarantined" ? "td.bad" : "td", { text: hold.hold }),
        element("td", { text: hold.reason }), element("td", { text: localTime(Date.parse(hold.since) / 1000), title: hold.since }),
        element("td", {}, element("button", {
          type: "button", text: "Resume", "aria-label": `Resume ${hold.worker}`, onclick: () => setHold(hold.worker, "none"),
        })))));
    } catch {
      // What is shown stays; the next event reads again.
    }
  };
  parent.append(
    element("div.view-head", {}, element("h1", { text: "Workers" }), total),
    element("section.panel", { "aria-label": "Workers" }, table, empty),
    heldPanel,
    element("p.dim.note", {
      text: "Tasks, failures and speeds are of what this page knows: the coordinator's last 2,000 events, and what came since.",
    }));
  const pools = showPools(parent);

  const update = () => {
    const history = historyOf(farm.log.attempts);
    const speeds = [...history.values()].map(worker => worker.speed).filter(speed => speed !== null).sort((a, b) => a - b);
    const median = speeds.length > 0 ? speeds[Math.floor(speeds.length / 2)] : null;
    const gone = [...history].filter(([id]) => !farm.workers.some(worker => worker.id === id))
      .map(([id, { name }]) => ({ id, name, isGone: true })).sort((a, b) => a.name.localeCompare(b.name));
    const rows = [...farm.workers, ...gone];
    setText(total, `${farm.workers.length} connected${gone.length > 0 ? `, ${gone.length} gone` : ""}`);
    setHidden(empty, rows.length > 0 || !farm.hasState);
    setHidden(table, rows.length === 0);
    reconcile(body, rows, worker => `${worker.isGone ? "gone " : ""}${worker.id}`, makeRow, (row, worker) =>
      fillRow(row, worker, history.get(worker.id), median));
  };
  const endChanges = onChange(update);
  const endEvents = onFarmEvent(event => {
    if (event === null || event.event === "workerHeld" || event.event === "workerReleased") readHolds();
    if (event === null || poolEvents.has(event.event)) pools.read();
  });
  const timer = setInterval(update, 1000);
  update();
  readHolds();
  return () => {
    isOver = true;
    endChanges();
    endEvents();
    clearInterval(timer);
    pools.end();
  };
}

async function setHold(worker, hold, reason) {
  try {
    await api.holdWorker(worker, hold, reason);
  } catch (error) {
    showFailure(hold === "none" ? "The worker was not resumed" : "The worker was not held", error);
  }
}

/** By worker: how many tasks were done and failed, and frames of video in a second of a slot. */
function historyOf(attempts) {
  const workers = new Map();
  for (const attempt of attempts) {
    let worker = workers.get(attempt.worker);
    if (!worker) {
      worker = { name: attempt.workerName, done: 0, failed: 0, frames: 0, seconds: 0, lastEnds: [], speed: null };
      workers.set(attempt.worker, worker);
    }
    if (attempt.outcome === "done") worker.done += 1;
    else if (!harmless.has(attempt.outcome)) worker.failed += 1;
    if (attempt.outcome !== "running") worker.lastEnds.push(harmless.has(attempt.outcome));
    const frames = framesOfLabel(attempt.label);
    if (attempt.outcome !== "done" || !frames) continue;
    worker.frames += frames.end - frames.first;
    worker.seconds += attempt.end - attempt.start;
  }
  for (const worker of workers.values()) if (worker.seconds > 1) worker.speed = worker.frames / worker.seconds;
  return workers;
}

function makeRow(worker) {
  const row = element("tr", {}, element("th", { scope: "row" }),
    element("td", {}, element("span.load", {}, element("meter", { min: 0, max: 1, value: 0, "aria-label": `Load of ${worker.name}` }), element("span.number"))),
    element("td.reason"), element("td"), element("td.number"), element("td.number"), element("td.number"), element("td.number"),
    element("td", {}, element("time")), element("td.number"), element("td.mono"),
    element("td", {}, element("button", { type: "button", "aria-label": `Hold ${worker.name}`, text: "Hold…", onclick: async () => {
      const account = row.dataset.account;
      const asked = await askHold(account);
      if (asked) await setHold(account, asked.hold, asked.reason);
    } })));
  return row;
}

function fillRow(row, worker, history, median) {
  const [name, load, state, pools, done, failed, speed, against, since, memory, build, action] = row.children;
  setText(name, workerLabel(worker.id, worker.name));
  name.title = worker.isGone ? `id ${worker.id}` : `id ${worker.id}, at coordinator ${worker.coordinator}`;
  row.classList.toggle("gone", Boolean(worker.isGone));
  const [meter, words] = load.firstElementChild.children;
  setHidden(meter, Boolean(worker.isGone));
  meter.max = Math.max(1, worker.slots ?? 1);
  meter.value = worker.busy ?? 0;
  setText(words, worker.isGone ? "" : `${Math.min(worker.busy, worker.slots)} of ${worker.slots}`);
  row.dataset.account = worker.account ?? "";
  setHidden(action.firstElementChild, Boolean(worker.isGone || worker.hold || !worker.account));
  setText(state, worker.isGone ? "gone" : worker.hold ? `${worker.hold}: ${worker.holdReason ?? ""}` : worker.paused ? `paused: ${worker.paused}` : worker.busy > 0 ? "works" : worker.isClosed ? "its pools are closed" : "idle");
  setText(pools, (worker.pools ?? []).join(", ") || "–");
  state.classList.toggle("warn", Boolean(worker.paused || worker.hold));
  setText(done, count(history?.done ?? 0));
  setText(failed, count(history?.failed ?? 0));
  failed.classList.toggle("bad", (history?.failed ?? 0) > 0);
  setText(speed, history?.speed ? rate(history.speed) : "–");
  const ratio = history?.speed && median ? history.speed / median : null;
  setText(against, ratio === null ? "–" : `${ratio.toFixed(2)} ×`);
  against.classList.toggle("warn", ratio !== null && ratio < 0.7);
  const time = now() - (worker.connectedSeconds ?? 0);
  const clock = since.firstElementChild;
  // It is reported as a length of time; the moment is kept so that it does not waver.
  if (!worker.isGone && Math.abs(Number(clock.dataset.time ?? 0) - time) > 120) clock.dataset.time = time;
  setText(clock, worker.isGone ? "–" : localTime(Number(clock.dataset.time)));
  if (!worker.isGone) {
    clock.dateTime = exactTime(Number(clock.dataset.time));
    clock.title = `${clock.dateTime}, ${duration(now() - Number(clock.dataset.time))} ago`;
  }
  setText(memory, worker.taskMemory ? bytes(worker.taskMemory) : "–");
  setText(build, worker.shortBuild ?? "");
  build.title = worker.build ?? "";
}
