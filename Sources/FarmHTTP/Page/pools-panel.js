// The pools of workers: whether each is open, who is in it, and its working hours.

import { api } from "./api.js";
import { askHours, confirmAction, showFailure } from "./dialogs.js";
import { element, setHidden } from "./dom.js";
import { count, exactTime, localTime } from "./format.js";

/** How often the list is read again: no event says that a pool opens or closes. */
const interval = 15000;

/** Puts the pools into a view. Returns how to read them again, and how to end. */
export function showPools(parent) {
  const body = element("tbody");
  const none = element("p.empty", { text: "No worker and no job has a pool: every worker takes every job." });
  const add = element("button", { type: "button", text: "Set hours…", onclick: () => setHours(null) });
  const table = element("div.scroll", { tabindex: "0", role: "group", "aria-label": "Table of pools" },
    element("table", {}, element("thead", {}, element("tr", {},
      ["Pool", "State", "Workers", "Slots", "Jobs", "Hours", ""].map((text, index) =>
        element(index >= 2 && index <= 4 ? "th.number" : "th", { scope: "col", text })))), body));
  parent.append(element("section.panel", { "aria-labelledby": "pools-title" },
    element("div.panel-head", {}, element("h2", { id: "pools-title", text: "Pools" }), element("div.tools", {}, add)), table, none));
  let isOver = false;
  /** What is shown, as text. */
  let shown = "";
  const read = async () => {
    try {
      const { pools } = await api.pools();
      // A row that stays is not made anew: somebody may be about to press its buttons.
      const text = JSON.stringify(pools);
      if (isOver || text === shown) return;
      shown = text;
      setHidden(table, pools.length === 0);
      setHidden(none, pools.length > 0);
      body.replaceChildren(...pools.map(row));
    } catch {
      // What is shown stays, and is read again.
    }
  };
  const setHours = async pool => {
    const asked = await askHours(pool?.pool ?? null, pool?.hours, pool?.timeZone);
    if (!asked) return;
    try {
      await api.changePool(asked.pool, asked.hours, asked.timeZone);
    } catch (error) {
      showFailure("The hours were not set", error);
    }
    await read();
  };
  const removeHours = async pool => {
    const text = `${pool.pool} is always open then. Its workers and jobs stay in it.`;
    if (!await confirmAction({ title: `Remove the hours of ${pool.pool}?`, text, action: "Remove them" })) return;
    try {
      await api.removePool(pool.pool);
    } catch (error) {
      showFailure("The hours were not removed", error);
    }
    await read();
  };
  const row = pool => {
    const state = element(pool.isOpen ? "td" : "td.warn", {}, pool.isOpen ? "open" : "closed");
    if (pool.changesAt) {
      const seconds = Date.parse(pool.changesAt) / 1000;
      state.append(" until ", element("time", { datetime: exactTime(seconds), title: exactTime(seconds), text: localTime(seconds) }));
    }
    return element("tr", {}, element("th", { scope: "row", text: pool.pool }), state,
      element("td.number", { text: count(pool.workers) }), element("td.number", { text: count(pool.slots) }),
      element("td.number", { text: count(pool.jobs) }),
      element("td", { text: pool.hours ? `${pool.hours} (${pool.timeZone})` : "always" }),
      element("td", {},
        element("button", { type: "button", text: "Hours…", "aria-label": `Hours of ${pool.pool}`, onclick: () => setHours(pool) }), " ",
        pool.hours ? element("button", {
          type: "button", text: "No hours", "aria-label": `Remove hours of ${pool.pool}`, onclick: () => removeHours(pool),
        }) : null));
  };
  const timer = setInterval(read, interval);
  read();
  return { read, end: () => {
    isOver = true;
    clearInterval(timer);
  } };
}
