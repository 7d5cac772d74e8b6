"""The page in a real browser: every control, keys, printing, light and dark, a phone, and hostile names."""

import json
import re

import numpy as np
import pandas as pd
import pytest

import skedasis as sd
from skedasis._escaping import in_order

EVIL = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>\'"&amp;{{7*7}}'
LONG = "a_name_without_any_space_that_goes_on_" * 13
RIGHT = "עברית العربية 🦔"
FEATURES = 13
ORDER = "() => [...document.querySelectorAll('#feature-list > .feature:not([hidden])')].map(f => f.dataset.name)"
AT = "() => document.activeElement.closest('.feature')?.dataset.name ?? null"


def model(X):
    values = X.select_dtypes("number").fillna(0.0).to_numpy()
    sizes = 1.0 / np.arange(1, values.shape[1] + 1)[::-1]
    return values @ sizes + values[:, 0] * values[:, -1] + (X["town"] == "b")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    n = 240
    X = pd.DataFrame({f"x{j}": rng.normal(size=n) for j in range(FEATURES - 1)})
    X.insert(3, "town", rng.choice(["a", "b", "c"], n))
    X.loc[:9, "x5"] = np.nan
    return X, model(X) + rng.normal(size=n) / 10


@pytest.fixture(scope="module")
def report(data, tmp_path_factory):
    X, y = data
    path = tmp_path_factory.mktemp("browser") / "page.html"
    return sd.report({"m": sd.prediction(model, unit="€")}, X, y, path=path, progress=False)


@pytest.fixture
def page(report, visit):
    return visit(report.path).page


def text(page, selector):
    return page.locator(selector).inner_text()


# ------------------------------------------------------------------------- no messages or requests


