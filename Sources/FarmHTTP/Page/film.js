// The film of a job that is done: to play and to save.

import { hasToken, jobPath, request } from "./api.js";
import { element } from "./dom.js";
import { showFailure } from "./dialogs.js";
import { bytes } from "./format.js";
import { saveBlob } from "./trace.js";

/** What browsers play, by the ending of the name. */
const playable = { mp4: "video/mp4", m4v: "video/mp4", mov: "video/mp4", webm: "video/webm", m4a: "audio/mp4",
  mp3: "audio/mpeg", wav: "audio/wav", ogg: "audio/ogg" };

/** A film with a token is read whole before it plays: of a larger one only the download is offered. */
const longestWithToken = 512 << 20;

/** The files of a job: `{ name, path, bytes }`. */
export function filesOf(job) {
  if (job.state !== "done" || !job.output) return [];
  const path = jobPath(job.job);
  if (job.outputs) {
    return job.outputs.map(output => ({
      name: output.file, path: `${path}/outputs/${encodeURIComponent(output.file)}`, bytes: null,
    }));
  }
  return [{ name: null, path: `${path}/film`, bytes: job.output.bytes }];
}

/** The name that the API gives a file. */
async function nameOf(path) {
  const response = await request(path, { method: "HEAD" });
  const header = response.headers.get("Content-Disposition") ?? "";
  const extended = /filename\*=UTF-8''([^;]+)/i.exec(header);
  if (extended) return decodeURIComponent(extended[1]);
  return /filename="([^"]*)"/.exec(header)?.[1] ?? "film";
}

export class Film {
  constructor() {
    this.node = element("div.film");
    this.shown = null;
    this.urls = [];
  }

  end() {
    for (const url of this.urls) URL.revokeObjectURL(url);
  }

  set(job) {
    const files = filesOf(job);
    const key = files.length > 0 ? job.output.digest : null;
    if (key === this.shown) return;
    this.shown = key;
    this.node.replaceChildren();
    for (const file of files) this.add(file);
  }

  async add(file) {
    const row = element("div.file");
    this.node.append(row);
    try {
      file.name ??= await nameOf(file.path);
    } catch (error) {
      row.append(element("p.bad", { text: `The film cannot be fetched: ${error.message}` }));
      return;
    }
    const size = file.bytes === null ? "" : `, ${bytes(file.bytes)}`;
    row.append(element("span.name", { text: `${file.name}${size}` }), this.downloadControl(file));
    const ending = file.name.split(".").at(-1).toLowerCase();
    const type = playable[ending];
    if (!type || document.createElement("video").canPlayType(type) === "") return;
    if (hasToken() && (file.bytes ?? 0) > longestWithToken) return;
    const play = element("button", { type: "button", text: "Play" });
    play.addEventListener("click", () => this.play(row, play, file, type));
    row.append(play);
  }

  downloadControl(file) {
    if (!hasToken()) return element("a.button", { href: file.path, download: file.name, text: "Download" });
    const button = element("button", { type: "button", text: "Download" });
    button.addEventListener("click", async () => {
      button.disabled = true;
      try {
        saveBlob(await (await request(file.path)).blob(), file.name);
      } catch (error) {
        showFailure("The film cannot be fetched", error);
      }
      button.disabled = false;
    });
    return button;
  }

  async play(row, button, file, type) {
    button.disabled = true;
    try {
      let source = file.path;
      if (hasToken()) {
        source = URL.createObjectURL(await (await request(file.path)).blob());
        this.urls.push(source);
      }
      const tag = type.startsWith("audio") ? "audio" : "video";
      const player = element(tag, { controls: true, src: source, "aria-label": file.name });
      player.addEventListener("error", () => {
        player.replaceWith(element("p.empty", { text: "This browser does not play the film; it can be downloaded." }));
      });
      row.append(player);
      button.remove();
      player.play().catch(() => {});
    } catch (error) {
      button.disabled = false;
      showFailure("The film cannot be fetched", error);
    }
  }
}
