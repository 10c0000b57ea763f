// Media on their way to the farm: each file is hashed, asked for, and uploaded from where the farm has it.

import { api, request } from "./api.js";

const part = 4 << 20;
const pauses = [500, 1000, 2000, 4000, 8000];

/** A file's `state` is `hashing`, `asking`, `uploading`, `there` or `failed`; `done` is in bytes. */
export class Uploads {
  /** @param {() => void} onChange */
  constructor(onChange) {
    this.onChange = onChange;
    this.files = [];
    this.worker = null;
    this.answers = new Map();
    this.stop = new AbortController();
    this.next = 0;
    /** Uploads go one after another. */
    this.turn = Promise.resolve();
  }

  end() {
    this.stop.abort();
    this.worker?.terminate();
  }

  /** A file of the same name takes the place of one that was added before. */
  add(file) {
    this.remove(file.name);
    const item = {
      name: file.name, size: file.size, file, digest: null, state: "hashing", done: 0, error: null, isResumed: false,
    };
    this.files.push(item);
    this.run(item);
  }

  remove(name) {
    this.files = this.files.filter(item => {
      if (item.name === name) item.isRemoved = true;
      return item.name !== name;
    });
    this.onChange();
  }

  get areThere() { return this.files.every(item => item.state === "there"); }

  async run(item) {
    try {
      item.digest = await this.hash(item);
      this.set(item, "asking", 0);
      const { missing } = await api.missing([{ digest: item.digest, size: item.size }]);
      if (missing.length > 0) {
        this.turn = this.turn.catch(() => {}).then(() => item.isRemoved ? null : this.upload(item));
        await this.turn;
      }
      this.set(item, "there", item.size);
    } catch (error) {
      if (error.name === "AbortError") return;
      item.error = error.message;
      this.set(item, "failed", item.done);
    }
  }

  set(item, state, done) {
    item.state = state;
    item.done = done;
    this.onChange();
  }

  retry(item) {
    item.error = null;
    this.set(item, "hashing", 0);
    this.run(item);
  }

  hash(item) {
    if (!this.worker) {
      this.worker = new Worker("/assets/hash-worker.js", { type: "module" });
      this.worker.onmessage = event => this.answers.get(event.data.id)?.(event.data);
    }
    const id = this.next++;
    return new Promise((resolve, reject) => {
      this.answers.set(id, answer => {
        if (answer.done !== undefined) return this.set(item, "hashing", answer.done);
        this.answers.delete(id);
        if (answer.digest) resolve(answer.digest);
        else reject(new Error(answer.error));
      });
      this.worker.postMessage({ id, file: item.file });
    });
  }

  /** In parts, each from where the farm says that the upload goes on. */
  async upload(item) {
    const path = `/v1/content/${item.digest}`;
    let offset = await this.offset(path);
    item.isResumed = offset > 0;
    let failures = 0;
    while (true) {
      this.set(item, "uploading", offset);
      const end = Math.min(item.size, offset + part);
      try {
        const response = await request(path, {
          method: "PATCH", body: item.file.slice(offset, end), accept: [409], signal: this.stop.signal,
          headers: {
            "Content-Type": "application/octet-stream", "Upload-Offset": String(offset), "Upload-Length": String(item.size),
          },
        });
        if (response.headers.get("Upload-Complete") === "?1") return;
        offset = Number(response.headers.get("Upload-Offset") ?? end);
        if (response.status !== 409) failures = 0;
        else if (++failures > pauses.length) throw new Error("the upload does not go on");
      } catch (error) {
        // No answer, or too busy: the farm keeps what it has.
        const isPassing = error.status === 0 || error.status === 429 || error.status === 503;
        if (!isPassing || failures >= pauses.length || item.isRemoved) throw error;
        await new Promise(resolve => setTimeout(resolve, pauses[failures]));
        failures += 1;
        offset = await this.offset(path).catch(() => offset);
      }
    }
  }

  async offset(path) {
    const response = await request(path, { method: "HEAD", signal: this.stop.signal });
    return Number(response.headers.get("Upload-Offset") ?? 0);
  }
}
