// A new job: its document, checked as one types, and its media, uploaded meanwhile.

import { api } from "./api.js";
import { element, reconcile, setHidden, setText } from "./dom.js";
import { Editor } from "./editor.js";
import { bytes, percent } from "./format.js";
import { takeJob } from "./state.js";
import { Uploads } from "./uploads.js";

/** The document survives a reload; media have to be dropped again, and go on from what the farm has. */
const draftKey = "sheaf.draft";
const keyKey = "sheaf.draft.key";
const checkPause = 600;

export function showNewJob(parent) {
  const view = new NewJob();
  parent.append(element("div.view-head", {}, element("h1", { text: "New job" })), view.node);
  view.start();
  return () => view.end();
}

/** The files that a document names, by asset: `{ id, path, name }`. Null: it is not JSON yet. */
export function assetsOf(text) {
  try {
    const assets = JSON.parse(text).assets ?? {};
    return Object.entries(assets).flatMap(([id, value]) => {
      const path = typeof value === "string" ? value : value?.path ?? value?.file;
      return typeof path === "string" ? [{ id, path, name: path.split(/[/\\]/).at(-1) }] : [];
    });
  } catch {
    return null;
  }
}

class NewJob {
  constructor() {
    this.uploads = new Uploads(() => this.changed());
    this.editor = new Editor(() => this.changed());
    this.verdict = element("p.verdict", { role: "status" });
    this.problems = element("ul.findings");
    this.media = element("ul.media");
    this.mediaEmpty = element("p.empty", { text: "None yet: drop files anywhere on this page." });
    this.name = element("input", { id: "job-name", type: "text", placeholder: "Optional" });
    this.pool = element("input", { id: "job-pool", maxlength: 64, autocomplete: "off", placeholder: "any worker" });
    this.priority = element("input", { id: "job-priority", type: "number", value: "0", step: "1" });
    this.segment = element("input", { id: "job-segment", type: "text", placeholder: "Optional", inputmode: "decimal" });
    this.submit = element("button.primary", { type: "button", text: "Submit", onclick: () => this.send() });
    const picker = element("input", { type: "file", multiple: true, id: "files", class: "visually-hidden", tabindex: "-1", "aria-hidden": "true" });
    picker.addEventListener("change", () => {
      this.take([...picker.files]);
      picker.value = "";
    });
    const field = (label, input) => element("div.field", {}, element("label", { for: input.id, text: label }), input);
    this.node = element("div.new-job", {},
      element("section.panel", { "aria-labelledby": "document-title" },
        element("div.panel-head", {},
          element("h2", {}, element("label", { id: "document-title", for: "document", text: "Document" })),
          element("div.tools", {}, element("button", { type: "button", text: "Choose files", onclick: () => picker.click() }), picker)),
        this.editor.node, this.verdict, this.problems),
      element("div.side", {},
        element("section.panel", { "aria-labelledby": "media-title" },
          element("div.panel-head", {}, element("h2", { id: "media-title", text: "Media" })), this.media, this.mediaEmpty),
        element("section.panel", { "aria-labelledby": "options-title" },
          element("div.panel-head", {}, element("h2", { id: "options-title", text: "Job" })),
          field("Name", this.name), field("Priority", this.priority), field("Pool", this.pool), field("Length of segments, in seconds", this.segment),
          element("div.actions", {}, this.submit))));
    this.onDrag = event => {
      if (!event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      this.node.classList.toggle("over", event.type === "dragover");
      if (event.type === "drop") this.take([...event.dataTransfer.files]);
    };
    this.checked = null;
    this.isReady = false;
  }

  start() {
    for (const name of ["dragover", "dragleave", "drop"]) window.addEventListener(name, this.onDrag);
    this.editor.text = sessionStorage.getItem(draftKey) ?? "";
    this.changed();
  }

  end() {
    for (const name of ["dragover", "dragleave", "drop"]) window.removeEventListener(name, this.onDrag);
    clearTimeout(this.timer);
    this.checking?.abort();
    this.uploads.end();
  }

  /** Documents go into the editor; all else is media. */
  async take(files) {
    for (const file of files) {
      if (/\.(json|sheaf)$/i.test(file.name) && file.size < 10 << 20) {
        this.editor.text = await file.text();
        if (this.name.value === "") this.name.value = file.name;
      } else {
        this.uploads.add(file);
      }
    }
    this.changed();
  }

  /** The assets that are there as content. Those that are not are looked for under the farm's media root. */
  sources() {
    return (assetsOf(this.editor.text) ?? []).flatMap(asset => {
      const item = this.uploads.files.find(file => file.name === asset.name);
      return item?.state === "there" ? [{ id: asset.id, digest: item.digest, size: item.size }] : [];
    });
  }

  changed() {
    sessionStorage.setItem(draftKey, this.editor.text);
    this.showMedia();
    const key = JSON.stringify([this.editor.text, this.sources()]);
    if (key === this.key) return;
    this.key = key;
    this.isReady = false;
    sessionStorage.removeItem(keyKey);
    clearTimeout(this.timer);
    this.checking?.abort();
    if (this.editor.text.trim() === "") {
      this.show([], "");
    } else {
      setText(this.verdict, "Checking…");
      this.timer = setTimeout(() => this.check(), checkPause);
    }
    this.showSubmit();
  }

  async check() {
    this.checking = new AbortController();
    const { signal } = this.checking;
    try {
      const report = await api.check({ document: this.editor.text, assets: this.sources() }, signal);
      const found = [
        ...report.problems.map(problem => ({ kind: "problem", ...problem })),
        ...report.notes.map(problem => ({ kind: "warning", ...problem })),
      ];
      this.isReady = report.problems.length === 0;
      this.show(found, this.isReady ? found.length > 0 ? "It can be rendered, with warnings." : "It can be rendered." : "");
    } catch (error) {
      if (error.name === "AbortError") return;
      const found = error.problems?.map(problem => ({ kind: "problem", ...problem })) ?? [];
      this.show(found, found.length > 0 ? "" : `Not checked: ${error.message}`);
    }
    this.showSubmit();
  }

  show(found, verdict) {
    this.editor.mark(found);
    setText(this.verdict, verdict || (found.length > 0
      ? `${found.length} ${found.length === 1 ? "problem" : "problems"}: it cannot be rendered yet.` : ""));
    this.verdict.classList.toggle("good", this.isReady);
    this.problems.replaceChildren(...found.map(problem => element("li", { class: problem.kind },
      element("span.kind", { text: problem.kind }),
      element("span", { text: problem.message }),
      problem.line
        ? element("button.link.place", {
          type: "button", text: `line ${problem.line}${problem.pointer ? `, ${problem.pointer}` : ""}`,
          onclick: () => this.editor.goTo(problem.line, problem.column),
        })
        : element("span.place", { text: problem.pointer ?? "" }))));
  }

  showMedia() {
    const named = assetsOf(this.editor.text) ?? [];
    const files = this.uploads.files;
    const items = [
      ...named.map(asset => ({ ...asset, file: files.find(file => file.name === asset.name) ?? null })),
      ...files.filter(file => !named.some(asset => asset.name === file.name))
        .map(file => ({ id: null, path: file.name, name: file.name, file })),
    ];
    setHidden(this.mediaEmpty, items.length > 0);
    reconcile(this.media, items, item => `${item.id ?? ""} ${item.path}`, item => this.makeMedium(item), updateMedium);
    this.showSubmit();
  }

  makeMedium(item) {
    const remove = element("button", {
      type: "button", text: "Remove", "aria-label": `Remove ${item.name}`, onclick: () => this.uploads.remove(item.name),
    });
    const retry = element("button", {
      type: "button", text: "Again", "aria-label": `Upload ${item.name} again`,
      onclick: () => this.uploads.retry(this.uploads.files.find(file => file.name === item.name)),
    });
    return element("li", {}, element("span.name", { text: item.name, title: item.path }), element("span.what"),
      element("progress", { max: 1, value: 0, "aria-label": `Upload of ${item.name}` }), retry, remove);
  }

  showSubmit() {
    const waits = this.uploads.files.some(file => !["there", "failed"].includes(file.state));
    this.submit.disabled = !this.isReady || waits || this.isSending;
    setText(this.submit, this.isSending ? "Submitting…" : waits && this.editor.text ? "Waits for the uploads" : "Submit");
  }

  async send() {
    this.isSending = true;
    this.showSubmit();
    const submission = { document: this.editor.text, assets: this.sources() };
    if (this.name.value.trim() !== "") submission.name = this.name.value.trim();
    if (this.pool.value.trim() !== "") submission.pool = this.pool.value.trim();
    if (Number(this.priority.value) !== 0) submission.priority = Math.trunc(Number(this.priority.value));
    if (this.segment.value.trim() !== "") submission.segmentDuration = this.segment.value.trim();
    // The same for a request that is sent again after no answer, so that there is one job.
    const wanted = JSON.stringify(submission);
    const [known, of] = JSON.parse(sessionStorage.getItem(keyKey) ?? "[null, null]");
    const key = known && of === wanted ? known : crypto.randomUUID?.() ?? `page-${Date.now()}-${Math.random().toString(36).slice(2)}`;
    sessionStorage.setItem(keyKey, JSON.stringify([key, wanted]));
    try {
      const job = await api.submit(submission, key);
      takeJob(job);
      sessionStorage.removeItem(draftKey);
      sessionStorage.removeItem(keyKey);
      location.hash = `#/jobs/${job.job}`;
    } catch (error) {
      this.isSending = false;
      this.show(error.problems?.map(problem => ({ kind: "problem", ...problem })) ?? [], error.problems?.length > 0
        ? "" : `Not submitted: ${error.message}`);
      this.showSubmit();
    }
  }
}

function updateMedium(node, item) {
  const [, what, bar, retry, remove] = node.children;
  const { file } = item;
  const unused = item.id === null ? ", which the document does not name" : "";
  const words = {
    hashing: file && `reading, ${percent(file.done / Math.max(1, file.size))}`, asking: "asking the farm",
    uploading: file && `${file.isResumed ? "goes on" : "uploading"}, ${bytes(file.done)} of ${bytes(file.size)}`,
    there: file && `at the farm, ${bytes(file.size)}`, failed: file && `failed: ${file.error}`,
  };
  setText(what, file ? `${words[file.state]}${unused}` : "drop it here, or have it under the farm's media root");
  what.classList.toggle("bad", file?.state === "failed");
  setHidden(bar, !file || !["hashing", "uploading"].includes(file.state));
  if (file) bar.value = file.size > 0 ? file.done / file.size : 1;
  setHidden(retry, file?.state !== "failed");
  setHidden(remove, !file);
}
