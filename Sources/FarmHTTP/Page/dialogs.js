// Questions to the person at the page.

import { element } from "./dom.js";

function open(dialog) {
  document.body.append(dialog);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.showModal();
}

/** Asks before something is done that cannot be undone. Resolves to whether it shall be done. */
export function confirmAction({ title, text, action, isDangerous = true }) {
  return new Promise(resolve => {
    const dialog = element("dialog", { "aria-labelledby": "dialog-title" });
    const yes = element(isDangerous ? "button.danger" : "button.primary", {
      type: "button", text: action, onclick: () => dialog.close("yes"),
    });
    dialog.append(
      element("h2", { id: "dialog-title", text: title }),
      element("p", { text }),
      element("div.actions", {},
        element("button", { type: "button", text: "Keep it as it is", autofocus: true, onclick: () => dialog.close() }),
        yes));
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"));
    open(dialog);
  });
}

/** Asks for the farm's token. Resolves to null if it is not given. */
export function askToken(wasWrong) {
  return new Promise(resolve => {
    const dialog = element("dialog", { "aria-labelledby": "dialog-title" });
    const field = element("input", { type: "password", id: "token", autocomplete: "off", autofocus: true });
    const form = element("form", { method: "dialog" },
      element("h2", { id: "dialog-title", text: "The farm has a token" }),
      element("p", {
        text: wasWrong
          ? "The token was refused. Give the one that the coordinator was started with, or one that was made for you."
          : "Give the token that the coordinator was started with, or one that was made for you. It is kept until this tab is closed.",
      }),
      element("label", { for: "token", text: "Token" }), field,
      element("div.actions", {}, element("button.primary", { type: "submit", text: "Continue" })));
    form.addEventListener("submit", event => {
      event.preventDefault();
      const token = field.value.trim();
      if (token !== "") dialog.close(token);
    });
    dialog.append(form);
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "" ? null : dialog.returnValue));
    open(dialog);
  });
}

/** Asks for a number. Resolves to null if it is not given. */
export function askNumber({ title, label, value, step = 1 }) {
  return new Promise(resolve => {
    const dialog = element("dialog", { "aria-labelledby": "dialog-title" });
    const field = element("input", { type: "number", id: "number", step, required: true, value, autofocus: true });
    const form = element("form", { method: "dialog" },
      element("h2", { id: "dialog-title", text: title }), element("label", { for: "number", text: label }), field,
      element("div.actions", {},
        element("button", { type: "button", text: "Keep it as it is", onclick: () => dialog.close() }),
        element("button.primary", { type: "submit", text: "Change" })));
    form.addEventListener("submit", event => {
      event.preventDefault();
      dialog.close(field.value);
    });
    dialog.append(form);
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "" ? null : Number(dialog.returnValue)));
    open(dialog);
  });
}

/** Asks for a text. Resolves to null if it is not given. @param {string} pattern Of the whole text. */
export function askText({ title, label, value = "", pattern = ".*", hint = "" }) {
  return new Promise(resolve => {
    const dialog = element("dialog", { "aria-labelledby": "dialog-title" });
    const field = element("input", { id: "text", value, pattern, title: hint, autocomplete: "off", autofocus: true });
    const form = element("form", { method: "dialog" },
      element("h2", { id: "dialog-title", text: title }), element("label", { for: "text", text: label }), field,
      element("div.actions", {},
        element("button", { type: "button", text: "Keep it as it is", onclick: () => dialog.close() }),
        element("button.primary", { type: "submit", text: "Change" })));
    form.addEventListener("submit", event => {
      event.preventDefault();
      dialog.close("yes");
    });
    dialog.append(form);
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes" ? field.value.trim() : null));
    open(dialog);
  });
}

