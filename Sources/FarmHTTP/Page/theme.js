// Light and dark: as the system has it, or as it was chosen here.

const key = "sheaf.theme";
const choices = ["system", "light", "dark"];
const signs = { system: "◐", light: "☀", dark: "☾" };
const listeners = new Set();

function stored() {
  const choice = localStorage.getItem(key);
  return choices.includes(choice) ? choice : "system";
}

function apply(choice) {
  const root = document.documentElement;
  if (choice === "system") delete root.dataset.theme;
  else root.dataset.theme = choice;
  palette = null;
  for (const listener of listeners) listener();
}

export function startTheme(button) {
  const show = () => {
    const choice = stored();
    button.textContent = signs[choice];
    button.title = `Theme: ${choice}`;
    button.setAttribute("aria-label", `Theme: ${choice}. Change it.`);
  };
  button.addEventListener("click", () => {
    localStorage.setItem(key, choices[(choices.indexOf(stored()) + 1) % choices.length]);
    show();
    apply(stored());
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => apply(stored()));
  show();
  apply(stored());
}

/** Calls a function when the colours change. Returns what ends that. */
export function onTheme(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

let palette = null;

/** The colours of the style sheet, for canvases. */
export function colours() {
  if (palette) return palette;
  const style = getComputedStyle(document.documentElement);
  const read = name => style.getPropertyValue(`--${name}`).trim();
  palette = Object.fromEntries(
    ["bg", "panel", "text", "dim", "line", "accent", "accent-soft", "bad", "warn", "done", "cached", "waiting", "zebra",
      "audio", "other"]
      .map(name => [name, read(name)]));
  palette.font = style.getPropertyValue("--font").trim();
  return palette;
}

/** How much larger the page's text is than on a small screen. */
export function textScale() {
  return parseFloat(getComputedStyle(document.documentElement).fontSize) / 14;
}
