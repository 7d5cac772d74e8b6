"""Figures in a real browser: tooltips for pointer, touch and keyboard, and what the page must never do."""

import re

import numpy as np
import pandas as pd
import pytest
from markupsafe import Markup

import skedasis as sd
from skedasis.plots.elements import tag
from skedasis.plots.html import page, script, style

ATTACK = '<img src=x onerror="window.pwned = 1"><script>window.pwned = 1</script>"\'>'
LONG = "wörtchenohneende" * 31  # 500 letters without a line break
RTL = "גיל האדם"


def number(text):
    """Return a formatted number as a float."""
    return float(text.replace("−", "-").replace(",", ""))


def tip(seen):
    return seen.page.locator(".skd-tip")


def lines(seen):
    """Return the lines of the tooltip."""
    assert tip(seen).is_visible()
    texts = tip(seen).locator("> div").all_inner_texts()
    return [text.replace("\u2068", "").replace("\u2069", "") for text in texts]  # isolates


def at(seen, x, y, svg="svg.skd"):
    """Move the pointer to a position in the figure's coordinates."""
    figure = seen.page.locator(svg).first
    figure.scroll_into_view_if_needed()
    # Scrolling hides the tooltip: wait until it ends.
    seen.page.evaluate(
        "() => new Promise(done => requestAnimationFrame(() => setTimeout(done, 20)))"
    )
    box = figure.bounding_box()
    wide = float(figure.get_attribute("viewBox").split()[2])
    factor = box["width"] / wide
    seen.page.mouse.move(box["x"] + factor * x, box["y"] + factor * y)


def pressed(seen, keys):
    for key in keys.split():
        seen.page.keyboard.press(key)


# ----------------------------------------------------- the contract, with a minimal figure


def by_hand(first="0 – 5 years\n57 rows", *, after=""):
    """Return a page with two bins and two curves: y = x / 5 - 1, and one with a corner at (5, 0.5)."""
    curves = "M40 250L440 50M40 50l200 50L440 50"
    hit = {"class_": "hit", "y": 50, "width": 200, "height": 200}
    svg = tag(
        "svg",
        tag("title", "age", id="a-title"),
        tag("desc", "two curves", id="a-desc"),
        tag(
            "g",
            tag("path", class_="curves", d=curves, data_rows="12 57"),
            class_="panel",
            data_x="40 440 0 10",
            data_y="250 50 -1.0 1.0",
        ),
        tag("rect", x=40, **hit, data_tip=first),
        tag("rect", x=240, **hit, data_tip="5 – 10 years\n3 rows"),
        class_="skd",
        viewBox="0 0 480 300",
        width="480",
        height="300",
        role="img",
        tabindex="0",
        aria_labelledby="a-title a-desc",
    )
    body = tag("main", tag("h1", "By hand"), svg, Markup(after))
    return page("By hand", body, styles=[style()], scripts=[script()])


def test_a_mark_tells_what_it_is_while_the_pointer_is_over_it(visit):
    seen = visit(by_hand())
    assert not tip(seen).is_visible()
    at(seen, 300, 240)
    assert lines(seen) == ["5 – 10 years", "3 rows"]
    at(seen, 100, 150)
    assert lines(seen) == ["0 – 5 years", "57 rows"]
    assert seen.page.locator(".hit.is-on").count() == 1
    seen.page.mouse.move(2, 2)
    assert not tip(seen).is_visible()
    assert seen.page.locator(".is-on").count() == 0
    assert seen.noise == []


@pytest.mark.slow
def test_the_nearest_curve_is_lit_and_says_its_row_and_value(visit):
    seen = visit(by_hand())
    at(seen, 140, 202)  # x = 2.5, where row 12 is at -0.5
    assert lines(seen) == ["0 – 5 years", "57 rows", "row 12: −0.500 at 2.50"]
    assert seen.page.locator(".curve-lit").get_attribute("d") == "M40 250L440 50"
    at(seen, 140, 73)  # row 57 falls from 1 to 0.5 at x = 5
    assert lines(seen)[-1] == "row 57: 0.750 at 2.50"
    assert seen.page.locator(".curve-lit").count() == 1
    at(seen, 300, 240)  # no curve is near
    assert lines(seen) == ["5 – 10 years", "3 rows"]
    assert seen.page.locator(".curve-lit").count() == 0


