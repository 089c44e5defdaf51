// What the theme leaves to say: a name for each block's landmark with the button that copies it, and that a table's empty corner is no header.
new MutationObserver(() => {
  document.querySelectorAll("nav.md-code__nav").forEach((nav, index) => nav.setAttribute("aria-label", `Code block ${index + 1}`));
  document.querySelectorAll("th:empty").forEach((corner) => corner.setAttribute("role", "presentation"));
}).observe(document.documentElement, { childList: true, subtree: true });
