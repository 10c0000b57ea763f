// Stills of the film, each made when its segment is there.

import { api } from "./api.js";
import { element, reconcile } from "./dom.js";
import { count } from "./format.js";

const width = 168;

/** By job and frame, so that a view that is opened again asks for nothing twice. */
const pictures = new Map();
const mostPictures = 200;

export class Filmstrip {
  constructor(job) {
    this.job = job;
    this.node = element("ol.filmstrip", { "aria-label": "Stills of the film" });
    this.stop = new AbortController();
    this.waiting = [];
    this.isLoading = false;
    this.failures = 0;
  }

  end() {
    this.stop.abort();
  }

  /** @param {object[]} segments As `segmentsOf` gives them. */
  set(segments) {
    if (segments.length === 0) return;
    const frames = segments.at(-1).end;
    this.number ??= window.innerWidth < 600 ? 4 : window.innerWidth < 1200 ? 8 : 12;
    const number = Math.min(this.number, frames);
    const places = Array.from({ length: number }, (_, index) => {
      const frame = Math.floor((index + 0.5) / number * frames);
      const segment = segments.findLast(candidate => candidate.first <= frame) ?? segments[0];
      return { frame, isThere: segment.task.state === "done" };
    });
    reconcile(
      this.node, places, place => String(place.frame),
      place => element("li", {}, element("span.still"), element("span.frame", { text: count(place.frame) })),
      (node, place) => {
        const url = pictures.get(`${this.job}/${place.frame}`);
        if (url) this.show(node, place.frame, url);
        else if (place.isThere && !node.dataset.asked) {
          node.dataset.asked = "yes";
          this.waiting.push({ node, frame: place.frame });
        }
      });
    this.load();
  }

  show(node, frame, url) {
    if (node.querySelector("img")) return;
    node.firstElementChild.replaceChildren(element("img", { src: url, alt: `Frame ${count(frame)}` }));
  }

  /** One at a time: each is work for a worker, which renders too. */
  async load() {
    if (this.isLoading) return;
    this.isLoading = true;
    while (this.waiting.length > 0 && !this.stop.signal.aborted && this.failures < 3) {
      const { node, frame } = this.waiting.shift();
      try {
        const blob = await api.still(this.job, frame, width, this.stop.signal);
        const url = URL.createObjectURL(blob);
        pictures.set(`${this.job}/${frame}`, url);
        this.forget();
        this.show(node, frame, url);
      } catch {
        // The place stays empty: a still is an extra.
        this.failures += 1;
      }
    }
    this.isLoading = false;
  }

  forget() {
    while (pictures.size > mostPictures) {
      const [key, url] = pictures.entries().next().value;
      pictures.delete(key);
      URL.revokeObjectURL(url);
    }
  }
}