@pytest.mark.slow
def test_arrow_keys_go_from_mark_to_mark_and_from_curve_to_curve(visit):
    seen = visit(by_hand())
    seen.page.keyboard.press("Tab")
    assert seen.page.evaluate("document.activeElement.matches('svg.skd')")
    pressed(seen, "ArrowRight")
    assert lines(seen) == ["0 – 5 years", "57 rows"]
    pressed(seen, "ArrowRight ArrowRight ArrowRight")  # there is no third one
    assert lines(seen) == ["5 – 10 years", "3 rows"]
    pressed(seen, "ArrowUp")  # in the middle of this bin: 0.5, and 0.75 above it
    assert lines(seen)[-1] == "row 12: 0.500 at 7.50"
    pressed(seen, "ArrowUp ArrowUp")
    assert lines(seen)[-1] == "row 57: 0.750 at 7.50"
    pressed(seen, "ArrowDown ArrowLeft")  # the curve remains selected when the bin changes
    assert lines(seen) == ["0 – 5 years", "57 rows", "row 12: −0.500 at 2.50"]
    pressed(seen, "End")
    assert lines(seen) == ["5 – 10 years", "3 rows", "row 12: 0.500 at 7.50"]
    assert tip(seen).get_attribute("role") == "status"
    assert tip(seen).get_attribute("aria-live") == "polite"
    pressed(seen, "Escape")
    assert not tip(seen).is_visible()
    assert seen.page.locator(".is-on, .curve-lit").count() == 0
    assert seen.noise == []


def test_a_tap_tells_and_a_tap_elsewhere_ends_it(visit):
    seen = visit(by_hand(), phone=True)
    seen.page.locator("rect").nth(1).tap()
    assert lines(seen)[:2] == ["5 – 10 years", "3 rows"]
    seen.page.locator("h1").tap()
    assert not tip(seen).is_visible()
    assert seen.noise == []
    assert seen.beyond == 0


