/* The picker: a pick is a key of the answers that were computed; nothing is decided here. */
"use strict";

(async () => {
  const { make } = abilock;
  const form = document.getElementById("pick");
  const gpu = document.getElementById("gpu");
  const gpuSaid = document.getElementById("gpu-said");
  const said = document.getElementById("said");
  const box = document.getElementById("answer");
  const result = document.getElementById("result");
  const jump = document.getElementById("jump");
  const SIGNS = { ran: "★", measured: "●", reported: "◆", declared: "▲", inferred: "◐", assumed: "○" };
  const CHANNEL = (name) => (name === "default" ? "default index" : `channel ${name}`);

  let axes;
  try { axes = await abilock.load("axes"); } catch {
    result.hidden = false;
    box.replaceChildren(make("p", { class: "card" }, "data/axes.js is missing: the site is not whole."));
    return;
  }

  /* ---- what is picked ---- */

  /* As abilock reads names of GPUs: without case, maker and punctuation. */
  const normal = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, " ")
    .replace(/(rtx|gtx|pro)(?=\d)/g, "$1 ").replace(/(\d)(?=(?:ti|super)\b)/g, "$1 ")
    .split(" ").filter((word) => word && !["nvidia", "geforce", "tesla"].includes(word)).join(" ");

  const archs = new Set(axes.gpus.map((one) => one.arch));
  const findGpu = (text) => {
    const id = axes.gpus.find((one) => one.id === text.trim());
    if (id) return id;
    const arch = /^(?:sm|compute)?_?(?:(\d{1,2})\.(\d)|(\d{2,3}))[af]?$/i.exec(text.trim());
    if (arch && (/^(sm|compute)/i.test(text.trim()) || arch[1])) {
      const name = `sm_${arch[3] ?? arch[1] + arch[2]}`;
      return archs.has(name) ? { name, arch: name } : null;
    }
    const wanted = normal(text);
    if (!wanted) return null;
    let best = null;
    for (const one of axes.gpus) {
      for (const key of one.keys) {
        if (key === wanted || key.replaceAll(" ", "") === wanted.replaceAll(" ", "")) return one;
        const next = wanted.startsWith(`${key} `) ? wanted.slice(key.length + 1).split(" ")[0] : null;
        const other = ["ti", "super", "d", "ada"].includes(next);
        if (next && !other && key.length > (best?.length ?? 0)) best = { length: key.length, one };
      }
    }
    return best?.one ?? null;
  };

  abilock.findGpu = findGpu;

  const chosen = (name) => form.querySelector(`input[name="${name}"]:checked`)?.value;
  const choose = (name, value) => {
    const radios = [...form.querySelectorAll(`input[name="${name}"]`)];
    const radio = radios.find((one) => one.value === value) ?? radios.find((one) => one.checked) ?? radios[0];
    if (radio) radio.checked = true;
  };

  /* A GPU says what machine it is in, where that is but one. */
  const settle = () => {
    const arch = findGpu(gpu.value)?.arch;
    const machines = axes.places.filter((one) => one.endsWith(` ${arch}`)).map((one) => one.split(" ")[0]);
    if (machines.length === 1) choose("machine", machines[0]);
  };

  const read = () => {
    const state = new URLSearchParams(location.hash.slice(1));
    const text = state.get("gpu") ?? axes.first.gpu;
    gpu.value = findGpu(text)?.name ?? text;
    choose("install", state.get("install") ?? axes.choices.find((c) => c.asks.includes("sgl-kernel"))?.id);
    for (const name of ["cuda", "python", "machine"]) choose(name, state.get(name) ?? axes.first[name]);
    if (!state.has("machine")) settle();
  };

  const write = () => {
    const known = findGpu(gpu.value);
    const state = new URLSearchParams({
      install: chosen("install"), gpu: known?.id ?? known?.arch ?? gpu.value,
      cuda: chosen("cuda"), python: chosen("python"), machine: chosen("machine"),
    });
    history.replaceState(null, "", `#${state}`);
  };

  /* ---- pieces of an answer ---- */

  const badge = (grade) => make("span", { class: `badge ${grade}` },
    make("span", { "aria-hidden": "true" }, SIGNS[grade]), ` ${grade}`);
  const mark = (kind, sign, words) => make("span", { class: `badge ${kind}` },
    make("span", { "aria-hidden": "true" }, sign), ` ${words}`);

  const copy = (text, what) => make("button", {
    type: "button", class: "quiet copy", "aria-label": `Copy ${what}`,
    onclick: async (event) => {
      const button = event.currentTarget;
      try { await navigator.clipboard.writeText(text); button.textContent = "Copied"; }
      catch {
        const range = document.createRange();
        range.selectNodeContents(button.parentElement.querySelector("pre"));
        getSelection().removeAllRanges();
        getSelection().addRange(range);
        button.textContent = "Selected";
      }
      said.textContent = `${button.textContent}: ${what}`;
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    },
  }, "Copy");

  const command = (text, what) => make("div", { class: "command" },
    make("pre", { tabindex: "0", "aria-label": what }, make("code", null, text)), copy(text, what));

  const facts = (rows) => make("dl", { class: "facts" }, rows.filter(([, value]) => value)
    .map(([label, value]) => [make("dt", null, label), make("dd", null, value)]));

  const reason = (one) => make("article", { class: `reason ${one.severity}` },
    make("p", null, make("a", { href: `reason/${one.code}.html` }, make("code", null, one.code)), " ",
      make("strong", null, one.object ? `${one.subject} with ${one.object}` : one.subject), " ",
      badge(one.grade)),
    facts([["needs", one.needs], ["found", one.found], ["in", one.member],
      ["works with", one.works_with], ["fix", one.remedy], ["known by", one.evidence]]));

  const section = (title, ...children) => make("section", null, make("h3", null, title), ...children);
  const list = (items) => make("ul", null, items.map((item) => make("li", null, item)));
  const about = (pick) =>
    `${pick.gpu.name === pick.gpu.arch ? "" : `${pick.gpu.name}, `}${pick.gpu.arch}, ` +
    `CUDA ${pick.cuda}, Python ${pick.python}, Linux ${pick.machine} with glibc ${axes.glibc}`;
  const words = (pick) =>
    `${pick.choice.asks} \\\n  --cuda ${pick.cuda} --arch ${pick.gpu.arch.replace("_", "")} ` +
    `--python ${pick.python} \\\n  --machine ${pick.machine} --glibc ${axes.glibc}`;

  const table = (rows, pinned) => make("table", null,
    make("caption", { class: "hidden" }, "Packages of the set"),
    make("thead", null, make("tr", null,
      ["Package", "Version", "From"].map((head) => make("th", { scope: "col" }, head)))),
    make("tbody", null, rows.map(([name, version, channel, , href]) => make("tr", null,
      make("th", { scope: "row" }, pinned.has(name) ? make("strong", null, name) : name),
      make("td", null, href ? make("a", { href }, version) : make("code", null, version)),
      make("td", null, CHANNEL(channel))))));

  const draw = (kind, sign, headline, pick, ...parts) => {
    box.replaceChildren(
      make("h2", { class: `verdict ${kind}` }, make("span", { "aria-hidden": "true" }, sign), ` ${headline}`),
      make("p", { class: "soft" }, about(pick)),
      ...parts.flat(9).filter((part) => part !== null && part !== undefined));
    said.textContent = `${headline}. ${about(pick)}`;
    jump.textContent = `${sign} ${headline} \u2193`;
  };

  /* ---- answers ---- */

  const solved = (pick, data, answer) => {
    const rows = data.sets[answer.packages].map((number) => data.packages[number]);
    const pairs = answer.pairs.map((number) => data.pairs[number]);
    const reasons = answer.reasons.map((number) => data.reasons[number]);
    const asked = new Set(pick.choice.asks.split(" "));
    const stack = new Set([...asked, "torch", ...pairs.map((pair) => pair.extension.split(" ")[0])]);
    const head = rows.filter(([name]) => stack.has(name));
    const rest = rows.length - head.length;
    const pins = rows.map(([name, version]) => `${name}==${version}`).join("\n");
    const degraded = reasons.filter((one) => one.severity === "degraded");
    const warnings = reasons.filter((one) => one.severity !== "degraded");
    const count = rows.length === 1 ? "1 package" : `${rows.length} packages`;
    draw("yes", "✓", `Solved${degraded.length ? ", degraded" : ""}: ${count}`, pick,
      make("p", { class: "badges" },
        answer.grade ? ["Known by its pairs: ", badge(answer.grade)] : "No package of it links with torch: nothing binary has to agree.",
        degraded.length ? [" ", mark("no", "!", "degraded")] : null,
        warnings.length ? [" ", mark("warning", "!", warnings.length === 1 ? "1 warning" : `${warnings.length} warnings`)] : null),
      make("div", { class: "scroll", role: "region", "aria-label": "Packages", tabindex: "0" }, table(head, asked)),
      rest ? make("details", null,
        make("summary", null, `All ${rows.length} packages of the set`),
        command(pins, "all pins")) : null,
      section("Lock and install",
        command(`abilock resolve ${words(pick)}\nabilock export --to uv -o requirements.txt\nuv pip sync --require-hashes requirements.txt`, "commands"),
        make("p", { class: "soft" },
          "The first line writes pylock.toml with a sha256 for each file. With pip: ",
          make("code", null, "abilock export --to pip"), ". With ", make("code", null, "--offline"),
          " it gives exactly this set; with a network it also knows what is newer.")),
      pairs.length ? section(`How it is known, beside ${pairs[0].torch}`, make("ul", { class: "pairs" },
        pairs.map((pair) => make("li", null, make("strong", null, pair.extension), " ", badge(pair.grade),
          make("small", null, pair.summary || pair.evidence),
          pair.summary ? make("details", null, make("summary", null, "Evidence"),
            make("small", null, pair.evidence)) : null)))) : null,
      answer.tuple ? section("Set", make("p", null, make("a", { href: answer.set ?? "sets.html" }, answer.tuple))) : null,
      degraded.length ? section("Degraded", degraded.map(reason)) : null,
      warnings.length ? section("Warnings", warnings.map(reason)) : null,
      answer.newer.length ? section("Newer, and not taken",
        list(answer.newer.map(([release, why]) => [make("strong", null, release), `: ${why}`]))) : null,
      answer.notes.length ? section("Notes", list(answer.notes)) : null);
  };

  const sets = (answer) => answer.sets.length ? section("Measured sets for this machine",
    make("p", { class: "soft" }, "What releases pin exactly, with how it is known; they say what to try."),
    list(answer.sets.map(([id, title, grade, href]) => [
      href ? make("a", { href }, title) : title, " ", badge(grade), make("small", null, ` ${id}`)]))) : null;

  const more = (answer) => answer.more
    ? make("p", null, `and ${answer.more} more, which the command tells`) : null;

  const against = (pick, data, answer) => [
    answer.requests.length && answer.requests.join(" ") !== pick.choice.asks
      ? make("p", null, "What cannot hold: ", make("code", null, answer.requests.join(", "))) : null,
    answer.against.map((number) => reason(data.reasons[number])),
    more(answer),
    answer.relaxations.length ? section("What solves it",
      answer.relaxations.map(([text, line]) => [make("p", null, text), line ? command(line, text) : null])) : null,
    sets(answer),
    answer.notes.length ? section("Notes", list(answer.notes)) : null,
  ];

  const conflict = (pick, data, answer) => draw("no", "✕", "No solution", pick,
    against(pick, data, answer),
    section("The whole answer", command(`abilock resolve ${words(pick)}`, "command")));

  const unknown = (pick, data, answer) => draw("unknown", "?", "Unknown without a network", pick,
    make("p", null, "What decides is not in the database. Run this where the indexes can be reached:"),
    command(`abilock resolve ${words(pick)}`, "command"),
    sets(answer),
    section("What could not be looked at", make("details", null,
      make("summary", null, `Reasons: ${answer.against.length + answer.more}`),
      answer.against.map((number) => reason(data.reasons[number])), more(answer))),
    answer.notes.length ? section("Notes", list(answer.notes)) : null);

  const absent = (pick) => draw("unknown", "?", "Not computed for this site", pick,
    make("p", null, "Nothing is guessed here: ask the command, which answers for any machine."),
    command(`abilock resolve ${words(pick)}`, "command"),
    make("p", { class: "soft" }, make("a", { href: "about.html" }, "What the picker covers")));

  let turn = 0;
  const answer = async () => {
    const mine = ++turn;
    const known = findGpu(gpu.value);
    gpu.setAttribute("aria-invalid", known ? "false" : "true");
    gpuSaid.textContent = known
      ? `Compute capability ${known.arch.replace(/^sm_(\d+)(\d)$/, "$1.$2")} (${known.arch})`
      : gpu.value.trim() ? `No GPU of the database is called “${gpu.value.trim()}”: pick one of the list, or write sm_90.`
        : "Type a name.";
    for (const chip of form.querySelectorAll("[data-gpu]")) {
      chip.setAttribute("aria-pressed", String(known?.id === chip.dataset.gpu));
    }
    if (!known) { box.replaceChildren(); said.textContent = gpuSaid.textContent; return; }
    write();
    if (!axes.choices.length || !axes.cudas.length) {
      box.replaceChildren(make("p", null, "This database holds nothing to pick from."));
      return;
    }
    const pick = {
      gpu: known, choice: axes.choices.find((one) => one.id === chosen("install")),
      cuda: chosen("cuda"), python: chosen("python"), machine: chosen("machine"),
    };
    let data;
    try { data = await abilock.load(pick.choice.id); } catch {
      if (mine === turn) draw("unknown", "?", `data/${pick.choice.id}.js is missing`, pick);
      return;
    }
    if (mine !== turn) return;
    const number = data.cells[`${pick.machine} ${known.arch} ${pick.cuda} ${pick.python}`];
    if (number === undefined) { absent(pick); return; }
    const found = data.answers[number];
    ({ solved, conflict, unknown })[found.verdict](pick, data, found);
  };

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("change", answer);
  gpu.addEventListener("input", () => { settle(); answer(); });
  gpu.addEventListener("focus", () => gpu.select());
  for (const chip of form.querySelectorAll("[data-gpu]")) {
    chip.addEventListener("click", () => {
      gpu.value = axes.gpus.find((one) => one.id === chip.dataset.gpu).name;
      settle();
      answer();
    });
  }
  addEventListener("hashchange", () => { read(); answer(); });
  form.hidden = false;
  result.hidden = false;
  read();
  await answer();
  /* Where the answer lies below the picks, its verdict stays in sight and leads there. */
  jump.addEventListener("click", () => { result.scrollIntoView(); result.focus(); });
  new IntersectionObserver(([seen]) => { jump.hidden = seen.isIntersecting; }).observe(result);
  document.body.dataset.ready = "yes";
})();