@pytest.mark.parametrize(
    "how",
    [
        {"phone": True},
        pytest.param({"dark": True}, marks=pytest.mark.slow),
        pytest.param({"forced_colors": "active"}, marks=pytest.mark.slow),
        # The size of a window of 1280 pixels at 200 % zoom.
        pytest.param({"size": (640, 400), "reduced_motion": "reduce"}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_it_is_quiet_accessible_and_no_wider_than_its_window(report, visit, how):
    seen = visit(report.path, **how)
    for details in seen.page.locator("details").all():
        details.evaluate("d => { d.open = true; }")
    assert seen.beyond <= 0
    assert seen.violations() == []
    assert seen.noise == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "width", [330, *(pytest.param(width, marks=pytest.mark.slow) for width in (500, 820, 1500))]
)
def test_nothing_overflows(report, visit, width):
    seen = visit(report.path, size=(width, 800))
    beyond = seen.page.evaluate(
        """() => [...document.querySelectorAll("body *")]
        .filter(e => !e.closest(".scroll, pre, .skip, svg, .grid > *, .contents > *")
        && e.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
        .map(e => e.outerHTML.slice(0, 90))"""
    )
    assert beyond == []
    assert seen.beyond <= 0


@pytest.mark.slow
def test_fingers_find_what_they_press(report, visit):
    seen = visit(report.path, phone=True)
    small = seen.page.evaluate(
        """() => [...document.querySelectorAll("button, input:not([type=checkbox]), select, .switch, summary, nav a")]
        .filter(e => e.checkVisibility()).filter(e => e.getBoundingClientRect().height < 43.9)
        .map(e => e.outerHTML.slice(0, 90))"""
    )
    assert small == []


@pytest.mark.slow
def test_a_phone_shows_whole_tables_and_keeps_the_contents_in_view(report, visit):
    page = visit(report.path, size=(390, 800), touch=True).page
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    wide = page.evaluate(
        """() => [...document.querySelectorAll("body *")]
        .filter(e => e.checkVisibility() && !e.closest("pre, .grid, thead, .skip, .unseen") && !e.closest("svg *"))
        .filter(e => e.scrollWidth > 390 || e.getBoundingClientRect().right > 390.5)
        .map(e => e.outerHTML.slice(0, 90))"""
    )
    assert wide == []
    # Each number of a table has the head of its column beside it.
    bare = "table:not(.who) td:not([data-label]):not(:empty)"
    assert page.locator(bare).count() == 0
    page.locator("#made").scroll_into_view_if_needed()
    menu = page.locator("#menu")
    assert menu.bounding_box()["y"] < 20
    assert not page.locator(".contents ul").is_visible()
    menu.click()
    page.locator(".contents a", has_text="Features").click()
    assert page.locator("#features-name").bounding_box()["y"] < 400
    assert not page.locator(".contents ul").is_visible()


@pytest.mark.slow
def test_the_reading_guide_opens_from_the_contents(page, report):
    page.locator(".contents a", has_text="How to read").click()
    assert page.locator("#reading").get_attribute("open") is not None


# -------------------------------------------------------------------------------- the first screen


@pytest.mark.slow
def test_the_first_screen_fits_a_window(report, visit):
    page = visit(report.path, size=(1300, 900)).page
    for part in (
        ".headline",
        ".findings",
        ".variance",
        ".variance-key",
        ".first-curves figure:last-child",
    ):
        box = page.locator(part).first.bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 900, part
        assert box["x"] + box["width"] <= 1300
    assert page.locator(".first-curves svg.skd").count() == 3
    assert 3 <= page.locator(".findings li").count() <= 5


@pytest.mark.slow
def test_the_numbers_of_the_page_are_saved_as_json(page, report, tmp_path):
    with page.expect_download() as saving:
        page.click("#data-button")
    assert saving.value.suggested_filename == "report.json"
    path = tmp_path / "saved.json"
    saving.value.save_as(path)
    saved = json.loads(path.read_text("utf-8"))
    whole = report.to_dict()
    assert saved["data"]["rows"] == whole["data"]["rows"] == 240
    assert [m["name"] for m in saved["models"]] == ["m"]


# ------------------------------------------------------------------- switches of models and outputs


class Chances:
    """A classifier of three classes whose probabilities depend on the first two columns."""

    classes_ = np.array(["low", "mid", "top"])

    def __init__(self, slope):
        self.slope = slope

    def predict_proba(self, X):
        values = np.asarray(X, dtype=float)
        score = np.stack([0 * values[:, 0], values[:, 0], self.slope * values[:, 1]], axis=1)
        chance = np.exp(score - score.max(axis=1, keepdims=True))
        return chance / chance.sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


@pytest.fixture(scope="module")
def models_and_outputs(tmp_path_factory):
    X = np.random.default_rng(0).normal(size=(150, 3))
    path = tmp_path_factory.mktemp("views") / "page.html"
    models = {
        name: sd.probability(Chances(k), class_="all") for name, k in (("a", 1.0), ("b", 3.0))
    }
    return sd.report(models, X, path=path, pairs=0, uncertainty=False, progress=False)


def headings_shown(page):
    return page.locator(".feature h4:visible").all_inner_texts()


@pytest.mark.slow
def test_models_share_axes_until_one_is_chosen(models_and_outputs, visit):
    seen = visit(models_and_outputs.path, size=(1300, 900))
    page = seen.page
    assert page.locator(".together:visible").count() == 3
    assert headings_shown(page) == []
    legend = page.locator(".first:visible .first-curves svg.skd").first
    assert {"a", "b"} <= set(legend.locator(".legend text").all_text_contents())
    page.get_by_label("top", exact=True).check()
    legend = page.locator(".first:visible .first-curves svg.skd").first
    assert {"a", "b"} <= set(legend.locator(".legend text").all_text_contents())
    assert "P(y = top)" in legend.text_content()
    page.get_by_label("b", exact=True).check()
    assert headings_shown(page) == ["b: top"] * 3
    assert page.locator(".together:visible").count() == 0
    assert page.locator(".first:visible").count() == 1
    assert page.locator(".ranking:visible").count() == 1
    assert seen.violations() == []
    assert seen.noise == []


@pytest.mark.slow
def test_no_section_is_a_heading_alone_in_any_view(tmp_path, visit):
    X = np.random.default_rng(0).uniform(-1, 1, (600, 3))
    models = {
        name: lambda X, k=k: k * X[:, 0] * np.where(X[:, 1] > 0, 1, -1)
        for name, k in (("a", 1.0), ("b", 3.0))
    }
    done = sd.report(models, X, path=tmp_path / "r.html", uncertainty=False, progress=False)
    page = visit(done.path).page
    for view in ("all models", "a", "b"):
        page.get_by_label(view, exact=True).check()
        found = page.evaluate(
            "[...document.querySelectorAll('section[aria-labelledby]')].filter(s => s.checkVisibility())"
            ".map(s => [s.querySelector('h2,h3').innerText.trim(), s.innerText.trim()])"
        )
        assert "Who is affected" in [name for name, _ in found]
        assert not [name for name, said in found if said == name]


@pytest.mark.slow
def test_switches_are_operated_by_keys(models_and_outputs, visit):
    page = visit(models_and_outputs.path).page
    page.get_by_label("all models").focus()
    page.keyboard.press("ArrowRight")
    assert headings_shown(page) == ["a: low"] * 3
    page.get_by_label("low", exact=True).focus()
    page.keyboard.press("ArrowRight")
    assert headings_shown(page) == ["a: mid"] * 3


# --------------------------------------------------------------------------------- finding, sorting


def by_score(rhale, sign):
    """Return features sorted by score; features of equal scores, as of two factors, by importance."""
    important = sorted(rhale, key=lambda f: -rhale[f].importance)
    return sorted(important, key=lambda f: sign * rhale[f].heterogeneity_score)


@pytest.mark.slow
def test_features_are_sorted_as_asked(page, report):
    rhale = report.effects["m"]["RHALE"]
    orders = {
        "importance": sorted(rhale, key=lambda f: -rhale[f].importance),
        "heterogeneity_score": by_score(rhale, -1),
        "name": ["town", *[f"x{j}" for j in range(FEATURES - 1)]],
        "column": list(rhale),
    }
    assert page.evaluate(ORDER) == orders["importance"]
    for by, order in orders.items():
        page.select_option("#sort", by)
        assert page.evaluate(ORDER) == order
        assert f"{FEATURES} of {FEATURES} features, by" in text(page, "#shown")
    assert text(page, "#shown").endswith("order in the data")


@pytest.mark.slow
def test_features_are_found_by_a_part_of_their_name(page):
    page.fill("#find", "X1")
    assert set(page.evaluate(ORDER)) == {"x1", "x10", "x11"}
    assert text(page, "#shown") == f"3 of {FEATURES} features, by importance"
    page.fill("#find", "nothing like it")
    assert page.evaluate(ORDER) == []
    assert page.locator("#none").is_visible()
    page.click("#clear")
    assert len(page.evaluate(ORDER)) == FEATURES
    assert page.locator("#none").is_hidden()
    page.fill("#find", "town")
    page.press("#find", "Escape")
    assert len(page.evaluate(ORDER)) == FEATURES
    page.fill("#find", "town")
    page.press("#find", "Enter")
    assert page.evaluate(AT) == "town"


@pytest.mark.slow
def test_the_table_is_sorted_by_its_headings(page, report):
    rhale = report.effects["m"]["RHALE"]

    def order():
        return page.locator(".ranking tbody th").all_inner_texts()

    def sorted_by():
        heads = page.locator(".ranking th[aria-sort]")
        assert heads.count() == 1
        return heads.inner_text().strip(), heads.get_attribute("aria-sort")

    assert sorted_by() == ("Importance", "descending")
    page.click(".ranking .sorter:has-text('Heterogeneity')")
    assert order() == by_score(rhale, -1)
    assert sorted_by() == ("Heterogeneity score", "descending")
    page.click(".ranking .sorter:has-text('Heterogeneity')")
    scores = [rhale[f].heterogeneity_score for f in order()]
    assert scores == sorted(scores)
    assert sorted_by() == ("Heterogeneity score", "ascending")
    page.locator(".ranking .sorter:has-text('Feature')").press("Enter")
    assert order() == ["town", *[f"x{j}" for j in range(FEATURES - 1)]]
    page.click(".ranking .sorter:has-text('rule explains')")
    found = report.content.sections[0].regions
    shares = {f: r.heterogeneity_explained for f, r in found.items() if len(r) > 1}
    first = order()[: len(shares)]
    assert shares
    assert first == sorted(shares, key=lambda f: -shares[f])


# ------------------------------------------------------------------------------------- navigation


@pytest.mark.slow
def test_keys_go_from_feature_to_feature(page):
    names = page.evaluate(ORDER)
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.id") == "main"
    page.keyboard.press("/")
    assert page.evaluate("() => document.activeElement.id") == "find"
    page.keyboard.type("jk/")  # in a text field these are letters
    assert page.input_value("#find") == "jk/"
    page.keyboard.press("Escape")
    page.locator("#features-name").evaluate("h => { h.tabIndex = -1; h.focus(); }")
    for expected in [*names[:3]]:
        page.keyboard.press("j")
        page.wait_for_function(f"() => ({AT})() === {expected!r}")
    page.keyboard.press("k")
    assert page.evaluate(AT) == names[1]
    page.click("#next")
    assert page.evaluate(AT) == names[2]
    page.click("#previous")
    assert page.evaluate(AT) == names[1]
    page.uncheck("#keys")
    page.locator("main").focus()
    page.keyboard.press("/")
    assert page.evaluate("() => document.activeElement.id") == "main"


@pytest.mark.slow
def test_a_link_leads_to_a_feature_that_is_not_shown(page):
    last = page.evaluate(ORDER)[-1]
    page.fill("#find", "town")
    page.click(f".ranking a:has(bdi:text-is('{last}'))")
    assert page.evaluate(AT) == last
    assert len(page.evaluate(ORDER)) == FEATURES
    top = page.evaluate("() => document.activeElement.getBoundingClientRect().top")
    assert 0 <= top < 300
    assert page.locator(f".feature[data-name='{last}'] svg.skd").count() > 0


@pytest.mark.slow
def test_a_point_leads_to_its_feature(page, report):
    places = page.locator("a.place")
    assert places.count() == FEATURES
    assert set(places.evaluate_all("all => all.map(a => a.dataset.feature)")) == set(
        report.effects["m"]["RHALE"]
    )
    page.locator("a.place[data-feature='x4']").dispatch_event("click")
    page.wait_for_function(f"() => ({AT})() === 'x4'")
    page.locator("a.place[data-feature='town']").focus()
    page.keyboard.press("Enter")
    page.wait_for_function(f"() => ({AT})() === 'town'")


# ---------------------------------------------------------------------------- when figures are drawn


@pytest.mark.slow
def test_ten_features_are_drawn_at_load_and_others_when_they_come_near(page):
    drawn = "() => [...document.querySelectorAll('.feature')].filter(f => f.querySelector('svg.skd')).length"
    assert page.evaluate(drawn) == 10
    # Three figures of each feature, and those of its regions.
    later = page.locator(".later .regions figure").count()
    assert page.locator(".later template").count() == 3 * 3 + later
    heights = "() => document.documentElement.scrollHeight"
    for k in range(11, FEATURES + 1):
        page.locator(f"#feature-{k}-name").scroll_into_view_if_needed()
    page.wait_for_function(f"() => ({drawn})() === {FEATURES}")
    assert page.locator("template").count() == 0
    assert page.locator("svg.hold").count() == 0
    ids = page.evaluate("() => [...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))
    assert page.evaluate(heights) > 5000
    live = page.locator("svg.skd:not(.live)").count()
    assert live == 0


@pytest.mark.slow
def test_paper_has_a_few_pages_and_begins_with_the_first_screen(report, visit, tmp_path):
    seen = visit(report.path)
    pdf = tmp_path / "page.pdf"
    seen.page.pdf(path=str(pdf), prefer_css_page_size=True)
    pages = len(re.findall(rb"/Type\s*/Page\b", pdf.read_bytes()))
    assert 3 <= pages <= 12
    seen.page.emulate_media(media="print")
    for shown in (
        ".headline",
        ".findings",
        ".variance",
        ".first-curves",
        ".ranking",
        "#feature-1",
        "#feature-6",
    ):
        assert seen.page.locator(shown).first.is_visible()
    for screen_only in ("#theme", "form.bar", ".contents", "details", "#feature-7"):
        assert seen.page.locator(screen_only).first.is_hidden()
    assert f"{FEATURES - 6} more features" in text(seen.page, ".on-paper")
    breaks = "() => getComputedStyle(document.getElementById('where')).breakBefore"
    assert seen.page.evaluate(breaks) == "page"
    assert seen.noise == []


@pytest.mark.slow
def test_without_scripts_words_tables_and_ten_features_are_there(report, visit):
    page = visit(report.path, scripts=False).page
    assert page.locator("noscript p").is_visible()
    assert page.locator("svg.skd:visible").count() >= 10 + 3
    assert page.locator(".findings li:visible").count() >= 3
    assert page.locator("form.bar").is_hidden()
    assert page.locator("#theme").is_hidden()
    assert page.locator(".feature:visible .sentences").count() == FEATURES


# -------------------------------------------------------------------------------------- theme, copy


@pytest.mark.slow
def test_the_theme_is_chosen_and_remembered(report, visit):
    seen = visit(report.path)
    paper = "() => getComputedStyle(document.body).backgroundColor"
    light = seen.page.evaluate(paper)
    assert text(seen.page, "#theme").strip() == "Theme: auto"
    seen.page.click("#theme")
    assert text(seen.page, "#theme").strip() == "Theme: light"
    assert seen.page.evaluate(paper) == light
    seen.page.locator("#theme").press("Enter")
    assert text(seen.page, "#theme").strip() == "Theme: dark"
    dark = seen.page.evaluate(paper)
    assert dark != light
    assert seen.violations() == []
    for _ in range(4):
        seen.page.reload()
        remembered = text(seen.page, "#theme").strip()
        if remembered == "Theme: dark":
            break
        # A busy Chromium may lose what a page stores first in a new profile, whatever the page does: choose again.
        assert seen.page.evaluate("() => localStorage.length") == 0
        seen.page.click("#theme", click_count=2)
    assert remembered == "Theme: dark"
    assert seen.page.evaluate(paper) == dark
    seen.page.click("#theme")
    assert seen.page.evaluate(paper) == light
    other = visit(report.path, dark=True)
    assert other.page.evaluate(paper) == dark


@pytest.mark.slow
def test_code_is_copied(report, visit):
    page = visit(report.path, permissions=["clipboard-read", "clipboard-write"]).page
    part = page.locator("details.code").first
    part.locator("summary").click()
    part.locator(".copy").click()
    page.wait_for_function("() => document.querySelector('.copy').textContent === 'Copied'")
    code = part.locator("code").inner_text()
    assert "sd." in code
    assert page.evaluate("() => navigator.clipboard.readText()") == code


# --------------------------------------------------------------------------------------- hostile names


@pytest.mark.slow
def test_an_injected_script_is_blocked(report, visit):
    html = report.path.read_text("utf-8")
    assert html.count("<script>") == 1
    assert html.count("<style>") == 1
    seen = visit(html.replace("</footer>", "</footer><script>window.hacked = 1</script>"))
    assert seen.page.evaluate("() => window.hacked") is None
    seen.page.evaluate(
        "() => { window.refused = []; document.addEventListener('securitypolicyviolation', "
        "e => window.refused.push(e.effectiveDirective)); }"
    )
    assert any("Content Security Policy" in line for line in seen.console)
    for attack in (
        "document.body.innerHTML = '<b>'",
        "document.body.insertAdjacentHTML('beforeend', '<b>')",
        "(0, eval)('1')",
        "new Image().src = 'http://127.0.0.1:9/x'",
        "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.hacked = 1'}))",
    ):
        seen.page.evaluate(f"() => {{ try {{ {attack} }} catch (e) {{}} }}")
    assert seen.page.evaluate("() => window.hacked") is None
    assert seen.page.locator("body > b").count() == 0
    seen.page.wait_for_function("() => window.refused.includes('img-src')")
    refused = seen.page.evaluate("() => window.refused")
    assert refused.count("require-trusted-types-for") >= 3
    assert seen.page.evaluate("() => document.querySelectorAll('svg.skd').length") > 10


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    rng = np.random.default_rng(0)
    n = 150
    X = pd.DataFrame(
        {EVIL: rng.normal(size=n), LONG: rng.normal(size=n), RIGHT: rng.normal(size=n)}
    )
    X["level"] = rng.choice([EVIL, LONG, RIGHT, "", "</template></svg></script>"], n)
    X["javascript:alert(1)"] = rng.normal(size=n)
    path = tmp_path_factory.mktemp("hostile") / "<b>evil</b> 'page' \"é\" #%41.html"
    models = {
        EVIL: sd.prediction(lambda X: X.iloc[:, 0] * X.iloc[:, 2], name=EVIL, unit=EVIL),
        LONG: lambda X: X.iloc[:, 1] * 1e9 + (X["level"] == EVIL),
    }
    schema = {EVIL: sd.Feature(EVIL, unit="</title><script>")}
    return sd.report(
        models, X, path=path, title=f"{EVIL} {LONG} {RIGHT}", schema=schema, progress=False
    )


def without_isolates(text):
    """Return text without the marks that keep right-to-left words in their place."""
    return text.replace("\u2068", "").replace("\u2069", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", [pytest.param({}, marks=pytest.mark.slow), {"phone": True}], ids=["desktop", "phone"]
)
def test_hostile_names_are_text(hostile, visit, how):
    seen = visit(hostile.path, **how)
    page = seen.page
    assert without_isolates(page.title()) == " ".join(f"{EVIL} {LONG} {RIGHT}".split())
    for name in (EVIL, LONG, RIGHT, "level"):
        shown = re.compile(re.escape(in_order(name)[:40]))
        heading = page.locator(".feature h3 bdi").filter(has_text=shown)
        assert without_isolates(heading.first.inner_text()) == name
        page.fill("#find", name)
        assert [without_isolates(found) for found in page.evaluate(ORDER)] == [name]
        page.fill("#find", "")
    page.select_option("#sort", "name")
    for k in range(5):
        page.locator(".ranking:visible tbody a, .comparison:visible tbody a").nth(k).click()
    for stop in page.locator("[data-tip]").all()[:40]:
        stop.dispatch_event("click")
    assert page.evaluate("() => window.hacked") is None
    assert page.locator("main img, main script, [onerror]").count() == 0
    assert seen.beyond <= 0
    assert seen.noise == []
    assert seen.violations() == []
