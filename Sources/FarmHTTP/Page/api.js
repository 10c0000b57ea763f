// Requests of the HTTP API, with the farm's token if it has one.

const tokenKey = "sheaf.token";

/** An error that the API has answered with, or the lack of an answer. */
export class APIError extends Error {
  /** @param {number} status 0: there was no answer. */
  constructor(status, message, problems = []) {
    super(message);
    this.status = status;
    this.problems = problems;
  }
}

let askForToken = async () => null;
let asking = null;
/** The person did not give the token: requests are refused, and the dialog does not come again by itself. */
let isDeclined = false;

/** Sets what asks a person for the token. */
export function onTokenNeeded(ask) {
  askForToken = ask;
}

/** Whether the farm refuses this page until it has the token. */
export function lacksToken() {
  return isDeclined;
}

/** Asks for the token that was not given before. Resolves to whether there is one now. */
export function giveToken() {
  return renewToken(sessionStorage.getItem(tokenKey), true);
}

export function hasToken() {
  return sessionStorage.getItem(tokenKey) !== null;
}

function headersWith(more) {
  const headers = new Headers(more);
  const token = sessionStorage.getItem(tokenKey);
  if (token) headers.set("Authorization", `Bearer ${token}`);
  return headers;
}

/** Asks once, however many requests were refused. */
async function renewToken(refused, isWanted = false) {
  if (sessionStorage.getItem(tokenKey) !== refused) return true;
  if (isDeclined && !isWanted) return false;
  asking ??= askForToken(refused !== null).finally(() => {
    asking = null;
  });
  const token = await asking;
  isDeclined = token === null;
  if (isDeclined) return false;
  sessionStorage.setItem(tokenKey, token);
  return true;
}

/** As `fetch`, with the token. Throws `APIError` for every answer that is no success, but those in `accept`. */
export async function request(path, options = {}) {
  const { accept = [], ...rest } = options;
  while (true) {
    const token = sessionStorage.getItem(tokenKey);
    let response;
    try {
      response = await fetch(path, { ...rest, headers: headersWith(rest.headers) });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new APIError(0, "the coordinator does not answer");
    }
    if (response.status === 401 && await renewToken(token)) continue;
    if (response.ok || accept.includes(response.status)) return response;
    throw await problem(response);
  }
}

async function problem(response) {
  let details = {};
  try {
    details = await response.json();
  } catch {
    // The status says enough.
  }
  return new APIError(
    response.status, details.detail ?? details.title ?? `the coordinator answered ${response.status}`,
    details.problems ?? []);
}

export async function getJSON(path, options) {
  return (await request(path, options)).json();
}

export async function postJSON(path, value, options = {}) {
  const response = await request(path, {
    method: "POST", ...options, body: JSON.stringify(value),
    headers: { "Content-Type": "application/json", ...options.headers },
  });
  const text = await response.text();
  return text === "" ? null : JSON.parse(text);
}

export const jobPath = job => `/v1/jobs/${encodeURIComponent(job)}`;

export const api = {
  job: id => getJSON(jobPath(id)),
  tasks: id => getJSON(`${jobPath(id)}/tasks`),
  cancel: id => request(`${jobPath(id)}/cancel`, { method: "POST" }),
  retry: id => request(`${jobPath(id)}/retry`, { method: "POST" }),
  pause: id => request(`${jobPath(id)}/pause`, { method: "POST" }),
  resume: id => request(`${jobPath(id)}/resume`, { method: "POST" }),
  setPriority: async (id, priority) => request(jobPath(id), {
    method: "PATCH", body: JSON.stringify({ priority }), headers: { "Content-Type": "application/json" },
  }),
  remove: id => request(jobPath(id), { method: "DELETE" }),
  removeAll: states => postJSON("/v1/jobs/delete", { states }),
  /** A page of jobs, newest first. @param {string} name A part of their names. */
  jobs: ({ states = [], name = "", after = null, limit = 200 }) => {
    const query = new URLSearchParams({ limit });
    if (states.length > 0) query.set("state", states.join(","));
    if (name !== "") query.set("name", name);
    if (after) query.set("after", after);
    return getJSON(`/v1/jobs?${query}`);
  },
  /** A still of the composition at a frame, as a blob. */
  still: async (id, frame, width, signal) =>
    (await request(`${jobPath(id)}/stills?time=${frame}f&width=${width}&quality=80`, { signal })).blob(),
  check: (inspection, signal) => postJSON("/v1/check", inspection, { signal }),
  missing: contents => postJSON("/v1/content/missing", { contents }),
  owners: () => getJSON("/v1/owners"),
  changeOwner: async change => request("/v1/owners", {
    method: "PATCH", body: JSON.stringify(change), headers: { "Content-Type": "application/json" },
  }),
  pools: () => getJSON("/v1/pools"),
  changePool: async (pool, hours, timeZone) => request(`/v1/pools/${encodeURIComponent(pool)}`, {
    method: "PUT", body: JSON.stringify({ hours, timeZone }), headers: { "Content-Type": "application/json" },
  }),
  removePool: pool => request(`/v1/pools/${encodeURIComponent(pool)}`, { method: "DELETE" }),
  /** @param {string} pool Empty: none. */
  setPool: async (id, pool) => request(jobPath(id), {
    method: "PATCH", body: JSON.stringify({ pool }), headers: { "Content-Type": "application/json" },
  }),
  holds: () => getJSON("/v1/holds"),
  /** @param {string} hold "none": the worker is granted tasks again. */
  holdWorker: async (worker, hold, reason = "") => request("/v1/holds", {
    method: "PATCH", body: JSON.stringify({ worker, hold, reason }), headers: { "Content-Type": "application/json" },
  }),
  tokens: () => getJSON("/v1/tokens"),
  createToken: request => postJSON("/v1/tokens", request),
  revokeToken: id => request(`/v1/tokens/${encodeURIComponent(id)}`, { method: "DELETE" }),
  /** A page of the audit, the newest first. @param {string} action Names with commas. Empty: all. */
  audit: ({ before = null, action = "", limit = 100 }) => {
    const query = new URLSearchParams({ limit });
    if (before) query.set("before", before);
    if (action !== "") query.set("action", action);
    return getJSON(`/v1/audit?${query}`);
  },
  submit: (submission, key) => postJSON("/v1/jobs", submission, { headers: { "Idempotency-Key": key } }),
};
