// The film of a job while it is rendered: what is there plays from its first picture on, and the rest is added as it
// comes.

import { jobPath, request } from "./api.js";
import { element, setHidden, setText } from "./dom.js";

/** How much is fetched ahead of what plays, and how much is kept of what was played, in seconds. */
const ahead = 60;
const behind = 60;
/** How often the playlists are read again, in milliseconds. */
const interval = 1000;

const sleep = (time, signal) => new Promise(done => {
  const timer = setTimeout(done, time);
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    done();
  }, { once: true });
});

/** The streams of a multivariant playlist: `{ playlist, type }`, the pictures first. */
export function streamsOf(text) {
  const lines = text.split("\n");
  const head = lines.findIndex(line => line.startsWith("#EXT-X-STREAM-INF:"));
  const codecs = (/CODECS="([^"]*)"/.exec(lines[head])?.[1] ?? "").split(",");
  const sound = lines.find(line => line.startsWith("#EXT-X-MEDIA:TYPE=AUDIO"));
  const streams = [{ playlist: lines[head + 1], type: `video/mp4; codecs="${codecs[0]}"` }];
  if (sound) streams.push({ playlist: /URI="([^"]*)"/.exec(sound)[1], type: `audio/mp4; codecs="${codecs[1]}"` });
  return streams;
}

/** A media playlist: its head, its segments with their places in seconds, and whether that is all. */
export function playlistOf(text) {
  const list = { head: null, segments: [], isComplete: false };
  let length = 0;
  let end = 0;
  for (const line of text.split("\n")) {
    if (line.startsWith("#EXT-X-MAP:")) list.head = /URI="([^"]*)"/.exec(line)[1];
    else if (line.startsWith("#EXTINF:")) length = parseFloat(line.slice(8));
    else if (line === "#EXT-X-ENDLIST") list.isComplete = true;
    else if (line !== "" && !line.startsWith("#")) {
      list.segments.push({ name: line, start: end, end: end + length });
      end += length;
    }
  }
  return list;
}

/** One of the streams that are played, in a buffer of the browser. */
class Stream {
  constructor(source, { playlist, type }, read) {
    this.buffer = source.addSourceBuffer(type);
    this.playlist = playlist;
    this.read = read;
    this.head = null;
    this.list = null;
    this.appended = new Set();
  }

  change(work) {
    return new Promise((done, failed) => {
      this.buffer.addEventListener("updateend", done, { once: true });
      this.buffer.addEventListener("error", () => failed(new Error("the browser does not decode it")), { once: true });
      work();
    });
  }

  /** Fetches what plays next, and forgets what was played. Resolves to whether all of the film is in the buffer. */
  async fill(time) {
    // What is complete does not change.
    if (!this.list?.isComplete) this.list = playlistOf(await this.read(this.playlist, "text"));
    const list = this.list;
    if (list.head !== this.head) {
      const bytes = await this.read(list.head, "arrayBuffer");
      await this.change(() => this.buffer.appendBuffer(bytes));
      this.head = list.head;
    }
    for (const { name, start, end } of list.segments) {
      if (end < time - behind && this.appended.delete(name)) await this.change(() => this.buffer.remove(start, end));
      if (end <= time || start > time + ahead || this.appended.has(name)) continue;
      const bytes = await this.read(name, "arrayBuffer");
      await this.change(() => this.buffer.appendBuffer(bytes));
      this.appended.add(name);
    }
    return list.isComplete && this.appended.has(list.segments.at(-1)?.name);
  }
}

export class RenderingFilm {
  constructor(job) {
    this.job = job;
    this.stop = null;
    this.hasAudio = false;
    this.status = element("p.watch-line", { role: "status" });
    this.button = element("button", { type: "button", text: "Watch while it renders", onclick: () => this.start() });
    this.node = element("div.film.watch", { hidden: true },
      element("div.file", {}, element("span.name", { text: "What is rendered" }), this.button), this.status);
  }

  end() {
    this.stop?.abort();
    this.player?.remove();
    this.player = null;
    if (this.url) URL.revokeObjectURL(this.url);
    this.url = null;
  }

  /** A film that plays stays, also when the job is done. @param {object[]} segments As `segmentsOf` gives them. */
  set(job, segments) {
    this.hasAudio = Boolean(job?.hasAudio);
    const isOffered = job?.state === "rendering" && segments.length > 0 && "MediaSource" in window;
    setHidden(this.node, !isOffered && !this.stop);
  }

  async read(name, form) {
    const response = await request(`${jobPath(this.job)}/watch/${name}`, { signal: this.stop.signal });
    return response[form]();
  }

  async start() {
    setHidden(this.button, true);
    const stop = new AbortController();
    this.stop = stop;
    let time = 0;
    try {
      while (!stop.signal.aborted) time = await this.play(time, stop.signal);
    } catch (error) {
      if (stop.signal.aborted) return;
      setText(this.status, `The film cannot be watched: ${error.message}`);
      this.end();
      this.stop = null;
      setHidden(this.button, false);
    }
  }

  /** The streams that are there, when there is a segment. */
  async streams(signal) {
    while (!signal.aborted) {
      try {
        return streamsOf(await this.read("film.m3u8", "text"));
      } catch (error) {
        if (error.status !== 503 && error.status !== 429) throw error;
        setText(this.status, "Waits for the first segment.");
        await sleep(interval, signal);
      }
    }
    return [];
  }

  /**
   * Plays from a time on. Resolves to the time that was reached when the sound is there too, so that it has to be played
   * with it, and never otherwise.
   */
  async play(time, signal) {
    const streams = await this.streams(signal);
    if (signal.aborted) return time;
    const missing = streams.find(stream => !MediaSource.isTypeSupported(stream.type));
    if (missing) throw new Error(`this browser does not play ${missing.type}`);
    const wasPlaying = this.player ? !this.player.paused : true;
    this.player?.remove();
    if (this.url) URL.revokeObjectURL(this.url);
    const source = new MediaSource();
    this.url = URL.createObjectURL(source);
    const player = element("video", { controls: true, src: this.url, playsinline: true, "aria-label": "The film so far" });
    this.player = player;
    this.node.append(player);
    await new Promise(done => source.addEventListener("sourceopen", done, { once: true }));
    const buffers = streams.map(stream => new Stream(source, stream, (name, form) => this.read(name, form)));
    const hasSound = streams.length > 1;
    let isBegun = false;
    while (!signal.aborted) {
      if (player.error) throw new Error(player.error.message);
      const parts = [];
      for (const buffer of buffers) parts.push(await buffer.fill(isBegun ? player.currentTime : time));
      if (!isBegun) {
        isBegun = true;
        if (time > 0) player.currentTime = time;
        if (wasPlaying) player.play().catch(() => {});
      }
      const isWhole = parts.every(Boolean);
      const lacksSound = this.hasAudio && !hasSound;
      setText(this.status, [isWhole ? "" : "The rest is added as it is rendered.", lacksSound ? "There is no sound yet." : ""]
        .filter(Boolean).join(" "));
      if (isWhole && source.readyState === "open") source.endOfStream();
      if (lacksSound && (await this.streams(signal)).length > 1) return player.currentTime;
      await sleep(interval, signal);
    }
    return player.currentTime;
  }
}
