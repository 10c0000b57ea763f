// What is wrong with a job: its problems, its warnings and its damage, each with its places.

import { element, reconcile, setHidden } from "./dom.js";
import { marksOf } from "./film-marks.js";
import { count, counted } from "./format.js";

const mostPlaces = 8;

/** @param {(frame: number) => void} onShow A frame was asked for. */
export function makeFindings(onShow) {
  const list = element("ul.findings");
  const node = element("section.panel", { "aria-labelledby": "findings-title", hidden: true },
    element("div.panel-head", {}, element("h2", { id: "findings-title", text: "Problems and warnings" })), list);
  return {
    node,
    update(job) {
      const found = findingsOf(job);
      setHidden(node, found.length === 0);
      reconcile(list, found, item => JSON.stringify(item),
        item => element("li", { class: item.kind }, element("span.kind", { text: item.kind }),
          element("span", { text: item.text }), makePlaces(item, onShow)),
        () => {});
    },
  };
}

function findingsOf(job) {
  const marks = marksOf(job);
  const framesOf = (kind, text) => marks.filter(mark => mark.kind === kind && mark.text === text);
  return [
    ...(job.state === "failed" && job.error ? [{ kind: "problem", text: job.error, place: "", frames: [] }] : []),
    ...(job.doubt ? [{ kind: "problem", text: `The film may be wrong: ${job.doubt}`, place: "", frames: [] }] : []),
    ...job.problems.map(problem => ({ kind: "problem", text: problem.message, place: placeOf(problem), frames: [] })),
    ...job.damage.map(damage => {
      const frames = framesOf("damage", `${damage.path}: ${damage.type}`).map(mark => mark.first);
      const times = damage.places.slice(0, mostPlaces).map(place => place.filmSeconds.toFixed(2));
      return {
        kind: "damage", text: `${damage.path}: ${damage.type}, ${counted(damage.count, "place")}`, frames,
        place: times.length > 0 ? `${times.join(", ")}${damage.count > times.length ? " …" : ""} s of the film` : "",
      };
    }),
    ...job.warnings.map(problem => {
      const kind = problem.loss ? "loss" : "warning";
      return {
        kind, text: problem.message, place: placeOf(problem),
        frames: framesOf(kind, problem.message).map(mark => mark.first),
      };
    }),
  ];
}

/** The place in words, and buttons that show where it is in the film. */
function makePlaces({ place, frames }, onShow) {
  const shown = [...new Set(frames)].slice(0, mostPlaces);
  return element("span.place", {}, element("span", { text: place }), shown.map(frame =>
    element("button.link", { type: "button", text: `frame ${count(frame)}`, onclick: () => onShow(frame) })));
}

function placeOf(problem) {
  const line = problem.line ? `line ${problem.line}${problem.column ? `:${problem.column}` : ""}` : "";
  return [problem.pointer ?? problem.path ?? "", line].filter(text => text !== "").join(", ");
}
