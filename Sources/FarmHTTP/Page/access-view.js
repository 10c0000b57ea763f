// Who may use the farm, and who has: tokens, and the audit.

import { api } from "./api.js";
import { askNumber, confirmAction, showFailure, showToken } from "./dialogs.js";
import { element, setHidden, setText } from "./dom.js";
import { bytes, count, exactTime, localTime } from "./format.js";

const roles = [
  ["submitter", "Submitter: its owner’s jobs"], ["viewer", "Viewer: sees everything"],
  ["operator", "Operator: may do everything"], ["worker", "Worker: registers workers"],
  ["metrics", "Metrics: reads /metrics"],
];
const lifetimes = [["", "until it is revoked"], ["86400", "1 day"], ["2592000", "30 days"], ["7776000", "90 days"],
  ["31536000", "1 year"]];
const actions = [
  ["", "Everything"], ["refused", "Refusals"], ["tokenCreated,tokenRevoked,certificateIssued,ownerChanged", "Tokens and owners"],
  ["workerHeld,workerReleased,poolChanged,poolRemoved", "Workers and pools"],
  ["jobSubmitted,jobCancelled,jobRetried,jobPaused,jobResumed,jobPriorityChanged,jobPoolChanged,jobDeleted", "Jobs"], ["contentUploaded,contentDownloaded", "Content"],
  ["webhookAdded,webhookChanged,webhookRemoved,webhookSecretChanged,messageSentAgain", "Webhooks"],
];

export function showAccess(parent) {
  const view = { isOver: false, next: null };
  const tokens = element("tbody");
  const owners = element("tbody");
  const audit = element("tbody");
  const noTokens = element("p.empty", { text: "There are no tokens but the farm’s own.", hidden: true });
  const noAudit = element("p.empty", { text: "There is nothing of this.", hidden: true });
  const more = element("button", { type: "button", text: "Older", hidden: true, onclick: () => readAudit(view.next) });
  const refusal = element("p.empty", { hidden: true });
  const which = choice("Which entries", actions, () => readAudit(null));
  const form = tokenForm(() => readAll());
  const panels = [
    element("section.panel", { "aria-label": "Tokens" },
      element("div.panel-head", {}, element("h2", { text: "Tokens" }), form),
      scrolled("Table of tokens", table(["Token", "Role", "Owner", "Pool", "State", "Made", "Description", ""], tokens)), noTokens),
    element("section.panel", { "aria-label": "Owners" },
      element("div.panel-head", {}, element("h2", { text: "Owners of jobs" })),
      scrolled("Table of owners", table(["Owner", "Weight", "Tasks that run", "At most", "Jobs that have not ended", "At most", "Stored at most", ""], owners))),
    element("section.panel", { "aria-label": "Audit" },
      element("div.panel-head", {}, element("h2", { text: "Who has done what" }), element("div.tools", {}, which)),
      scrolled("Table of the audit", table(["Time", "Who", "From", "What", "Subject", "Detail"], audit)), noAudit,
      element("p.note", {}, more)),
  ];
  parent.append(element("div.view-head", {}, element("h1", { text: "Access" })), refusal, ...panels);

  const readTokens = async () => {
    const found = (await api.tokens()).tokens;
    if (view.isOver) return;
    tokens.replaceChildren(...found.map(token => tokenRow(token, () => readAll())));
    setHidden(noTokens, found.length > 0);
  };
  const readOwners = async () => {
    const found = (await api.owners()).owners;
    if (!view.isOver) owners.replaceChildren(...found.map(owner => ownerRow(owner, () => readAll())));
  };
  const readAudit = async before => {
    try {
      const page = await api.audit({ before, action: which.value });
      if (view.isOver) return;
      if (before === null) audit.replaceChildren();
      audit.append(...page.entries.map(auditRow));
      view.next = page.next ?? null;
      setHidden(more, view.next === null);
      setHidden(noAudit, audit.children.length > 0);
    } catch (error) {
      refuse(error);
    }
  };
  const readAll = async () => {
    try {
      await readTokens();
      await readOwners();
      await readAudit(null);
    } catch (error) {
      refuse(error);
    }
  };
  const refuse = error => {
    if (view.isOver) return;
    setText(refusal, error.message);
    setHidden(refusal, false);
    for (const panel of panels) setHidden(panel, error.status === 403);
  };
  readAll();
  return () => {
    view.isOver = true;
  };
}

function scrolled(label, child) {
  return element("div.scroll", { tabindex: "0", role: "group", "aria-label": label }, child);
}

function table(columns, body) {
  return element("table", {}, element("thead", {}, element("tr", {},
    columns.map(text => element("th", { scope: "col", text })))), body);
}

function choice(label, options, onchange) {
  return element("select", { "aria-label": label, onchange },
    options.map(([value, text]) => element("option", { value, text })));
}

