"use strict";
// Chooses which cases are in sight. Without it the page has all of them; it writes no text of a case anywhere.
(() => {
  const form = document.getElementById("filter");
  const said = document.getElementById("in-sight");
  const cases = Array.from(document.querySelectorAll("details.case"));
  const lists = Array.from(document.querySelectorAll("section.cases"));
  const fields = Array.from(form.querySelectorAll("select"));
  const words = form.querySelector("input");
  const FIGURES = ".soft:not(.because), .took, .evidence, dt, .fold > summary, .long > summary"; // no words of a case
  let texts = null; // read once, when somebody first searches

  const holds = (one, field) => {
    if (!field.value) return true;
    return (one.getAttribute("data-" + field.name) || "").split(" ").includes(field.value);
  };
  const plain = (text) => text.toLowerCase().replace(/\s+/g, " ").trim();
  const read = (one) => {
    const copy = one.cloneNode(true);
    copy.querySelectorAll(FIGURES).forEach((part) => part.remove());
    return plain(copy.textContent);
  };
  const choose = () => {
    // Words in any order; between quotation marks, in this order. A mark that nobody has closed yet reaches to the end.
    const sought = (words.value.match(/["“”][^"“”]*["“”]?|[^\s"“”]+/g) || []).map((part) => plain(part.replace(/["“”]/g, ""))).filter(Boolean);
    if (sought.length && !texts) texts = cases.map(read);
    let shown = 0;
    cases.forEach((one, place) => {
      const fits = fields.every((field) => holds(one, field)) && sought.every((word) => texts[place].includes(word));
      one.hidden = !fits;
      if (fits) shown += 1;
    });
    lists.forEach((list) => { list.hidden = !list.querySelector("details.case:not([hidden])"); });
    const counted = shown === cases.length ? "" : shown + " of " + cases.length + " cases in sight";
    said.textContent = [counted, said.getAttribute("data-left")].filter(Boolean).join("; ");
  };
  const inSight = () => cases.filter((one) => !one.hidden);
  const goTo = () => {
    const one = /^#case-\d+$/.test(location.hash) && document.getElementById(location.hash.slice(1));
    if (!one) return;
    one.hidden = false;
    one.open = true;
    one.scrollIntoView();
  };
  let waiting = 0;
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(choose, 120); });
  form.addEventListener("reset", () => setTimeout(choose));
  document.getElementById("open-all").addEventListener("click", () => inSight().forEach((one) => { one.open = true; }));
  document.getElementById("close-all").addEventListener("click", () => cases.forEach((one) => { one.open = false; }));
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (/^(input|select|textarea)$/i.test(document.activeElement.tagName)) return;
    event.preventDefault();
    words.focus();
  });
  window.addEventListener("hashchange", goTo);
  form.hidden = false;
  choose(); // a browser that comes back keeps what was chosen
  goTo();
})();
