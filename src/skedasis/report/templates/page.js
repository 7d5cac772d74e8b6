/* The page around the figures: theme, search and order of features, figures drawn when they scroll into view,
   sortable tables, keys, printing. Text is only set as text: the script creates no HTML. */
"use strict";
(() => {
  const root = document.documentElement;
  const THEMES = ["auto", "light", "dark"];
  const KEPT = "skedasis-theme";

  /* ------------------------------------------------------------------------------------------- theme */

  // A file opened from disk may be denied storage; then the theme is not remembered.
  const recalled = () => {
    try { return localStorage.getItem(KEPT); } catch { return null; }
  };
  const remember = (theme) => {
    try { localStorage.setItem(KEPT, theme); } catch { /* see above */ }
  };
  const themed = () => root.dataset.theme ?? "auto";
  const setTheme = (theme) => {
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    else delete root.dataset.theme;
    const name = document.getElementById("theme-name");
    if (name) name.textContent = `Theme: ${themed()}`;
  };
  setTheme(recalled()); // before anything is painted

  /* ------------------------------------------------------------------- figures drawn when in view */

  const draw = (part) => {
    const waiting = part.querySelectorAll("template");
    for (const template of waiting) {
      if (template.previousElementSibling?.matches("svg.hold")) template.previousElementSibling.remove();
      template.replaceWith(template.content);
    }
    part.classList.remove("later");
    if (waiting.length) globalThis.skedasis?.enlive(part);
  };
  const watch = () => {
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        seen.unobserve(entry.target);
        draw(entry.target);
      }
    }, { rootMargin: "1000px 0px" });
    document.querySelectorAll(".later").forEach((part) => seen.observe(part));
  };

  /* -------------------------------------------------------------------------------- finding and sorting */

  const features = () => [...document.querySelectorAll("#feature-list > .feature")];
  const folded = (text) => text.normalize("NFKD").replace(/[\p{M}\u2068\u2069]/gu, "").toLowerCase();
  const collator = new Intl.Collator(undefined, { numeric: true });
  const BY = {
    name: (a, b) => collator.compare(a.dataset.name, b.dataset.name),
    importance: (a, b) => a.dataset.importance - b.dataset.importance,
    heterogeneity_score: (a, b) => a.dataset.heterogeneityScore - b.dataset.heterogeneityScore,
    column: (a, b) => a.dataset.column - b.dataset.column,
  };

  const announce = () => {
    const all = features();
    const shown = all.filter((f) => !f.hidden).length;
    const chosen = document.getElementById("sort").selectedOptions[0].textContent;
    document.getElementById("shown").textContent = `${shown} of ${all.length} features, by ${chosen}`;
    document.getElementById("none").hidden = shown > 0;
  };

  const filter = () => {
    const wanted = folded(document.getElementById("find").value.trim());
    for (const feature of features()) {
      feature.hidden = !folded(feature.dataset.name).includes(wanted);
    }
    announce();
  };

  const sort = () => {
    const order = features().sort(BY[document.getElementById("sort").value]);
    document.getElementById("feature-list").append(...order);
    announce();
  };

  const showAll = () => {
    document.getElementById("find").value = "";
    filter();
  };

  /* ----------------------------------------------------------------------- models and their outputs */

  // A part names the positions of the switches at which it is shown; without a switch, it is always shown.
  const chosen = (name) => document.querySelector(`.views input[name="${name}"]:checked`)?.value;
  const shownAt = (positions, at) => !positions || !at || positions.split(" ").includes(at);
  const applyViews = () => {
    const [model, output] = [chosen("model"), chosen("output")];
    for (const part of document.querySelectorAll("[data-model], [data-output]")) {
      part.hidden = !(shownAt(part.dataset.model, model) && shownAt(part.dataset.output, output));
    }
  };

  /* ------------------------------------------------------------------------------ the page's numbers */

  const saveData = () => {
    const text = document.getElementById("data").textContent;
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = "report.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };

  /* ---------------------------------------------------------------------------- going to a feature */

  // Draw the target of a jump first, so that nothing moves afterwards; clear a filter that hides it.
  const reveal = (id) => {
    const target = id && document.getElementById(id);
    if (!target) return null;
    const feature = target.closest(".feature");
    if (feature?.hidden) showAll();
    const folded = target.closest("details");
    if (folded) folded.open = true;
    const part = target.closest(".later") ?? (target.matches(".later") ? target : null);
    if (part) draw(part);
    return target;
  };

  const goTo = (feature) => {
    if (!feature) return;
    reveal(feature.id);
    feature.querySelector("h3").focus({ preventScroll: true });
    feature.scrollIntoView({ block: "start" });
    history.replaceState(null, "", `#${feature.id}`);
  };

  const inSight = (part) => {
    const { top, bottom } = part.getBoundingClientRect();
    return bottom > 0 && top < innerHeight;
  };
  // The current feature: the one with the focus, else the last one whose top is above the bar.
  const current = (shown) => {
    const focused = document.activeElement?.closest?.(".feature");
    if (focused && inSight(focused)) return shown.indexOf(focused);
    const line = document.querySelector("form.bar").getBoundingClientRect().bottom + 16;
    return shown.findLastIndex((f) => f.getBoundingClientRect().top <= line);
  };

  const step = (by) => {
    const shown = features().filter((f) => !f.hidden);
    const at = current(shown);
    goTo(shown[Math.max(0, Math.min(shown.length - 1, at + by))]);
  };

  const onHash = () => {
    let id = location.hash.slice(1);
    try { id = decodeURIComponent(id); } catch { return; }
    const target = reveal(id);
    if (!target) return;
    const heading = target.querySelector?.(":scope > h2, :scope > h3");
    if (heading) {
      if (!heading.hasAttribute("tabindex")) heading.tabIndex = -1;
      heading.focus({ preventScroll: true });
    }
    target.scrollIntoView({ block: "start" });
  };

  /* ---------------------------------------------------------------------------------- sorting tables */

  const compare = (a, b) => {
    const [x, y] = [Number(a), Number(b)];
    if (a !== "" && b !== "" && !Number.isNaN(x) && !Number.isNaN(y)) return x - y;
    return collator.compare(a, b);
  };

  const sortTable = (button) => {
    const head = button.closest("th");
    const table = head.closest("table");
    const was = head.getAttribute("aria-sort");
    const first = head.dataset.first;
    const other = first === "ascending" ? "descending" : "ascending";
    const now = was === first ? other : first;
    for (const th of head.parentElement.children) th.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", now);
    const body = table.tBodies[0];
    const sign = now === "ascending" ? 1 : -1;
    const text = head.cellIndex === 0;
    const value = (row) => row.cells[head.cellIndex].dataset.value;
    const by = text ? collator.compare : compare;
    body.append(...[...body.rows].sort((a, b) => sign * by(value(a), value(b))));
  };

  /* ------------------------------------------------------------------------------------------ copying */

  const select = (element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    const selection = getSelection();
    selection.removeAllRanges();
    selection.addRange(range);
  };

  const copy = async (button) => {
    const code = button.parentElement.querySelector("code");
    let message = "Copied";
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      // Without access to the clipboard, select the code so that it can be copied by hand.
      select(code);
      message = "Selected";
    }
    button.textContent = message;
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  };

  /* ---------------------------------------------------------------------------------------------- keys */

  const typing = (element) =>
    element.matches?.("input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]");

  const onKey = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    const find = document.getElementById("find");
    if (event.key === "Escape" && event.target === find && find.value) return showAll();
    if (!document.getElementById("keys").checked || typing(event.target)) return;
    if (event.key === "/") {
      event.preventDefault();
      document.getElementById("features").scrollIntoView({ block: "start" });
      find.focus({ preventScroll: true });
      find.select();
    } else if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
  };

  /* --------------------------------------------------------------------------------------------- print */

  // Figures that wait are drawn first; what is folded stays on the screen.
  const beforePrint = () => {
    document.querySelectorAll(".later:not(.not-printed)").forEach(draw);
  };

  /* --------------------------------------------------------------------------------------------- start */

  const start = () => {
    setTheme(themed());
    document.querySelector(".views")?.addEventListener("change", applyViews);
    applyViews();
    watch();
    const on = (id, event, act) => document.getElementById(id).addEventListener(event, act);
    on("theme", "click", () => {
      setTheme(THEMES[(THEMES.indexOf(themed()) + 1) % THEMES.length]);
      remember(themed());
    });
    on("data-button", "click", saveData);
    const menu = document.getElementById("menu");
    const openMenu = (open) => menu.setAttribute("aria-expanded", open);
    on("menu", "click", () => openMenu(menu.ariaExpanded !== "true"));
    menu.nextElementSibling.addEventListener("click", () => openMenu(false));
    on("find", "input", filter);
    on("sort", "change", sort);
    on("clear", "click", () => { showAll(); document.getElementById("find").focus(); });
    on("previous", "click", () => step(-1));
    on("next", "click", () => step(1));
    document.querySelector("form.bar").addEventListener("submit", (event) => {
      event.preventDefault();
      goTo(features().find((f) => !f.hidden));
    });
    document.addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (button?.matches(".sorter")) sortTable(button);
      else if (button?.matches(".copy")) copy(button);
      const link = event.target.closest("a");
      const href = link?.getAttribute("href");
      if (href?.startsWith("#")) reveal(href.slice(1));
      // Clicking the same anchor again does not change the hash, so go to it here.
      if (href && href === location.hash) onHash();
    });
    document.addEventListener("keydown", onKey);
    addEventListener("hashchange", onHash);
    addEventListener("beforeprint", beforePrint);
    // A browser restores form fields on reload: apply them to the list.
    sort();
    filter();
    if (location.hash) onHash();
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
