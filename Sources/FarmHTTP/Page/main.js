// Starts the page: the stream, the views and what is in its header.

import { showAccess } from "./access-view.js";
import { giveToken, lacksToken, onTokenNeeded } from "./api.js";
import { askToken } from "./dialogs.js";
import { element, hideTip, setHidden, setText } from "./dom.js";
import { showFarm } from "./farm-view.js";
import { age } from "./format.js";
import { showJob } from "./job-view.js";
import { showJobs } from "./jobs-view.js";
import { showNewJob } from "./new-job-view.js";
import { startNotifications } from "./notifications.js";
import { farm, onChange, startFarm } from "./state.js";
import { startTheme } from "./theme.js";
import { showWorkers } from "./workers-view.js";

/** Each shows itself in an element, and returns what ends it. */
const views = [
  { pattern: /^\/?$/, nav: "#/", title: "Farm", show: showFarm },
  { pattern: /^\/jobs$/, nav: "#/jobs", title: "Jobs", show: showJobs },
  { pattern: /^\/jobs\/([^/]+)$/, nav: "#/jobs", title: "Job", show: showJob },
  { pattern: /^\/workers$/, nav: "#/workers", title: "Workers", show: showWorkers },
  { pattern: /^\/access$/, nav: "#/access", title: "Access", show: showAccess },
  { pattern: /^\/new$/, nav: "#/new", title: "New job", show: showNewJob },
];

const content = document.getElementById("content");
let end = null;
let isFirst = true;

function route() {
  const hash = location.hash;
  // The link to the content is no view.
  if (hash === "#content") return;
  const [place, query] = hash.slice(1).split("?");
  const path = decodeURIComponent(place);
  const found = views.find(view => view.pattern.test(path));
  end?.();
  end = null;
  hideTip();
  for (const link of document.querySelectorAll("nav a")) {
    if (found && link.getAttribute("href") === found.nav) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  content.replaceChildren();
  document.title = `${found?.title ?? "Not found"} · Sheaf`;
  if (found) {
    end = found.show(content, ...found.pattern.exec(path).slice(1), new URLSearchParams(query));
  } else {
    content.append(element("h1", { text: "There is no such view" }), element("p", {}, element("a", {
      href: "#/", text: "To the farm",
    })));
  }
  window.scrollTo(0, 0);
  if (!isFirst) content.focus({ preventScroll: true });
  isFirst = false;
}

const connection = document.getElementById("connection");
const banner = document.getElementById("banner");
const bannerText = element("span");
const tokenButton = element("button", { type: "button", text: "Give the token", hidden: true, onclick: async () => {
  // Views that have asked in vain ask again.
  if (await giveToken()) location.reload();
} });
banner.append(bannerText, tokenButton);

/** Says whether the page is live, and how old its data is if not. */
function showConnection() {
  const isLive = farm.isConnected && farm.hasState;
  connection.dataset.state = isLive ? "live" : "lost";
  setText(connection, isLive ? "Live" : farm.hasState ? "Not connected" : "Connecting");
  const old = farm.heardAt === 0 ? "" : ` What is shown was true ${age((Date.now() - farm.heardAt) / 1000)}.`;
  const reason = lacksToken() ? "the farm’s token was not given" : farm.reason ?? "waiting for the coordinator";
  setText(bannerText, `Not connected: ${reason}.${old}${lacksToken() ? "" : " Trying again."}`);
  setHidden(tokenButton, !lacksToken());
  setHidden(banner, isLive || (!farm.reason && farm.heardAt === 0));
}

document.querySelector(".skip").addEventListener("click", event => {
  event.preventDefault();
  content.focus();
});
onTokenNeeded(askToken);
startTheme(document.getElementById("theme"));
onChange(showConnection);
setInterval(showConnection, 1000);
showConnection();
window.addEventListener("hashchange", route);
startNotifications();
startFarm();
route();
