"use strict";
/* Makes figures interactive: shows tooltips of marks on hover, on tap and by keyboard.

   It reads these elements and attributes of a figure:
     svg.skd                                  a figure; with tabindex it handles the arrow keys
     g.panel[data-x][data-y]                  "px0 px1 v0 v1": pixel and value of both ends of an axis
     g.panel[data-clock]                      "kind ms zone": start of a time axis, whose values are days
     [data-tip]                               a mark with a tooltip, one fact per line
     path.curves[data-rows][data-name]        individual curves, one subpath per row; row indices and group
     [data-each]                              what the curves belong to, if not to rows

   All text is inserted as text. Nothing is fetched or evaluated. */
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const NEAR = 18; // distance in CSS pixels within which a curve is selected
  const GAP = 14; // CSS pixels between pointer and tooltip
  const seen = new WeakSet(); // figures that are already interactive
  const parsed = new WeakMap(); // path.curves → its curves
  let tip = null; // the one tooltip of the page
  let shown = null; // its subject: {svg, stop, curve, box}; `box` returns its position in the window

  // ------------------------------------------------------------------------------ the tooltip

  /* One tooltip for all figures. With `role=status` screen readers announce it on keyboard use, but not on hover. */
  function tooltip() {
    if (tip === null || !tip.isConnected) {
      tip = document.createElement("div");
      tip.className = "skd-tip";
      tip.setAttribute("role", "status");
      tip.hidden = true;
      document.body.append(tip);
    }
    return tip;
  }

  function say(lines, aloud) {
    const at = tooltip();
    at.setAttribute("aria-live", aloud ? "polite" : "off");
    at.hidden = false;
    at.replaceChildren(
      ...lines.map((line) => {
        const row = document.createElement("div");
        row.dir = "auto"; // names may be written from right to left
        row.textContent = line;
        return row;
      }),
    );
  }

  /* Place the tooltip to the right of and below its subject if there is space, otherwise to the left or above. */
  function put(box) {
    const at = tooltip();
    // Measure it at the origin, where nothing limits its width.
    at.style.position = "fixed";
    at.style.left = at.style.top = "0px";
    const { width, height } = at.getBoundingClientRect();
    const root = document.documentElement;
    const place = (low, high, size, room) => {
      const after = high + GAP;
      const before = low - GAP - size;
      const wanted = after + size <= room ? after : before >= 0 ? before : room - size;
      return `${Math.max(0, Math.min(wanted, room - size))}px`;
    };
    at.style.left = place(box.left, box.right, width, root.clientWidth);
    at.style.top = place(box.top, box.bottom, height, window.innerHeight);
  }

  function hide() {
    if (tip !== null) tip.hidden = true;
    if (shown !== null) {
      unlight(shown.svg);
      shown = null;
    }
  }

  function unlight(svg) {
    for (const lit of svg.querySelectorAll(".is-on")) lit.classList.remove("is-on");
    for (const lit of svg.querySelectorAll(".curve-lit")) lit.remove();
  }

  // ---------------------------------------------------------------------------------- numbers

  /* A number with four significant digits of the range of the axis, the precision of a pointer. */
  function number(value, range) {
    if (!Number.isFinite(value)) return "–";
    const size = Math.max(Math.abs(value), Math.abs(range));
    if (value === 0 || size === 0) return "0";
    const decimals = 3 - Math.floor(Math.log10(Math.abs(range) || size));
    const digits = Math.min(Math.max(decimals, 0), 12);
    const text =
      (size >= 1e9 && decimals < 0) || size < 1e-4
        ? value.toExponential(Math.max(Math.min(decimals + Math.floor(Math.log10(size)), 15), 0))
        : value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
    return text.replace("e+", "e").replaceAll("-", "−");
  }

  /* Conversion from pixels to values of an axis. */
  function scale(panel, name) {
    const ends = (panel.getAttribute(name) ?? "").split(" ").map(Number);
    if (ends.length !== 4 || !ends.every(Number.isFinite)) return null;
    const [p0, p1, v0, v1] = ends;
    return { range: v1 - v0, value: (p) => v0 + ((p - p0) / (p1 - p0)) * (v1 - v0), p0, p1 };
  }

  // ----------------------------------------------------------------------------------- curves

  /* Points of each subpath in pixels of the figure, from the commands M, L, H and V, absolute and relative. */
  function corners(d) {
    const curves = [];
    let x = 0;
    let y = 0;
    for (const [, letter, rest] of d.matchAll(/([MLHVZ])([^MLHVZ]*)/gi)) {
      const numbers = (rest.match(/[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?/gi) ?? []).map(Number);
      const kind = letter.toUpperCase();
      const [ox, oy] = letter === kind ? [() => 0, () => 0] : [() => x, () => y];
      const step = kind === "H" || kind === "V" ? 1 : 2;
      for (let i = 0; i + step <= numbers.length; i += step) {
        if (kind === "H") x = ox() + numbers[i];
        else if (kind === "V") y = oy() + numbers[i];
        else [x, y] = [ox() + numbers[i], oy() + numbers[i + 1]];
        if (kind === "M" && i === 0) curves.push([]);
        curves.at(-1)?.push([x, y]);
      }
    }
    return curves;
  }

  /* All curves of a panel with their points, row, group and path element. */
  function curvesOf(panel) {
    return [...panel.querySelectorAll("path.curves")].flatMap((path) => {
      if (!parsed.has(path)) {
        const found = corners(path.getAttribute("d") ?? "");
        const rows = (path.getAttribute("data-rows") ?? "").split(" ");
        const known = rows.length === found.length && rows[0] !== "";
        const name = path.getAttribute("data-name") ?? "";
        const curves = found.map((points, i) => ({ path, points, row: known ? rows[i] : "", name }));
        parsed.set(path, curves);
      }
      return parsed.get(path);
    });
  }

  /* y coordinate of a curve at x, in pixels; undefined outside its range. */
  function heightAt(curve, x) {
    const { points } = curve;
    for (let i = 0; i + 1 < points.length; i += 1) {
      const [[a, c], [b, d]] = [points[i], points[i + 1]];
      if (a <= x && x <= b) return b > a ? c + ((x - a) / (b - a)) * (d - c) : c;
    }
    return undefined;
  }

  /* Distance of a point from a curve in pixels of the figure, which also suits steep curves. */
  function distance(curve, x, y, most) {
    let least = Infinity;
    const { points } = curve;
    for (let i = 0; i + 1 < points.length; i += 1) {
      const [[a, c], [b, d]] = [points[i], points[i + 1]];
      if (Math.min(a, b) - most > x || Math.max(a, b) + most < x) continue;
      const [dx, dy] = [b - a, d - c];
      const long = dx * dx + dy * dy;
      const t = long > 0 ? Math.max(0, Math.min(1, ((x - a) * dx + (y - c) * dy) / long)) : 0;
      least = Math.min(least, Math.hypot(x - a - t * dx, y - c - t * dy));
    }
    return least;
  }

  function nearest(curves, x, y, most) {
    let best = null;
    let least = most;
    for (const curve of curves) {
      const far = distance(curve, x, y, most);
      if (far <= least) [best, least] = [curve, far];
    }
    return best;
  }

  /* Highlight a curve by drawing it again above the others. */
  function light(curve) {
    const again = document.createElementNS(SVG, "path");
    again.setAttribute("class", "curve-lit");
    again.setAttribute("pointer-events", "none");
    again.setAttribute("d", curve.points.map(([x, y], i) => `${i ? "L" : "M"}${x} ${y}`).join(""));
    curve.path.after(again);
  }

  /* Tooltip text of a curve: row, group, and value at x, which may differ from the position of a mark beside it. */
  function told(curve, panel, x) {
    const [across, up] = [scale(panel, "data-x"), scale(panel, "data-y")];
    const y = heightAt(curve, x);
    const each = curve.path.closest("[data-each]")?.getAttribute("data-each") ?? "row";
    const who = [curve.row === "" ? `one ${each}` : `${each} ${curve.row}`, curve.name].filter(Boolean);
    if (y === undefined || up === null || across === null) return who.join(", ");
    const where = placed(panel, across.value(x), across.range);
    return `${who.join(", ")}: ${number(up.value(y), up.range)} at ${where}`;
  }

  /* A position on a horizontal axis as text: a number, or for a time axis a date, a time or a number of days. */
  function placed(panel, value, range) {
    const clock = panel.getAttribute("data-clock");
    if (clock === null) return number(value, range);
    const [kind, start, zone] = clock.split(" ");
    if (kind === "duration") return `${number(value, range)} d`;
    const instant = new Date(Number.parseFloat(start) + value * 864e5);
    if (Number.isNaN(instant.getTime())) return number(value, range);
    const text = instant.toLocaleString("sv-SE", { timeZone: zone }); // the Swedish locale uses ISO 8601
    if (kind === "time") return text.slice(11, 16);
    return kind === "date" || range > 2 ? text.slice(0, 10) : text.slice(0, 16);
  }

  // ------------------------------------------------------------------------------ what to show

  const linesOf = (stop) => (stop?.getAttribute("data-tip") ?? "").split("\n").filter(Boolean);

  /* Show the tooltip of a mark, a curve, or both; `box` returns the position of the subject. */
  function show(svg, { stop = null, curve = null, panel = null, x = 0 }, box, aloud) {
    if (shown !== null) unlight(shown.svg);
    shown = { svg, stop, curve, box: aloud ? box : null };
    stop?.classList.add("is-on");
    const lines = linesOf(stop);
    if (curve !== null) {
      light(curve);
      lines.push(told(curve, panel, x));
    }
    say(lines, aloud);
    put(box());
  }

  /* A point of the window in pixels of the figure, and the number of these per CSS pixel. */
  function within(svg, clientX, clientY) {
    const matrix = svg.getScreenCTM()?.inverse();
    if (!matrix) return null;
    const at = new DOMPoint(clientX, clientY).matrixTransform(matrix);
    return { x: at.x, y: at.y, factor: Math.hypot(matrix.a, matrix.b) };
  }

  const dot = (x, y) => ({ left: x, right: x, top: y, bottom: y });

  function point(svg, event) {
    const stop = event.target.closest?.("[data-tip]") ?? null;
    const at = within(svg, event.clientX, event.clientY);
    const panel = at === null ? null : panelAt(svg, at.x, at.y);
    const curve = panel === null ? null : nearest(curvesOf(panel), at.x, at.y, NEAR * at.factor);
    if (stop === null && curve === null) {
      hide();
      return;
    }
    show(svg, { stop, curve, panel, x: at?.x }, () => dot(event.clientX, event.clientY), false);
  }

  const between = (s, p) => s !== null && Math.min(s.p0, s.p1) <= p && p <= Math.max(s.p0, s.p1);

  const withCurves = (svg) => [...svg.querySelectorAll("g.panel")].filter((g) => curvesOf(g).length > 0);

  /* The panel with curves that contains a point. */
  function panelAt(svg, x, y) {
    const here = (g) => between(scale(g, "data-x"), x) && between(scale(g, "data-y"), y);
    return withCurves(svg).find(here) ?? null;
  }

  // -------------------------------------------------------------------------------- the keyboard

  function press(svg, event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const along = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
    const across = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    const done = along !== undefined ? step(svg, along) : across !== undefined && climb(svg, across);
    if (done) event.preventDefault();
  }

  /* Move to the next mark with a tooltip; a highlighted curve stays highlighted. */
  function step(svg, by) {
    const stops = [...svg.querySelectorAll("[data-tip]")];
    if (stops.length === 0) return false;
    const old = shown?.svg === svg ? stops.indexOf(shown.stop) : -1;
    const from = old >= 0 ? old + by : by > 0 ? by - 1 : stops.length + by;
    const stop = stops[Math.max(0, Math.min(stops.length - 1, from))];
    const panel = curvesAt(svg, stop);
    const curve = shown?.svg === svg && panel?.contains(shown.curve?.path ?? null) ? shown.curve : null;
    stop.scrollIntoView({ block: "nearest", inline: "nearest" });
    const box = () => stop.getBoundingClientRect();
    show(svg, { stop, curve, panel, x: middle(svg, stop) }, box, true);
    return true;
  }

  /* Move to the next curve above or below, at the current mark or in the centre of the panel. */
  function climb(svg, by) {
    const stop = shown?.svg === svg ? shown.stop : null;
    const panel = stop === null ? withCurves(svg)[0] : curvesAt(svg, stop);
    if (!panel) return false;
    const across = scale(panel, "data-x");
    const x = stop !== null ? middle(svg, stop) : across === null ? 0 : (across.p0 + across.p1) / 2;
    const there = curvesOf(panel).filter((c) => heightAt(c, x) !== undefined);
    if (there.length === 0) return false;
    there.sort((a, b) => heightAt(b, x) - heightAt(a, x)); // y coordinates grow downwards
    const old = there.indexOf(shown?.curve);
    const next = old >= 0 ? old + by : by > 0 ? 0 : there.length - 1;
    const curve = there[Math.max(0, Math.min(there.length - 1, next))];
    const box = () => {
      const at = new DOMPoint(x, heightAt(curve, x)).matrixTransform(svg.getScreenCTM());
      return dot(at.x, at.y);
    };
    show(svg, { stop, curve, panel, x }, box, true);
    return true;
  }

  /* The panel with curves below a mark; tooltip marks are drawn above all panels and belong to none. */
  function curvesAt(svg, stop) {
    const box = stop.getBoundingClientRect();
    const [high, low] = [within(svg, box.left, box.top), within(svg, box.right, box.bottom)];
    if (high === null || low === null) return null;
    const overlaps = (panel) => {
      const [across, up] = [scale(panel, "data-x"), scale(panel, "data-y")];
      const x = (high.x + low.x) / 2;
      return between(across, x) && up !== null && high.y < Math.max(up.p0, up.p1) && low.y > Math.min(up.p0, up.p1);
    };
    return withCurves(svg).find(overlaps) ?? null;
  }

  function middle(svg, stop) {
    const box = stop.getBoundingClientRect();
    return within(svg, box.left + box.width / 2, box.top)?.x ?? 0;
  }

  // -------------------------------------------------------------------------------- the figures

  /* Browsers show `<title>` as a tooltip of their own; replace it by an element without that effect. */
  function quiet(svg) {
    const title = svg.querySelector(":scope > title");
    if (title === null) return;
    const name = document.createElementNS(SVG, "desc");
    name.id = title.id;
    name.textContent = title.textContent;
    title.replaceWith(name);
  }

  function bring(svg) {
    if (seen.has(svg)) return;
    seen.add(svg);
    svg.classList.add("live");
    quiet(svg);
    // A figure without tooltips (a legend) does not take the focus.
    if (svg.querySelector("[data-tip], path.curves") === null) svg.removeAttribute("tabindex");
    // On touch screens only a tap shows a tooltip, because scrolling moves the pointer, too.
    svg.addEventListener("pointermove", (event) => event.pointerType !== "touch" && point(svg, event));
    svg.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && hide());
    svg.addEventListener("click", (event) => point(svg, event));
    svg.addEventListener("keydown", (event) => press(svg, event));
    svg.addEventListener("focusin", (event) => {
      const stop = event.target.closest("[data-tip]"); // a link inside the figure
      if (stop !== null && event.target.matches(":focus-visible"))
        show(svg, { stop }, () => stop.getBoundingClientRect(), true);
    });
    svg.addEventListener("focusout", hide);
  }

  /* Make all figures in a node interactive, including the node itself; repeated calls have no effect. */
  function enlive(root = document) {
    if (root instanceof Element && root.matches("svg.skd")) bring(root);
    for (const svg of root.querySelectorAll("svg.skd")) bring(svg);
  }

  document.addEventListener("keydown", (event) => event.key === "Escape" && hide());
  document.addEventListener("pointerdown", (event) => event.target.closest?.("svg.skd") ?? hide());
  // On scrolling, a tooltip from the keyboard follows its mark; one from the pointer is hidden.
  window.addEventListener("scroll", () => (shown?.box ? put(shown.box()) : hide()), { passive: true });

  globalThis.skedasis = Object.assign(globalThis.skedasis ?? {}, { enlive });
  if (document.readyState === "loading")
    document.addEventListener("DOMContentLoaded", () => enlive());
  else enlive();
})();
