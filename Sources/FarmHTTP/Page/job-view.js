// One job: how far it is, its film by segments, what is wrong, and what can be done with it.

import { api } from "./api.js";
import { askNumber, askText, confirmAction, showFailure } from "./dialogs.js";
import { element, reconcile, setHidden, setText } from "./dom.js";
import { phase, progress, remaining, roughly } from "./estimate.js";
import { makeFindings } from "./findings.js";
import { Film } from "./film.js";
import { marksOf } from "./film-marks.js";
import { Filmstrip } from "./filmstrip.js";
import { bytes, count, counted, duration, exactTime, isOpen, localTime, percent } from "./format.js";
import { CostTable } from "./job-cost.js";
import { TaskTable } from "./job-tasks.js";
import { canNotify, isWanted, toggleNotification } from "./notifications.js";
import { RenderingFilm } from "./rendering-film.js";
import { SegmentMap, segmentsOf } from "./segment-map.js";
import { farm, forgetJob, now, onChange, onFarmEvent, takeJob } from "./state.js";
import { JobTasks } from "./task-watch.js";

export function showJob(parent, id) {
  const head = makeHead(id);
  const table = new TaskTable();
  const cost = new CostTable();
  const map = new SegmentMap(task => table.open(task.ordinal));
  const findings = makeFindings(frame => map.show(frame));
  const strip = new Filmstrip(id);
  const film = new Film();
  const rendering = new RenderingFilm(id);
  const filmPanel = element("section.panel", { "aria-labelledby": "film-title" },
    element("div.panel-head", {}, element("h2", { id: "film-title", text: "Film" }), makeLegend()),
    map.canvas, strip.node, rendering.node, film.node);
  const gone = element("p.empty", { hidden: true });
  const body = element("div.job-body", {}, head.node, findings.node, filmPanel, table.node, cost.node);
  parent.append(gone, body);

  let isCurrent = false;
  let marksOfJob = null;
  const update = () => {
    const job = farm.jobs.get(id);
    if (!job) return;
    document.title = `${isOpen(job) ? `${percent(progress(job))} ` : ""}${job.name || id} · Sheaf`;
    head.update(job);
    findings.update(job);
    if (marksOfJob !== job) map.setMarks(marksOf(job));
    marksOfJob = job;
    film.set(job);
  };
  const tasks = new JobTasks(id, list => {
    const segments = segmentsOf(list);
    table.set(list);
    cost.set(list, farm.jobs.get(id)?.usage);
    map.set(segments);
    strip.set(segments);
    rendering.set(farm.jobs.get(id), segments);
    setHidden(map.canvas, segments.length === 0);
    setHidden(strip.node, segments.length === 0);
    setHidden(filmPanel, segments.length === 0 && farm.jobs.get(id)?.state !== "done");
  }, () => readUsage());
  setHidden(filmPanel, true);

  let shown = null;
  /** The job itself has what the list's statuses leave out: damage, warnings and outputs. */
  const load = async () => {
    try {
      shown = takeJob(await api.job(id));
      isCurrent = true;
      update();
      tasks.load();
    } catch (error) {
      if (isCurrent && error.status !== 404) return;
      setHidden(body, true);
      setHidden(gone, false);
      gone.replaceChildren(error.status === 404 ? "There is no such job: it may have been deleted. "
        : `The job cannot be shown: ${error.message}. `, element("a", { href: "#/jobs", text: "All jobs" }));
    }
  };
  let isUsageOld = false;
  /** What the attempts took is in the status of the job itself alone. */
  const readUsage = async () => {
    if (!isUsageOld) return;
    isUsageOld = false;
    try {
      shown = takeJob(await api.job(id));
      cost.set(tasks.tasks, shown.usage);
    } catch {
      // What is shown stays; the next event reads again.
    }
  };
  let known = null;
  const endChanges = onChange(() => {
    const job = farm.jobs.get(id);
    if (job && known !== job.state) {
      if (known !== null) load();
      known = job.state;
    }
    // The stream sends a job again when its tasks have gone on.
    if (job && job !== shown) {
      shown = job;
      tasks.loadSoon();
    }
    update();
  });
  const endEvents = onFarmEvent(event => {
    if (event === null) return load();
    if (event.job !== id) return;
    if (event.event === "jobDeleted" || event.event === "jobDoubted") load();
    if (["taskDone", "taskCompared", "taskFailed"].includes(event.event)) isUsageOld = true;
    tasks.take(event);
  });
  const timer = setInterval(() => {
    update();
    table.tick();
  }, 1000);
  update();
  load();
  return () => {
    endChanges();
    endEvents();
    clearInterval(timer);
    for (const part of [tasks, table, map, strip, rendering, film]) part.end();
  };
}

