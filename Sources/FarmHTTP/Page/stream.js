// The farm's one stream of events. EventSource cannot send a token, so the stream is read by fetch, and this connects
// again with Last-Event-ID.

import { APIError, request } from "./api.js";

const shortestPause = 500;
const longestPause = 10_000;
/** The coordinator writes a comment each 15 s. */
const silenceLimit = 40_000;

/** Splits the text of server-sent events into events. Parts of lines wait for the rest. */
export class EventParser {
  constructor() {
    this.rest = "";
    this.event = { name: "message", id: null, data: [] };
  }

  /** The events that a part of the text completes. */
  feed(text) {
    const found = [];
    // An "\r" at the end may be half of "\r\n".
    const lines = (this.rest + text).split("\n");
    this.rest = lines.pop();
    for (const raw of lines) {
      const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
      if (line === "") {
        if (this.event.data.length > 0) found.push({ ...this.event, data: this.event.data.join("\n") });
        this.event = { name: "message", id: null, data: [] };
        continue;
      }
      const colon = line.indexOf(":");
      if (colon === 0) continue;
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (field === "event") this.event.name = value;
      else if (field === "id") this.event.id = value;
      else if (field === "data") this.event.data.push(value);
    }
    return found;
  }
}

/**
 * Follows the stream for as long as the page is open.
 * @param {(name: string, value) => void} onEvent
 * @param {(isConnected: boolean, error: string | null) => void} onConnection
 * @param {() => void} onBytes Something came, if only a comment.
 */
export function followFarm(onEvent, onConnection, onBytes) {
  let last = null;
  let pause = shortestPause;
  let controller = null;

  async function connect() {
    controller = new AbortController();
    const headers = { Accept: "text/event-stream" };
    if (last) headers["Last-Event-ID"] = last;
    const response = await request("/v1/events", { headers, signal: controller.signal, cache: "no-store" });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const parser = new EventParser();
    let watch = setTimeout(() => controller.abort(), silenceLimit);
    try {
      while (true) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(watch);
        watch = setTimeout(() => controller.abort(), silenceLimit);
        onConnection(true, null);
        onBytes();
        pause = shortestPause;
        for (const event of parser.feed(value)) {
          onEvent(event.name, JSON.parse(event.data));
          if (event.id) last = event.id;
        }
      }
    } finally {
      clearTimeout(watch);
    }
  }

  async function run() {
    while (true) {
      let reason = "the connection was closed";
      try {
        await connect();
      } catch (error) {
        reason = error instanceof APIError ? error.message : "the connection was lost";
      }
      onConnection(false, reason);
      await new Promise(resolve => {
        const timer = setTimeout(resolve, pause);
        // A network that is back, or a tab that is looked at again, need not wait.
        const now = () => {
          clearTimeout(timer);
          resolve();
        };
        window.addEventListener("online", now, { once: true });
      });
      pause = Math.min(longestPause, pause * 1.7);
    }
  }
  run();
}