@pytest.mark.slow
@pytest.mark.parametrize("phone", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_tip_stays_in_the_window_whatever_it_says(visit, phone):
    said = "\n".join([LONG, ATTACK, RTL, "4.2", "👩‍👩‍👧 漢字"])
    seen = visit(by_hand(said), size=(340, 420) if phone else (600, 420), touch=False)
    seen.page.locator("rect").nth(1).evaluate("(e, said) => e.setAttribute('data-tip', said)", said)
    for place in [(42, 52), (438, 52), (42, 248), (438, 248), (240, 150)]:
        at(seen, *place)
        assert lines(seen)[:5] == said.split("\n")
        box, window = tip(seen).bounding_box(), seen.page.viewport_size
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= window["width"]
        assert box["y"] >= 0
        assert seen.beyond == 0
    assert seen.page.evaluate("window.pwned") is None
    assert seen.noise == []


@pytest.mark.slow
def test_what_is_added_later_comes_alive_once(visit):
    seen = visit(by_hand())
    seen.page.evaluate(
        """() => {
          const later = document.querySelector("svg").cloneNode(true);
          later.id = "later";
          const third = later.querySelector("rect").cloneNode();
          third.setAttribute("data-tip", "third");
          later.append(third);
          document.querySelector("main").append(later);
        }"""
    )
    at(seen, 100, 240, "#later")
    assert not tip(seen).is_visible()
    seen.page.evaluate("() => { for (const _ of [1, 2]) skedasis.enlive(document); }")
    seen.page.locator("#later").focus()
    pressed(seen, "Home")
    assert lines(seen) == ["0 – 5 years", "57 rows"]
    pressed(seen, "ArrowRight")
    assert lines(seen) == ["5 – 10 years", "3 rows"]  # one step, not two
    assert seen.page.locator(".skd-tip").count() == 1


def test_a_page_runs_no_other_script_and_asks_for_nothing(visit):
    seen = visit(by_hand())
    refused = seen.page.evaluate(
        """() => {
          const attack = "window.pwned = 1";
          const made = (name) => document.body.appendChild(document.createElement(name));
          const tries = {
            script: () => { made("script").text = attack; },
            handler: () => made("button").setAttribute("onclick", attack),
            html: () => { made("div").innerHTML = `<img src=x onerror="${attack}">`; },
            timer: () => setTimeout(attack, 0),
            write: () => document.write(`<script>${attack}</` + "script>"),
          };
          return Object.entries(tries).map(([name, attempt]) => {
            try { attempt(); return name; } catch (error) { return `${name}: ${error.name}`; }
          });
        }"""
    )
    # Strings are no trusted type: each of these rejects them.
    assert refused == [
        f"{name}: TypeError" for name in ("script", "handler", "html", "timer", "write")
    ]
    seen.page.evaluate("() => fetch('http://127.0.0.1:9/x').catch(() => 'blocked')")
    seen.page.evaluate(
        "() => { document.body.append(Object.assign(new Image(), { src: 'http://127.0.0.1:9/y' })); }"
    )
    seen.page.wait_for_timeout(100)
    assert seen.page.evaluate("window.pwned") is None
    policy = [said for said in seen.console if "Content Security Policy" in said]
    assert any("/x" in said for said in policy)
    assert any("/y" in said for said in policy)


# ------------------------------------------------------------------------------ real effects


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(5)
    n = 400
    X = pd.DataFrame({"age": rng.uniform(18, 80, n), ATTACK: rng.normal(size=n)})
    X[LONG] = rng.normal(size=n)
    X["city"] = rng.choice([ATTACK, RTL, "Oslo"], n)
    return X


def model(X):
    return np.sin(X["age"] / 9) * (1 + X[ATTACK]) + 0.1 * X[LONG] + 0.5 * (X["city"] == "Oslo")


@pytest.fixture(scope="module")
def effects(data):
    return sd.explain(model, data, method=sd.ALE(bins=6))


def hits(seen, of="svg.skd"):
    return seen.page.locator(of).first.locator("[data-tip]")


@pytest.mark.slow
def test_each_bin_tells_the_numbers_of_the_result(visit, effects):
    effect = effects["age"]
    seen = visit(effect.explore().html)
    seen.page.locator("svg.skd").focus()
    bins, found = effect.bins, []
    for k in range(len(bins)):
        pressed(seen, "Home" if k == 0 else "ArrowRight")
        found.append(lines(seen))
    assert hits(seen).count() == len(bins)
    ends = [[number(v) for v in said[0].split(" – ")] for said in found]
    np.testing.assert_allclose(ends, np.c_[bins.left, bins.right], atol=0.01)
    assert [said[1] for said in found] == [f"{n} rows" for n in bins.count]
    for name, values in (
        ("average slope", bins.effect),
        ("standard deviation", bins.std),
        ("standard error", bins.std_error),
    ):
        section = [next(v for v in said if v.startswith(f"{name} ")) for said in found]
        shown = [number(v.removeprefix(f"{name} ")) for v in section]
        np.testing.assert_allclose(shown, values, rtol=6e-3)
    assert seen.noise == []


# ------------------------------------------------------------------------- many effects at once


def names(seen):
    shown = seen.page.locator(".skd-item:visible")
    return shown.evaluate_all("items => items.map(item => item.dataset.feature)")


@pytest.mark.slow
def test_many_effects_are_filtered_and_sorted(visit, effects):
    seen = visit(effects.explore().html)
    by_importance = [r.feature for r in effects.ranking()]
    by_heterogeneity = sorted(by_importance, key=lambda f: -effects[f].heterogeneity_score)
    assert by_importance != by_heterogeneity
    assert names(seen) == by_importance
    sort = seen.page.get_by_label("Sort by")
    for order, expected in (
        ("heterogeneity score", by_heterogeneity),
        ("column order of X", list(effects)),
        ("importance", by_importance),
    ):
        sort.select_option(order)
        assert names(seen) == expected
    sort.select_option("name")
    assert names(seen) == sorted(effects, key=lambda n: (n[0] != "<", n))
    pressed(seen, "/")
    assert seen.page.evaluate("document.activeElement.type") == "search"
    seen.page.keyboard.type("ITY")
    assert names(seen) == ["city"]
    assert seen.page.locator(".skd-controls [role=status]").inner_text() == "1 of 4 features"
    pressed(seen, "Escape")
    assert len(names(seen)) == 4
    at(seen, 120, 150, ".skd-item:last-child svg.skd")  # moved figures are still interactive
    assert tip(seen).is_visible()
    assert seen.noise == []


@pytest.mark.parametrize("wrong", [{"top": 0}, {"columns": 0}, {"columns": 2.5}, {"by": "name"}])
def test_wrong_arguments_are_refused(effects, wrong):
    with pytest.raises(sd.DataError, match=r"got .*expected"):
        effects.explore(**wrong)


# -------------------------------------------------------------- accessibility, and hostile names


def everything(data, effects):
    """Return a page of each kind."""
    rng = np.random.default_rng(0)
    named = data.assign(y=model(data) + rng.normal(size=len(data)))
    pair = sd.explain(model, data, ("age", ATTACK), method=sd.ALE(bins=4))
    pfi = sd.explain(sd.loss(model, "squared_error"), data, y=named["y"], method=sd.PFI(local=200))
    pdp = sd.explain(model, data, "age", method=sd.PDP())
    numbers = data[["age", ATTACK, LONG]]
    gaussian = lambda X: (X[ATTACK] + X["age"] / 40, np.ones(len(X)))  # noqa: E731
    known = {"n_repeats": 3, "dependence_rows": 80, "progress": False}
    diagnosis = sd.diagnose(gaussian, numbers, named["y"], **known)
    return {
        "effects": effects.explore(),
        "ale": effects[ATTACK].explore(),
        "levels": effects["city"].explore(),
        "long": effects[LONG].explore(),
        "pdp": pdp.explore(color=data["city"], histogram=True),
        "surface": pair.explore(),
        "importance": pfi.explore(),
        "local": pfi.explore(kind="local", top=2),
        "diagnosis": diagnosis.explore(),
    }


@pytest.fixture(scope="module")
def pages(data, effects):
    return everything(data, effects)


MAIN = ("effects",)
MORE = ("pdp", "surface", "importance", "diagnosis", "ale", "levels", "long", "local")
KINDS = (*MAIN, *(pytest.param(kind, marks=pytest.mark.slow) for kind in MORE))


def shade(seen):
    """Return the brightness of the page's background, from 0 to 255."""
    ground = seen.page.evaluate("getComputedStyle(document.body).backgroundColor")
    return np.mean([int(v) for v in re.findall(r"\d+", ground)[:3]])


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_everybody_can_use_it_and_it_is_quiet(visit, pages, kind):
    seen = visit(pages[kind].html)
    for summary in seen.page.locator("summary").all():
        summary.click()
    assert shade(seen) > 230
    assert seen.violations() == []
    assert seen.beyond == 0
    seen.page.locator("svg.skd[tabindex]").first.focus()
    pressed(seen, "Home ArrowRight")
    assert tip(seen).is_visible()
    seen.page.emulate_media(color_scheme="dark")
    assert shade(seen) < 60
    assert seen.violations() == []
    seen.page.emulate_media(color_scheme="light", forced_colors="active")
    assert seen.page.locator("svg.skd").first.is_visible()
    assert seen.page.evaluate("window.pwned") is None
    assert seen.noise == []


@pytest.mark.parametrize("kind", KINDS)
def test_without_scripts_pictures_and_numbers_are_there(visit, pages, kind):
    seen = visit(pages[kind].html, scripts=False)
    assert seen.page.locator("svg.skd").first.is_visible()
    assert seen.page.locator("table").count() >= 1
    assert seen.page.locator(".skd-controls:visible").count() == 0
    assert seen.requests == []


@pytest.mark.slow
@pytest.mark.parametrize("dark", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_in_a_notebook_of_any_colour_it_can_be_read(visit, data, effects, dark):
    shown = [effects, effects.ranking(), effects[ATTACK], effects["city"], effects.checks()]
    html = "".join(result._repr_html_() for result in shown)
    # A notebook whose theme differs from the reader's system.
    ground, ink = ("#fff", "#111") if dark else ("#111", "#fff")
    look = f"<style>body {{ background: {ground}; color: {ink} }}</style>"
    seen = visit(
        f"<!doctype html><html lang=en><title>notebook</title>{look}<main><h1>Notebook</h1>{html}</main>",
        dark=dark,
    )
    for summary in seen.page.locator("summary").all():
        summary.click()
    assert seen.violations() == []
    assert seen.page.evaluate("window.pwned") is None
    assert seen.noise == []


@pytest.mark.slow
def test_a_notebook_s_frame_is_live_and_reaches_nothing(visit, effects):
    shown = effects["age"].explore()
    html = f"<!doctype html><html lang=en><title>notebook</title><main>{shown._repr_html_()}</main>"
    seen = visit(html)
    frame = seen.page.frame_locator("iframe")
    frame.locator("svg.skd").focus()
    seen.page.keyboard.press("Home")
    assert frame.locator(".skd-tip").inner_text().startswith("1")
    inner = seen.page.frames[1]
    assert (
        inner.evaluate("() => { try { return parent.document.title; } catch { return ''; } }") == ""
    )
    box = seen.page.locator("iframe").bounding_box()
    high = inner.evaluate("document.querySelector('figure').getBoundingClientRect().bottom")
    assert high < box["height"]  # the figure is visible without scrolling
    assert seen.noise == []
