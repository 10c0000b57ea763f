// Elements, made and changed without markup as text.

/**
 * Makes an element. Attributes that begin with "on" are listeners; null and false ones are left out.
 * @param {string} tag The name, such as "div" or "div.panel".
 */
export function element(tag, attributes = {}, ...children) {
  const [name, ...classes] = tag.split(".");
  const made = document.createElement(name);
  if (classes.length > 0) made.className = classes.join(" ");
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false && !key.startsWith("aria-")) continue;
    if (key.startsWith("aria-")) made.setAttribute(key, value);
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key === "text") made.textContent = value;
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter(child => child !== null && child !== undefined && child !== false));
  return made;
}

/** Sets a text only if it is another, so that selections and screen readers are not disturbed. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function setAttribute(node, name, value) {
  if (value === null || value === false) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

export function setHidden(node, isHidden) {
  if (node.hidden !== isHidden) node.hidden = isHidden;
}

/**
 * Makes the children of a node those of a list, and keeps the elements whose keys stay.
 * @param {(item) => string} key
 * @param {(item) => HTMLElement} make
 * @param {(element, item) => void} update
 */
export function reconcile(parent, items, key, make, update) {
  const known = new Map();
  for (const child of [...parent.children]) known.set(child.dataset.key, child);
  let next = parent.firstElementChild;
  for (const item of items) {
    const name = key(item);
    let child = known.get(name);
    if (child) {
      known.delete(name);
    } else {
      child = make(item);
      child.dataset.key = name;
    }
    update(child, item);
    if (child === next) next = next.nextElementSibling;
    else parent.insertBefore(child, next);
  }
  for (const child of known.values()) child.remove();
}

/** The pixels of a canvas follow its size and the screen's density. Returns its size in CSS pixels. */
export function fitCanvas(canvas) {
  const { width, height } = canvas.getBoundingClientRect();
  const density = window.devicePixelRatio || 1;
  const wide = Math.max(1, Math.round(width * density));
  const high = Math.max(1, Math.round(height * density));
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
  }
  const context = canvas.getContext("2d");
  context.setTransform(density, 0, 0, density, 0, 0);
  return { width, height, context };
}

const tip = () => document.getElementById("tip");

/** Shows a text beside a point of the window. */
export function showTip(lines, x, y) {
  const box = tip();
  box.replaceChildren(...lines.map((line, index) => element(index === 0 ? "strong" : "span", { text: line })));
  box.hidden = false;
  const { width, height } = box.getBoundingClientRect();
  const left = Math.min(Math.max(8, x + 12), window.innerWidth - width - 8);
  const top = y + 16 + height > window.innerHeight - 8 ? y - height - 12 : y + 16;
  box.style.left = `${Math.max(8, left)}px`;
  box.style.top = `${Math.max(8, top)}px`;
}

export function hideTip() {
  tip().hidden = true;
}

/** Calls a function once at the next frame, however often it is asked for until then. */
export function atNextFrame(work) {
  let isAsked = false;
  return () => {
    if (isAsked) return;
    isAsked = true;
    // A tab in the background has no frames.
    const run = () => {
      isAsked = false;
      work();
    };
    if (document.hidden) setTimeout(run, 250);
    else requestAnimationFrame(run);
  };
}