/** Asks for a pool's working hours. Resolves to null if they stay. @param {string?} pool Null: its name is asked for. */
export function askHours(pool, hours = "", timeZone = "") {
  return new Promise(resolve => {
    const dialog = element("dialog", { "aria-labelledby": "dialog-title" });
    const name = element("input", { id: "pool", value: pool ?? "", required: true, maxlength: 64, autofocus: pool === null,
      pattern: "[0-9A-Za-z][0-9A-Za-z._\\-]*", title: "Letters, digits, '.', '_' and '-'", autocomplete: "off" });
    const spans = element("input", { id: "hours", value: hours, required: true, autofocus: pool !== null, autocomplete: "off",
      placeholder: "mon-fri 19:00-07:00, sat-sun 00:00-24:00" });
    const zone = element("input", { id: "zone", required: true, autocomplete: "off",
      value: timeZone || Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC" });
    const form = element("form", { method: "dialog" },
      element("h2", { id: "dialog-title", text: pool === null ? "Working hours of a pool" : `Working hours of ${pool}` }),
      pool === null ? element("label", { for: "pool", text: "Pool" }) : null, pool === null ? name : null,
      element("label", { for: "hours", text: "Open" }), spans,
      element("label", { for: "zone", text: "Time zone" }), zone,
      element("div.actions", {},
        element("button", { type: "button", text: "Keep it as it is", onclick: () => dialog.close() }),
        element("button.primary", { type: "submit", text: "Set" })));
    form.addEventListener("submit", event => {
      event.preventDefault();
      dialog.close("yes");
    });
    dialog.append(form);
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"
      ? { pool: name.value.trim(), hours: spans.value.trim(), timeZone: zone.value.trim() } : null));
    open(dialog);
  });
}

/** Asks how workers are held, and why. Resolves to null if they are not. */
export function askHold(worker) {
  return new Promise(resolve => {
    const dialog = element("dialog", { "aria-labelledby": "dialog-title" });
    const choices = [
      ["paused", "Pause: what it executes goes on to its end"],
      ["draining", "Drain: it ends when it has no task"],
      ["quarantined", "Quarantine: what it has made is made again by others"],
    ];
    const hold = element("select", { id: "hold", autofocus: true },
      choices.map(([value, text]) => element("option", { value, text })));
    const reason = element("input", { id: "reason", maxlength: 200, autocomplete: "off" });
    const form = element("form", { method: "dialog" },
      element("h2", { id: "dialog-title", text: `Grant ${worker} no tasks?` }),
      element("label", { for: "hold", text: "How" }), hold,
      element("label", { for: "reason", text: "Why, for people" }), reason,
      element("div.actions", {},
        element("button", { type: "button", text: "Keep it as it is", onclick: () => dialog.close() }),
        element("button.danger", { type: "submit", text: "Hold it" })));
    form.addEventListener("submit", event => {
      event.preventDefault();
      dialog.close("yes");
    });
    dialog.append(form);
    dialog.addEventListener("close", () =>
      resolve(dialog.returnValue === "yes" ? { hold: hold.value, reason: reason.value.trim() } : null));
    open(dialog);
  });
}

/** Shows a new token, which is not shown again. Resolves when it was read. */
export function showToken(made) {
  return new Promise(resolve => {
    const dialog = element("dialog", { "aria-labelledby": "dialog-title" });
    const field = element("input", { id: "new-token", readonly: true, value: made.join ?? made.token, onfocus: () => field.select() });
    dialog.append(
      element("h2", { id: "dialog-title", text: `The token of ${made.owner}` }),
      element("p", { text: "It is shown this once: the farm stores no more than its digest."
        + (made.join ? " It is a join token: a worker needs nothing else to know the farm." : "") }),
      element("label", { for: "new-token", text: `${made.role}, ${made.id}` }), field,
      element("div.actions", {}, element("button.primary", {
        type: "button", text: "I have it", onclick: () => dialog.close(),
      })));
    dialog.addEventListener("close", () => resolve());
    open(dialog);
  });
}

/** Says that an action has failed. */
export function showFailure(title, error) {
  const dialog = element("dialog", { "aria-labelledby": "dialog-title" },
    element("h2", { id: "dialog-title", text: title }),
    element("p", { text: error.message }));
  dialog.append(element("div.actions", {},
    element("button.primary", { type: "button", text: "Close", autofocus: true, onclick: () => dialog.close() })));
  open(dialog);
}
