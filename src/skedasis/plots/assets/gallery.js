"use strict";
/* Filters and sorts the figures of a page by the attributes of their elements:
     .skd-gallery > [data-feature][data-importance][data-heterogeneity-score][data-place]
   The controls are hidden until this script runs. */
(() => {
  const gallery = document.querySelector(".skd-gallery");
  const controls = document.querySelector(".skd-controls");
  if (gallery === null || controls === null) return;
  const filter = controls.querySelector("input");
  const sort = controls.querySelector("select");
  const said = controls.querySelector("[role=status]");
  const items = [...gallery.children];

  // Largest first; unknown values last.
  const largest = (name) => (a, b) => size(b, name) - size(a, name);
  const size = (item, name) => {
    const value = Number.parseFloat(item.dataset[name]);
    return Number.isNaN(value) ? -Number.MAX_VALUE : value;
  };
  const orders = {
    importance: largest("importance"),
    heterogeneity_score: largest("heterogeneityScore"),
    name: (a, b) => a.dataset.feature.localeCompare(b.dataset.feature, undefined, { numeric: true }),
    columns: (a, b) => size(a, "place") - size(b, "place"),
  };

  // Case and accents are ignored.
  const folded = (text) => text.normalize("NFKD").replace(/[\p{M}\u2068\u2069]/gu, "").toLowerCase();

  function update() {
    const wanted = folded(filter.value.trim());
    let there = 0;
    for (const item of items) {
      item.hidden = !folded(item.dataset.feature).includes(wanted);
      there += item.hidden ? 0 : 1;
    }
    const sorted = [...items].sort(orders[sort.value] ?? orders.columns);
    if (sorted.some((item, i) => gallery.children[i] !== item)) gallery.append(...sorted);
    said.textContent = `${there} of ${items.length} features`;
  }

  filter.addEventListener("input", update);
  sort.addEventListener("change", update);
  // Keyboard: a slash focuses the filter, Escape clears it.
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.target.matches("input, select, textarea")) {
      event.preventDefault();
      filter.focus();
    }
    if (event.key === "Escape" && event.target === filter) {
      filter.value = "";
      update();
    }
  });
  controls.hidden = false;
  update();
})();
