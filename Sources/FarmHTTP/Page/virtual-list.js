// A list of rows of one height, of which only those are in the document that are seen.

import { element } from "./dom.js";

export class VirtualList {
  /**
   * @param {object} options
   * @param {number} options.height Of a row, in pixels.
   * @param {() => HTMLElement} options.make Makes an empty row.
   * @param {(row: HTMLElement, item, index: number) => void} options.fill
   * @param {string} options.label For screen readers.
   * @param {(index: number) => void} [options.onOpen] A row was chosen by Enter.
   * @param {() => void} [options.onEnd] The end is near.
   */
  constructor(options) {
    Object.assign(this, { onEnd: () => {}, onOpen: null, ...options });
    this.items = [];
    this.rows = new Map();
    this.spare = [];
    this.space = element("div.virtual-space");
    this.node = element("div.virtual", { tabindex: "0", role: "list", "aria-label": this.label }, this.space);
    this.space.setAttribute("role", "presentation");
    this.node.addEventListener("scroll", () => this.place(), { passive: true });
    this.observer = new ResizeObserver(() => this.place());
    this.observer.observe(this.node);
  }

  end() { this.observer.disconnect(); }

  set(items) {
    this.items = items;
    this.space.style.height = `${items.length * this.height}px`;
    this.place(true);
  }

  /** @param {boolean} fillsAll Whether rows that are shown already are filled again. */
  place(fillsAll = false) {
    const { scrollTop, clientHeight } = this.node;
    const first = Math.max(0, Math.floor(scrollTop / this.height) - 4);
    const end = Math.min(this.items.length, Math.ceil((scrollTop + clientHeight) / this.height) + 4);
    for (const [index, row] of this.rows) {
      if (index >= first && index < end) continue;
      this.rows.delete(index);
      row.hidden = true;
      this.spare.push(row);
    }
    for (let index = first; index < end; index += 1) {
      let row = this.rows.get(index);
      if (row && !fillsAll) continue;
      if (!row) {
        row = this.spare.pop() ?? this.space.appendChild(this.make());
        row.setAttribute("role", "listitem");
        row.hidden = false;
        row.style.transform = `translateY(${index * this.height}px)`;
        this.rows.set(index, row);
      }
      row.setAttribute("aria-setsize", this.items.length);
      row.setAttribute("aria-posinset", index + 1);
      this.fill(row, this.items[index], index);
    }
    if (end > this.items.length - 20) this.onEnd();
  }

  scrollTo(index) {
    const top = index * this.height;
    if (top < this.node.scrollTop) this.node.scrollTop = top;
    else if (top + this.height > this.node.scrollTop + this.node.clientHeight) {
      this.node.scrollTop = top + this.height - this.node.clientHeight;
    }
  }
}
