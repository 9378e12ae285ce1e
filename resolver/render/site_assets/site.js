/* What every page has: the theme, elements made of text, and data that comes as scripts. */
"use strict";

const abilock = {
  /** An element; children are elements or text, never HTML. */
  make(name, attributes, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes ?? {})) {
      if (value === null || value === undefined || value === false) continue;
      if (key === "onclick") element.addEventListener("click", value);
      else element.setAttribute(key, value === true ? "" : value);
    }
    element.append(...children.flat(9).filter((child) => child !== null && child !== undefined));
    return element;
  },

  waiting: new Map(),

  /** The value of a script of ``data/``: scripts load from files, where requests may not. */
  load(name) {
    if (!abilock.waiting.has(name)) {
      let done, failed;
      const value = new Promise((resolve, reject) => { done = resolve; failed = reject; });
      abilock.waiting.set(name, { value, done });
      const element = abilock.make("script", { src: `${document.body.dataset.root}data/${name}.js` });
      element.addEventListener("error", () => {
        abilock.waiting.delete(name);
        failed(new Error(name));
      });
      document.head.append(element);
    }
    return abilock.waiting.get(name).value;
  },

  take(name, value) { abilock.waiting.get(name)?.done(value); },
};

(() => {
  const button = document.getElementById("theme");
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => (root.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
  const name = () => { button.textContent = isDark() ? "Light theme" : "Dark theme"; };
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("abilock-theme", root.dataset.theme); } catch { /* forbidden */ }
    name();
  });
  system.addEventListener("change", name);
  name();
})();
