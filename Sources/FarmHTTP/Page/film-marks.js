// Where in the film its warnings and its damage are.

import { count, counted } from "./format.js";

/**
 * @param job The status of one job. `film` has its duration of a frame, and the frames that the places of the document
 *   are about.
 * @returns {{ kind: string, text: string, first: number, end: number }[]} By their first frames.
 */
export function marksOf(job) {
  const { frameSeconds, places = [] } = job.film ?? {};
  const marks = [];
  if (frameSeconds > 0) {
    for (const damage of job.damage) {
      for (const place of damage.places) {
        // A time that is a frame's own is not the frame before it.
        const first = Math.floor(place.filmSeconds / frameSeconds + 1e-4);
        marks.push({ kind: "damage", text: `${damage.path}: ${damage.type}`, first, end: first + 1 });
      }
    }
  }
  for (const warning of job.warnings) {
    for (const place of places.filter(candidate => candidate.pointer === warning.pointer)) {
      marks.push({
        kind: warning.loss ? "loss" : "warning", text: warning.message, first: place.firstFrame, end: place.endFrame,
      });
    }
  }
  return marks.sort((a, b) => a.first - b.first || a.end - b.end);
}

/** The marks that a part of the film has, in lines of text: equal ones once, with how often. */
export function describeMarks(marks, first, end, most = 4) {
  const lines = new Map();
  for (const mark of marks) {
    if (mark.first >= end || mark.end <= first) continue;
    const line = `${mark.kind}: ${mark.text}`;
    lines.set(line, [...(lines.get(line) ?? []), Math.max(first, mark.first)]);
  }
  const texts = [...lines].map(([line, frames]) =>
    `${line}, ${frames.length > 1 ? `${counted(frames.length, "place")} from frame` : "frame"} ${count(frames[0])}`);
  return texts.length > most ? [...texts.slice(0, most), `and ${texts.length - most} more`] : texts;
}
