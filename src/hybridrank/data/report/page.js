"use strict";
(() => {
  const byId = (id) => document.getElementById(id);
  const queries = [...document.querySelectorAll("details.query")];
  const words = byId("words"), count = byId("count"), failed = byId("failed"), changed = byId("changed");
  const shown = () => queries.filter((one) => !one.hidden);

  // The hits of a query are a text in its <noscript> until they are needed.
  const hidden = new Map(queries.map((query) => [query, query.querySelector("noscript")]));
  function fill(query) {
    const held = hidden.get(query);
    if (!held) return;
    hidden.delete(query);
    held.outerHTML = held.textContent;
  }

  // What the filter looks at, gathered once it is first used: the query and its hits, not what explains them.
  let texts = null;
  const escaped = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;" };
  const escape = (text) => text.replace(/[&<>"']/g, (char) => escaped[char]);
  function textOf(query) {
    const held = hidden.get(query);
    const html = held ? held.textContent : query.querySelector(".sides").innerHTML;
    const hits = html.replace(/<details class="why">.*?<\/details>/gs, "").replace(/<[^>]*>/g, "");
    return `${escape(query.querySelector("h3").textContent)}\n${hits}`.toLowerCase();
  }

  function filter() {
    const wanted = escape(words.value.toLowerCase()).split(/\s+/).filter(Boolean);
    if (wanted.length && !texts) texts = queries.map(textOf);
    let number = 0;
    queries.forEach((query, place) => {
      const passes =
        (!failed || !failed.checked || query.hasAttribute("data-failed")) &&
        (!changed || !changed.checked || query.hasAttribute("data-changed")) &&
        wanted.every((word) => texts[place].includes(word));
      query.hidden = !passes;
      number += passes;
    });
    const what = queries.length === 1 ? "query" : "queries";
    count.textContent = `${number.toLocaleString("en")} of ${queries.length.toLocaleString("en")} ${what} shown`;
    byId("none").hidden = number > 0;
  }

  function clear() {
    words.value = "";
    for (const box of [failed, changed]) if (box) box.checked = false;
    filter();
  }

  // From the query that holds the focus, or else from the first that is in view.
  function step(by) {
    const there = shown();
    if (!there.length) return;
    const now = there.findIndex((query) => query.contains(document.activeElement));
    const top = byId("tools").getBoundingClientRect().bottom;
    let next = now + by;
    if (now < 0) next = Math.max(0, there.findIndex((query) => query.getBoundingClientRect().bottom > top));
    there[Math.min(Math.max(next, 0), there.length - 1)].querySelector("summary").focus();
  }

  // A link into a query that is closed or filtered away opens it and goes there.
  function follow() {
    const [, name, hit] = /^#(q[0-9]+)([ab][0-9]+)?$/.exec(location.hash) || [];
    const query = name && byId(name);
    if (!query) return;
    if (query.hidden) clear();
    fill(query);
    query.open = true;
    const target = (hit && byId(name + hit)) || query;
    const place = target === query ? query.querySelector("summary") : target;
    place.focus({ preventScroll: true });
    target.scrollIntoView({ block: "start" });
  }

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = document.activeElement;
    if (event.key === "Escape" && at === words) {
      if (words.value) { words.value = ""; filter(); } else words.blur();
      event.preventDefault();
      return;
    }
    if (at instanceof HTMLInputElement && at.type !== "checkbox") return;
    const summary = at && at.matches("details.query > summary") ? at : null;
    const keys = {};
    if (byId("shortcuts").checked) {
      Object.assign(keys, { j: () => step(1), k: () => step(-1), "/": () => { words.focus(); words.select(); } });
    }
    if (summary) {
      Object.assign(keys, {
        ArrowDown: () => step(1),
        ArrowUp: () => step(-1),
        ArrowRight: () => { summary.parentElement.open = true; },
        ArrowLeft: () => { summary.parentElement.open = false; },
      });
    }
    if (Object.hasOwn(keys, event.key)) { event.preventDefault(); keys[event.key](); }
  });

  byId("filters").addEventListener("submit", (event) => event.preventDefault());
  for (const input of [words, failed, changed]) if (input) input.addEventListener("input", filter);
  byId("open").addEventListener("click", () => shown().forEach((query) => { query.open = true; }));
  byId("close").addEventListener("click", () => queries.forEach((query) => { query.open = false; }));
  addEventListener("hashchange", follow);
  queries.forEach((query) => query.addEventListener("toggle", () => { if (query.open) fill(query); }));
  // The same place asked for once more changes no address.
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (link && link.hash === location.hash) follow();
  });

  // On paper nothing can be opened: all that is shown is, unless something was chosen by opening it.
  let opened = [];
  addEventListener("beforeprint", () => {
    if (queries.some((query) => query.open)) return;
    opened = shown();
    opened.forEach((query) => { fill(query); query.open = true; });
  });
  addEventListener("afterprint", () => { opened.forEach((query) => { query.open = false; }); opened = []; });

  byId("tools").hidden = false;
  filter();
  follow();
})();
