// A text field with numbered lines, at which problems stand.

import { element, hideTip, showTip } from "./dom.js";

const lineHeight = 20;
const padding = 10;

export class Editor {
  /** @param {() => void} onInput */
  constructor(onInput) {
    this.problems = new Map();
    this.gutter = element("div.gutter", { "aria-hidden": "true" });
    this.marks = element("div.marks", { "aria-hidden": "true" });
    this.field = element("textarea", {
      id: "document", spellcheck: "false", autocomplete: "off", autocapitalize: "off", wrap: "off",
      placeholder: "Paste a document, or drop it here together with its media.",
    });
    this.node = element("div.editor", {}, this.gutter, element("div.text", {}, this.marks, this.field));
    this.field.addEventListener("input", () => {
      this.number();
      onInput();
    });
    this.field.addEventListener("scroll", () => this.follow(), { passive: true });
    this.field.addEventListener("keydown", event => this.indent(event));
    this.gutter.addEventListener("pointermove", event => this.point(event));
    this.gutter.addEventListener("pointerleave", hideTip);
    this.number();
  }

  get text() { return this.field.value; }

  set text(text) {
    this.field.value = text;
    this.number();
  }

  /** @param {{ line?: number, message: string, kind: string }[]} problems */
  mark(problems) {
    this.problems = new Map();
    for (const problem of problems) {
      if (!problem.line) continue;
      this.problems.set(problem.line, [...(this.problems.get(problem.line) ?? []), problem]);
    }
    this.number(true);
  }

  number(isForced = false) {
    let lines = 1;
    for (let at = this.text.indexOf("\n"); at >= 0; at = this.text.indexOf("\n", at + 1)) lines += 1;
    if (lines === this.lines && !isForced) return;
    this.lines = lines;
    this.gutter.replaceChildren(element("div.lines", {}, Array.from({ length: lines }, (_, index) => {
      const found = this.problems.get(index + 1);
      return element("span", { class: found ? found[0].kind : null, text: String(index + 1) });
    })));
    this.marks.replaceChildren(...[...this.problems].map(([line, found]) => {
      const mark = element("i", { class: found[0].kind });
      mark.dataset.line = line;
      return mark;
    }));
    this.follow();
  }

  follow() {
    this.gutter.scrollTop = this.field.scrollTop;
    for (const mark of this.marks.children) {
      mark.style.transform = `translateY(${padding + (mark.dataset.line - 1) * lineHeight - this.field.scrollTop}px)`;
    }
  }

  point(event) {
    const top = this.gutter.getBoundingClientRect().top;
    const line = Math.floor((event.clientY - top + this.field.scrollTop - padding) / lineHeight) + 1;
    const found = this.problems.get(line);
    if (found) showTip([`Line ${line}`, ...found.map(problem => problem.message)], event.clientX, event.clientY);
    else hideTip();
  }

  /** Puts the caret at a place, from 1. */
  goTo(line, column = 1) {
    const lines = this.text.split("\n");
    const before = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
    const at = Math.min(this.text.length, before + column - 1);
    this.field.focus();
    this.field.setSelectionRange(at, at);
    this.field.scrollTop = Math.max(0, (line - 1) * lineHeight - this.field.clientHeight / 2);
  }

  /** Enter keeps the indentation. Tab leaves the field, as everywhere. */
  indent(event) {
    if (event.key !== "Enter" || event.ctrlKey || event.metaKey || event.isComposing) return;
    const { selectionStart: start, selectionEnd: end } = this.field;
    const line = this.text.slice(this.text.lastIndexOf("\n", start - 1) + 1, start);
    const space = /^ */.exec(line)[0];
    if (space === "") return;
    event.preventDefault();
    this.field.setRangeText(`\n${space}`, start, end, "end");
    this.field.dispatchEvent(new Event("input"));
  }
}
