"use strict";
// Search as one types, relations that load when they are opened, keys. Without this script the server's pages
// work by links and the search form.
(() => {
  const root = document.documentElement;
  const input = document.getElementById("q");
  const box = document.getElementById("found");
  const form = input.form;
  const isStatic = "static" in root.dataset;
  let asked = 0;

  const plain = (text) => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  const words = (text) => plain(text).split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  const element = (name, text, kind) => {
    const made = document.createElement(name);
    if (text !== undefined) made.textContent = text;
    if (kind) made.className = kind;
    return made;
  };

  // --- a folder of files: the names are in search.js, which is loaded at the first search ---
  let loading = null;
  const load = () => {
    loading ??= new Promise((done, failed) => {
      const script = document.createElement("script");
      script.src = "search.js";
      script.onload = () => {
        for (const row of window.factdrift.names) row.words = words(`${row[1]} ${row[4]}`);
        done(window.factdrift.names);
      };
      script.onerror = failed;
      document.head.append(script);
    });
    return loading;
  };
  const KINDS = ["relations", "classes", "subjects"];
  const MOST = [6, 6, 12];
  const local = async (text) => {
    const wanted = words(text);
    const names = await load();
    const found = [[], [], []];
    const exact = plain(text.trim());
    if (wanted.length) {
      const last = wanted.at(-1);
      const first = wanted.slice(0, -1);
      for (const row of names) {
        const same = plain(row[1]) === exact || row[0].toLowerCase() === exact;
        if (same || (first.every((word) => row.words.includes(word)) && row.words.some((word) => word.startsWith(last)))) {
          if (same) found[row[2]].unshift(row);
          else found[row[2]].push(row);
        }
      }
    }
    const whole = found.reduce((sum, rows, kind) => sum + Math.min(rows.length, MOST[kind]), 0);
    const parts = [element("p", whole ? `${whole} found` : "No label begins with these words.", "aside")];
    parts[0].setAttribute("aria-live", "polite");
    found.forEach((rows, kind) => {
      if (!rows.length) return;
      const list = element("ul", undefined, "found");
      for (const row of rows.slice(0, MOST[kind])) {
        const link = element("a");
        link.href = `${row[0]}.html`;
        link.append(element("bdi", row[1]), " ", element("span", `${row[0]} ${row[3] ? `${row[3]} update${row[3] > 1 ? "s" : ""}` : ""}`, "aside"));
        const item = element("li");
        item.append(link);
        list.append(item);
      }
      parts.push(element("h3", KINDS[kind]), list);
    });
    return parts;
  };

  const remote = async (text) => {
    const answer = await fetch(`search?part=1&q=${encodeURIComponent(text)}`);
    if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
    const holder = document.createElement("template");
    holder.innerHTML = await answer.text();
    return [...holder.content.childNodes];
  };

  const show = async () => {
    const text = input.value;
    const number = ++asked;
    if (!text.trim()) {
      box.hidden = true;
      return;
    }
    let parts;
    try {
      parts = await (isStatic ? local : remote)(text);
    } catch {
      parts = [element("p", "The search does not answer: is the command still running?")];
    }
    if (number !== asked) return;
    box.replaceChildren(...parts);
    box.hidden = false;
    box.dataset.of = text;
  };

  let waiting = 0;
  input.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(show, 60);
  });
  form.addEventListener("submit", (event) => {
    const first = box.querySelector("a");
    if (!box.hidden && first && box.dataset.of === input.value) {
      event.preventDefault();
      first.click();
    } else if (isStatic) {
      event.preventDefault();
      show();
    }
  });
  form.addEventListener("keydown", (event) => {
    const links = [...box.querySelectorAll("a")];
    const place = links.indexOf(document.activeElement);
    if (event.key === "Escape") {
      box.hidden = true;
      input.focus();
    } else if (!box.hidden && event.key === "ArrowDown" && links.length) {
      event.preventDefault();
      links[Math.min(place + 1, links.length - 1)].focus();
    } else if (!box.hidden && event.key === "ArrowUp" && place >= 0) {
      event.preventDefault();
      (links[place - 1] ?? input).focus();
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey && document.activeElement !== input) {
      event.preventDefault();
      input.focus();
    }
  });

  // --- relations whose statements are loaded when they are opened ---
  const fill = async (details) => {
    const address = details.dataset.part;
    if (!address) return;
    delete details.dataset.part;
    const answer = await fetch(`${address}?part=1`);
    if (!answer.ok) return;
    const holder = document.createElement("template");
    holder.innerHTML = await answer.text();
    for (const child of [...details.children]) if (child.tagName !== "SUMMARY") child.remove();
    details.append(holder.content);
  };
  for (const details of document.querySelectorAll("details[data-part]")) {
    details.addEventListener("toggle", () => { if (details.open) fill(details); });
  }
})();