function makeLegend() {
  const item = (name, text) => element("li", {}, element(`i.swatch.${name}`), text);
  return element("ul.legend", { "aria-label": "Colours" }, item("running", "renders"), item("video", "done"),
    item("cached", "known before"), item("waiting", "waits"), item("failed", "failed"));
}

function makeHead(id) {
  const name = element("h1", { text: id });
  const state = element("span.state");
  const bar = element("progress", { max: 1, value: 0, "aria-label": "Progress of the job" });
  const line = element("p.progress-line", {}, element("strong"), element("span.what"), element("span.eta"));
  const facts = element("dl.facts");
  const actions = makeActions(id);
  return {
    node: element("header.job-head", {},
      element("div.job-title", {}, name, state, actions.node), bar, line, facts),
    update(job) {
      setText(name, job.name || id);
      setText(state, job.state);
      state.dataset.state = job.state;
      setHidden(bar, job.state === "failed" || job.state === "cancelled");
      bar.value = progress(job);
      bar.classList.toggle("ended", !isOpen(job));
      const [part, what, eta] = line.children;
      setText(part, isOpen(job) ? job.state === "probing" ? "" : percent(progress(job)) : "");
      setText(what, standing(job));
      const left = remaining(job, now());
      setText(eta, !isOpen(job) ? "" : left.seconds ? `${roughly(left.seconds)} left` : !job.waitsFor && left.reason ? `Time left: ${left.reason}` : "");
      setHidden(line, [part, what, eta].every(node => node.textContent === ""));
      reconcile(facts, factsOf(job, id), fact => fact.name,
        fact => element("div", {}, element("dt", { text: fact.name }), element("dd")),
        (node, fact) => {
          setText(node.lastElementChild, fact.value);
          if (fact.title) node.lastElementChild.title = fact.title;
        });
      actions.update(job);
    },
  };
}

/** What the job does, or how it ended. */
function standing(job) {
  if (!isOpen(job)) {
    if (job.state === "failed") return job.error ?? "See the problems below.";
    return "";
  }
  if (job.waitsFor && job.running === 0) return `Waits: ${job.waitsFor}`;
  return `${phase(job)[0].toUpperCase()}${phase(job).slice(1)}, ${counted(job.running, "task")} running`;
}

function factsOf(job, id) {
  const since = isOpen(job) ? now() - job.heardAt : 0;
  const facts = [
    { name: "Frames", value: job.framesTotal > 0 ? `${count(job.framesDone)} of ${count(job.framesTotal)}` : "–" },
    {
      name: "Segments",
      value: job.segmentsTotal > 0
        ? `${count(job.segmentsDone)} of ${count(job.segmentsTotal)}${job.segmentsCached ? `, ${count(job.segmentsCached)} known` : ""}`
        : "–",
    },
    { name: "Audio", value: job.hasAudio ? job.audioDone ? "done" : "not yet" : "none" },
    { name: "Submitted", value: localTime(job.submittedAt), title: exactTime(job.submittedAt) },
    { name: isOpen(job) ? "Since then" : "Took", value: duration(job.elapsedSeconds + since) },
    { name: "Priority", value: String(job.priority) },
    ...job.pool ? [{ name: "Pool", value: job.pool }] : [],
    ...job.owner ? [{ name: "Owner", value: job.owner }] : [],
    { name: "Job", value: id },
  ];
  if (job.output) facts.splice(3, 0, { name: "Size", value: bytes(job.output.bytes), title: `SHA-256 ${job.output.digest}` });
  if (job.shortBuild) facts.push({ name: "Build", value: job.shortBuild, title: job.build });
  return facts;
}

