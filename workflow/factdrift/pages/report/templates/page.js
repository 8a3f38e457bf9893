"use strict";
// Tables sort by their headings, and long ones filter and show their first rows. Without this script the
// page has all rows in the order of the build.
(() => {
  const SHOWN = 12;
  const narrow = window.matchMedia("(max-width: 62rem)");
  const contents = document.querySelector(".contents");
  const fold = () => { contents.open = !narrow.matches; };
  narrow.addEventListener("change", fold);
  fold();

  // A section or a list that is folded opens when a link leads into it.
  const unfold = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    target?.querySelector(":scope > details")?.setAttribute("open", "");
    for (let around = target?.closest("details"); around; around = around.parentElement.closest("details")) around.open = true;
    if (target && !target.closest(".chosen")) target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  if (location.hash) unfold();

  const plain = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();

  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const figure = table.closest("figure");
    const input = figure.querySelector(".filter input");
    const output = figure.querySelector(".filter output");
    let all = rows.length <= SHOWN;
    let more = null;

    const show = () => {
      const asked = input ? plain(input.value.trim()) : "";
      let found = 0;
      for (const row of body.rows) {
        const fits = !asked || plain(row.textContent).includes(asked);
        if (fits) found += 1;
        row.hidden = !fits || (!all && found > SHOWN);
      }
      if (output) output.textContent = asked ? `${found.toLocaleString("en")} of ${rows.length.toLocaleString("en")}` : "";
      if (more) {
        more.hidden = all || found <= SHOWN;
        more.textContent = `Show all ${found.toLocaleString("en")} rows`;
      }
    };

    if (!all) {
      more = document.createElement("button");
      more.type = "button";
      more.className = "more";
      more.addEventListener("click", () => {
        all = true;
        show();
        table.closest(".scroll").focus();
      });
      table.closest(".scroll").after(more);
    }
    if (input) {
      input.closest(".filter").hidden = false;
      input.addEventListener("input", show);
    }

    const value = (row, place) => {
      const cell = row.cells[place];
      return cell.dataset.value === undefined ? cell.textContent : cell.dataset.value === "" ? null : Number(cell.dataset.value);
    };
    [...table.tHead.rows[0].cells].forEach((heading, place) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => {
        const numbers = heading.classList.contains("number");
        const before = heading.getAttribute("aria-sort");
        const order = before === "descending" || (before === null && !numbers) ? "ascending" : "descending";
        for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
        heading.setAttribute("aria-sort", order);
        const sign = order === "ascending" ? 1 : -1;
        const collator = new Intl.Collator("en", { numeric: true });
        const keyed = rows.map((row, index) => [value(row, place), index, row]);
        keyed.sort(([a, i], [b, j]) => {
          if (a === null || b === null) return (a === null) - (b === null) || i - j;
          return sign * (numbers ? a - b : collator.compare(a, b)) || i - j;
        });
        body.append(...keyed.map(([, , row]) => row));
        show();
      });
    });
    show();
  }
})();
