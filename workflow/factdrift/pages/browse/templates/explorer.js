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
  const loaded = (source) => new Promise((done, failed) => {
    const script = document.createElement("script");
    script.src = source;
    script.onload = done;
    script.onerror = failed;
    document.head.append(script);
  });
  let loading = null;
  const load = async () => {
    loading ??= loaded("search.js").then(() => {
      for (const row of window.factdrift.names) row.words = words(`${row[1]} ${row[4]} ${row[5]}`);
    });
    await loading;
    return window.factdrift.names;
  };
  const GROUPS = ["exact", "relations", "subjects", "classes"];
  const MOST = [6, 6, 12];  // of the kinds: relations, classes, subjects
  const EXACT = 10;
  const GROUP = [1, 3, 2];
  const isExact = (row, text) => row[0].toLowerCase() === text || plain(row[1]) === text || row[4] === text || row[5].split("\n").includes(text);
  const exactly = (names, text) => {
    const rank = (row) => (row[0].toLowerCase() === text ? 0 : plain(row[1]) === text || row[4] === text ? 1 : 2) * 2 + (row[2] === 1);
    return names.filter((row) => isExact(row, text)).sort((a, b) => rank(a) - rank(b)).slice(0, EXACT);
  };
  const matching = (names, wanted) => {
    const last = wanted.at(-1);
    const first = wanted.slice(0, -1);
    return names.filter((row) => first.every((word) => row.words.includes(word)) && row.words.some((word) => word.startsWith(last)));
  };
  const search = (names, text) => {
    const wanted = words(text);
    const found = GROUPS.map(() => []);
    if (!wanted.length) return found;
    found[0] = exactly(names, plain(text.trim()));
    for (const row of matching(names, wanted)) {
      const group = found[GROUP[row[2]]];
      if (!found[0].includes(row) && group.length < MOST[row[2]]) group.push(row);
    }
    if (found.some((rows) => rows.length)) return found;
    for (let cut = wanted.length - 1; cut; cut -= 1) {
      for (const [relation, rest] of [[wanted.slice(0, cut), wanted.slice(cut)], [wanted.slice(-cut), wanted.slice(0, -cut)]]) {
        const relations = exactly(names, relation.join(" ")).filter((row) => row[2] === 0);
        let others = exactly(names, rest.join(" ")).filter((row) => row[2] !== 0);
        if (!others.length) others = matching(names, rest).filter((row) => row[2] === 2).slice(0, MOST[2]);
        if (relations.length && others.length) return [[], relations, others, []];
      }
    }
    return found;
  };

  // Letters to change, insert, delete or swap with their neighbour.
  const distance = (one, other) => {
    let before = [];
    let last = Array.from({ length: other.length + 1 }, (_, place) => place);
    for (let i = 1; i <= one.length; i += 1) {
      const row = [i];
      for (let j = 1; j <= other.length; j += 1) {
        row[j] = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (one[i - 1] !== other[j - 1]));
        if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]) row[j] = Math.min(row[j], before[j - 2] + 1);
      }
      before = last;
      last = row;
    }
    return last[other.length];
  };
  const corrected = (names, text) => {
    const counts = new Map();
    for (const row of names) for (const word of new Set(row.words)) counts.set(word, (counts.get(word) ?? 0) + 1);
    const found = words(text).map((word) => {
      const allowed = word.length < 3 ? 0 : word.length < 6 ? 1 : 2;
      let best = null;
      for (const [known, often] of counts) {
        if (known.startsWith(word)) return word;
        if (known[0] !== word[0] || Math.abs(known.length - word.length) > allowed) continue;
        const far = distance(word, known);
        if (far <= allowed && (!best || far < best.far || (far === best.far && often > best.often))) best = { far, often, known };
      }
      return best?.known;
    });
    return found.every(Boolean) ? found.join(" ") : "";
  };

  const local = async (text) => {
    const names = await load();
    let found = search(names, text);
    let meant = "";
    if (!found.some((rows) => rows.length)) {
      meant = corrected(names, text);
      found = search(names, meant);
    }
    const whole = found.reduce((sum, rows) => sum + rows.length, 0);
    const nothing = "No label begins with these words.";
    const said = element("p", whole && !meant ? `${whole} found` : nothing, "aside");
    if (whole && meant) said.append(" Found for ", element("bdi", meant), ":");
    said.setAttribute("aria-live", "polite");
    const parts = [said];
    found.forEach((rows, group) => {
      if (!rows.length) return;
      const list = element("ul", undefined, "found");
      for (const row of rows) {
        const link = element("a");
        link.href = `${row[0]}.html`;
        link.append(element("bdi", row[1]), " ", element("span", `· ${row[0]}${row[3] ? ` · ${row[3]} update${row[3] > 1 ? "s" : ""}` : ""}`, "aside"));
        const item = element("li");
        item.append(link);
        list.append(item);
      }
      parts.push(element("h3", GROUPS[group]), list);
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

  // --- the table of all updates: filters by column, which are also in the address, and the same in code ---
  const fillTable = async (table) => {
    await loaded("updates.js");
    const { columns, rows, file } = window.factdrift.table;
    const [output, code, more] = [".copies output", ".code", ".more"].map((name) => document.querySelector(name));
    const head = table.createTHead().insertRow();
    const body = table.createTBody();
    let most = 100;
    const fields = columns.map(({ name }) => {
      const cell = element("th", name);
      const field = element("input");
      cell.scope = "col";
      field.type = "search";
      field.setAttribute("aria-label", `${name} holds`);
      field.addEventListener("input", () => { most = 100; show(); });
      cell.append(field);
      head.append(cell);
      return field;
    });
    const asked = () => fields.map((field, place) => [columns[place], field.value.toLowerCase(), place]).filter(([, text]) => text);
    const show = () => {
      const filters = asked();
      const found = rows.filter((row) => filters.every(([, text, place]) => row[place + 2].toLowerCase().includes(text)));
      body.replaceChildren(...found.slice(0, most).map((row) => {
        const line = element("tr");
        line.append(...row.slice(2).map((text, place) => {
          const cell = element("td");
          const id = columns[place].name === "subject" ? row[0] : columns[place].name === "relation" ? row[1] : "";
          const inner = element(id ? "a" : "bdi", text);
          if (id) inner.href = isStatic ? `${id}.html` : id;
          cell.append(inner);
          return cell;
        }));
        return line;
      }));
      output.textContent = `${found.length.toLocaleString("en")} of ${rows.length.toLocaleString("en")} updates`;
      more.hidden = found.length <= most;
      code.hidden = true;
      const address = new URLSearchParams(filters.map(([{ name }, , place]) => [name, fields[place].value]));
      history.replaceState(null, "", `#${address}`);
    };
    const CODE = {
      sql: (filters) => [`SELECT * FROM read_parquet('${file}')`, ...filters.map(([{ sql }, text], place) => `${place ? "  AND" : "WHERE"} contains(lower(${sql}), '${text.replaceAll("'", "''")}')`)],
      pandas: (filters) => ["import pandas as pd", "", `rows = pd.read_parquet("${file}")`, ...filters.map(([{ pandas }, text]) => `rows = rows[${pandas}.str.lower().str.contains(${JSON.stringify(text)}, regex=False)]`)],
    };
    for (const button of document.querySelectorAll("button[data-as]")) {
      button.addEventListener("click", () => {
        code.textContent = CODE[button.dataset.as](asked()).join("\n");
        code.hidden = false;
        navigator.clipboard?.writeText(code.textContent).catch(() => {});
      });
    }
    more.addEventListener("click", () => { most += 400; show(); });
    const read = () => {
      const given = new URLSearchParams(location.hash.slice(1));
      fields.forEach((field, place) => { field.value = given.get(columns[place].name) ?? ""; });
      show();
    };
    addEventListener("hashchange", read);
    document.querySelector(".copies").hidden = false;
    read();
  };
  const updates = document.getElementById("table");
  if (updates) fillTable(updates);

  // --- links to rows: a click copies the address, and a row that is folded away is opened ---
  document.addEventListener("click", async (event) => {
    const link = event.target.closest("a.link");
    if (!link || !navigator.clipboard) return;
    await navigator.clipboard.writeText(link.href);
    link.textContent = "copied";
    setTimeout(() => { link.textContent = "#"; }, 1500);
  });
  const unfold = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target) return;
    for (let around = target.closest("details"); around; around = around.parentElement.closest("details")) around.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  if (location.hash) unfold();
})();