/** Whether a job waits until somebody resumes it, or until a time. */
function mayBeResumed(job) {
  return Boolean(job?.isPaused) || Boolean(job?.holdUntil) && Date.parse(job.holdUntil) > Date.now();
}

function makeActions(id) {
  const run = async (title, work) => {
    try {
      await work();
    } catch (error) {
      showFailure(title, error);
    }
  };
  const tell = element("button", { type: "button", "aria-pressed": isWanted(id), text: "Tell me at the end" });
  tell.addEventListener("click", async () => tell.setAttribute("aria-pressed", await toggleNotification(id)));
  const cancel = element("button", { type: "button", text: "Cancel" });
  cancel.addEventListener("click", async () => {
    const name = farm.jobs.get(id)?.name || id;
    const text = "Its running tasks are stopped. What is rendered is kept for a while, so that a retry goes on from there.";
    if (!await confirmAction({ title: `Cancel ${name}?`, text, action: "Cancel the job" })) return;
    await run("The job was not cancelled", () => api.cancel(id));
  });
  const pause = element("button", { type: "button", onclick: () => {
    const isHeld = mayBeResumed(farm.jobs.get(id));
    return isHeld ? run("The job was not resumed", () => api.resume(id)) : run("The job was not paused", () => api.pause(id));
  } });
  const priority = element("button", { type: "button", text: "Priority", onclick: async () => {
    const number = await askNumber({
      title: "Priority of the job", label: "Jobs of a higher priority go first", value: farm.jobs.get(id)?.priority ?? 0,
    });
    if (number !== null) await run("The priority was not changed", () => api.setPriority(id, number));
  } });
  const pool = element("button", { type: "button", text: "Pool", onclick: async () => {
    const name = await askText({
      title: "Pool of the job", label: "Only workers of this pool take it; empty: all workers do",
      value: farm.jobs.get(id)?.pool ?? "", pattern: "([0-9A-Za-z][0-9A-Za-z._\\-]{0,63})?",
      hint: "Letters, digits, '.', '_' and '-'",
    });
    if (name !== null) await run("The pool was not changed", () => api.setPool(id, name));
  } });
  const retry = element("button", { type: "button", text: "Retry", onclick: () => run("The job was not retried", () => api.retry(id)) });
  const remove = element("button", { type: "button", text: "Delete" });
  remove.addEventListener("click", async () => {
    const name = farm.jobs.get(id)?.name || id;
    const text = "The job and its film are removed from the farm.";
    if (!await confirmAction({ title: `Delete ${name}?`, text, action: "Delete the job" })) return;
    await run("The job was not deleted", async () => {
      await api.remove(id);
      forgetJob(id);
      location.hash = "#/jobs";
    });
  });
  const timeline = element("a.button", { href: `#/?job=${encodeURIComponent(id)}`, text: "Critical path" });
  return {
    node: element("div.actions", {}, timeline, tell, pause, priority, pool, cancel, retry, remove),
    update(job) {
      setHidden(tell, !isOpen(job) || !canNotify());
      setHidden(cancel, !isOpen(job));
      setHidden(pause, !isOpen(job));
      setText(pause, mayBeResumed(job) ? "Resume" : "Pause");
      setHidden(priority, !isOpen(job));
      setHidden(pool, !isOpen(job));
      setHidden(retry, job.state !== "failed" && job.state !== "cancelled" && !job.doubt);
      setHidden(remove, isOpen(job));
    },
  };
}
