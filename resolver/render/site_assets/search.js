/* Search over pages, libraries and symbols: every word has to be in the text. */
"use strict";

(async () => {
  const { make } = abilock;
  const MOST = 60, SHOWN = 8;
  const input = document.getElementById("query");
  const results = document.getElementById("results");
  const count = document.getElementById("count");
  const NAMES = {
    release: "Release", reason: "Reason", gpu: "GPU", set: "Set", library: "Library", symbol: "Symbol",
  };
  let index;
  try { index = await abilock.load("search"); } catch {
    count.textContent = "The index could not be loaded: data/search.js is missing.";
    return;
  }
  const { pages } = index;
  const entries = [
    ...pages.map(([kind, words, address]) => ({ kind, words, address, low: words.toLowerCase() })),
    ...index.libraries.map(([words, by, releases, all]) =>
      ({ kind: "library", words, note: by && `brought by ${by}`, releases, all, low: words.toLowerCase() })),
    ...index.symbols.map(([words, mangled, releases, all]) =>
      ({ kind: "symbol", words, note: mangled === words ? "" : mangled, releases, all,
         low: `${words} ${mangled}`.toLowerCase() })),
  ];

  const rank = (entry, text) =>
    entry.low === text ? 0 : entry.low.startsWith(text) ? 1 : 2;

  const show = () => {
    const text = input.value.trim().toLowerCase();
    const words = text.split(/\s+/).filter(Boolean);
    results.replaceChildren();
    if (!words.length) { count.textContent = `${entries.length} entries`; return; }
    const found = entries
      .filter((entry) => words.every((word) => entry.low.includes(word)))
      .map((entry, at) => ({ entry, at, rank: rank(entry, text) }))
      .sort((one, other) => one.rank - other.rank || one.at - other.at);
    count.textContent = found.length
      ? `${found.length} found${found.length > MOST ? `, the first ${MOST} are shown` : ""}`
      : `Nothing with ${words.map((word) => `“${word}”`).join(" and ")}`;
    results.append(...found.slice(0, MOST).map(({ entry }) => make("li", null,
      make("span", { class: "kind" }, NAMES[entry.kind]), " ",
      entry.address ? make("a", { href: entry.address }, entry.words) : make("code", null, entry.words),
      entry.note ? make("small", null, entry.note) : null,
      entry.releases ? make("small", null,
        entry.kind === "library" ? "needed by " : "binds ",
        entry.releases.slice(0, SHOWN).map((number, at) =>
          [at ? ", " : "", make("a", { href: pages[number][2] }, pages[number][1])]),
        entry.all > SHOWN ? ` and ${entry.all - SHOWN} more` : "") : null)));
  };

  input.value = new URLSearchParams(location.search).get("q") ?? "";
  input.addEventListener("input", show);
  input.form.addEventListener("submit", (event) => { event.preventDefault(); show(); });
  show();
})();
