// What the theme leaves unnamed, for those who read by ear or by key: the copy button of each block of code is no
// landmark, what scrolls takes the focus, an empty corner of a table is no header, the search has a name.
function complete() {
  for (const buttons of document.querySelectorAll("nav.md-code__nav")) buttons.setAttribute("role", "presentation");
  for (const region of document.querySelectorAll("pre > code, .md-typeset__scrollwrap")) {
    if (region.scrollWidth > region.clientWidth || region.scrollHeight > region.clientHeight) region.tabIndex = 0;
  }
  for (const corner of document.querySelectorAll("th:empty")) corner.replaceWith(document.createElement("td"));
}
for (const [selector, name] of [["#__search", "Search"], ["#__drawer", "Contents"], [".md-search", "Search"]]) {
  document.querySelector(selector)?.setAttribute("aria-label", name);
}
complete();
new MutationObserver(complete).observe(document.querySelector(".md-content") ?? document.body, {childList: true, subtree: true});
new ResizeObserver(complete).observe(document.body);