/** @param {() => void} changed Called when there is another token. */
function tokenForm(changed) {
  const role = choice("Role", roles);
  const lifetime = choice("Valid", lifetimes);
  const owner = element("input", { "aria-label": "Owner", placeholder: "Owner", required: true, maxlength: 64,
    pattern: "[!-~]+", title: "Visible ASCII characters without spaces", autocomplete: "off" });
  const description = element("input", { "aria-label": "Description", placeholder: "What for", maxlength: 200,
    autocomplete: "off" });
  const pool = element("input", { "aria-label": "Pool", placeholder: "Pool: any", maxlength: 64, autocomplete: "off",
    pattern: "[0-9A-Za-z][0-9A-Za-z._\\-]*", title: "The only pool of its workers or jobs: letters, digits, '.', '_' and '-'" });
  const mayHavePool = () => setHidden(pool, !["worker", "submitter"].includes(role.value));
  role.addEventListener("change", mayHavePool);
  const form = element("form.tools.filters", {}, role, owner, pool, description, lifetime,
    element("button.primary", { type: "submit", text: "Make a token" }));
  form.addEventListener("submit", async event => {
    event.preventDefault();
    const request = { role: role.value, owner: owner.value, description: description.value };
    if (!pool.hidden && pool.value !== "") request.pool = pool.value;
    if (lifetime.value !== "") request.lifetimeSeconds = Number(lifetime.value);
    try {
      const made = await api.createToken(request);
      form.reset();
      mayHavePool();
      changed();
      await showToken(made);
    } catch (error) {
      showFailure("The token was not made", error);
    }
  });
  return form;
}

function tokenRow(token, changed) {
  const isRevoked = Boolean(token.revokedAt);
  const isExpired = token.expiresAt && Date.parse(token.expiresAt) <= Date.now();
  const end = isRevoked ? token.revokedAt : token.expiresAt;
  const state = isRevoked ? "revoked" : isExpired ? "expired" : end ? "valid until" : "valid";
  const row = element("tr", {}, element("th.mono", { scope: "row", text: token.id }),
    element("td", { text: token.role }), element("td", { text: token.owner }),
    element("td", { text: token.pool ?? "" }),
    element("td", {}, `${state} `, end ? time(end) : null), element("td", {}, time(token.createdAt)),
    element("td", { text: token.description }), element("td", {}, isRevoked || isExpired ? null : element("button", {
      type: "button", text: "Revoke", "aria-label": `Revoke ${token.id} of ${token.owner}`, onclick: revoke,
    })));
  row.classList.toggle("gone", isRevoked || Boolean(isExpired));
  async function revoke() {
    const text = `Whoever uses ${token.id} of ${token.owner} is refused from now on, and what is open by it is closed.`;
    if (!await confirmAction({ title: "Revoke the token?", text, action: "Revoke it" })) return;
    try {
      await api.revokeToken(token.id);
      changed();
    } catch (error) {
      showFailure("The token was not revoked", error);
    }
  }
  return row;
}

/** @param {() => void} changed Called when what the owner may have is another. */
function ownerRow(owner, changed) {
  const title = owner.owner === "" ? "whoever has the farm’s own token" : owner.owner;
  const change = element("button", { type: "button", text: "Weight", "aria-label": `Weight of ${title}`, onclick: async () => {
    const weight = await askNumber({
      title: `Weight of ${title}`, label: "Twice the weight is twice as much of the farm", value: owner.weight, step: "any",
    });
    if (weight === null) return;
    try {
      await api.changeOwner({ owner: owner.owner, weight });
      changed();
    } catch (error) {
      showFailure("The weight was not changed", error);
    }
  } });
  return element("tr", {}, element("th", { scope: "row", text: title }), element("td.number", { text: String(owner.weight) }),
    element("td.number", { text: count(owner.running) }), element("td.number", { text: limit(owner.mostRunning) }),
    element("td.number", { text: count(owner.jobs) }), element("td.number", { text: limit(owner.mostJobs) }),
    element("td.number", { text: owner.mostBytes === undefined ? "any" : bytes(owner.mostBytes) }),
    element("td", {}, change));
}

function limit(number) {
  return number === undefined ? "any" : count(number);
}

function auditRow(entry) {
  const subject = element("td.mono", { text: entry.subject.length > 20 ? `${entry.subject.slice(0, 12)}…` : entry.subject });
  if (entry.subject.length > 20) subject.title = entry.subject;
  const who = element("td", { text: entry.owner ?? entry.role ?? "" });
  if (entry.token) who.title = `${entry.role}, ${entry.token}`;
  const row = element("tr", {}, element("td", {}, time(entry.time)), who, element("td.mono", { text: entry.address }),
    element("td", { text: entry.action }), subject,
    element("td", { text: entry.times > 1 ? `${entry.detail} (${entry.times} times)` : entry.detail }));
  row.classList.toggle("warn", entry.action === "refused");
  return row;
}

function time(text) {
  const seconds = Date.parse(text) / 1000;
  return element("time", { datetime: exactTime(seconds), title: exactTime(seconds), text: localTime(seconds) });
}
