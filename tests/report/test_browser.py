"""The page in a real browser: every picture is decoded, nothing overflows, light, dark and on a phone."""

import json
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import skedasis as sd

CHROMIUM = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no chromium to look at pages with")

PROBE = """
<script>
const broken = [...document.images].filter(i => !i.complete || i.naturalWidth === 0).length;
const root = document.documentElement;
const beyond = [...document.querySelectorAll("body *")].filter(
  e => e.getBoundingClientRect().right > root.clientWidth + 1 && !e.closest(".scroll, .wide, .skip")
).map(e => e.tagName + "." + e.className);
root.dataset.probe = JSON.stringify({
  images: document.images.length, broken, width: root.scrollWidth, client: root.clientWidth, beyond,
});
</script></body>"""


def chromium(folder, *arguments):
    command = [
        CHROMIUM,
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--hide-scrollbars",
        f"--user-data-dir={folder / 'profile'}",
        *arguments,
    ]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    rng = np.random.default_rng(0)
    long = "a_name_without_any_space_that_goes_on_" * 3
    X = pd.DataFrame({long: rng.normal(size=200), "b": rng.normal(size=200)})
    X["level"] = rng.choice([long, "<i>short</i>", ""], 200)
    path = tmp_path_factory.mktemp("browser") / "page.html"
    models = {
        "one": lambda X: X.iloc[:, 0] * X["b"] + (X["level"] == long) * X["b"],
        "two" * 30: lambda X: X["b"] * 1e9,
    }
    sd.report(models, X, path=path, progress=False)
    return path


@pytest.mark.parametrize("width", [500, 820, 1300])
def test_pictures_decode_and_nothing_overflows(page, width):
    # The page itself forbids scripts; its copy is allowed one, to be asked.
    html = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text("utf-8"))
    probed = page.with_name(f"probe-{width}.html")
    html = html.replace("<details>", "<details open>")  # tables may not overflow either
    probed.write_text(html.replace("</body>", PROBE), "utf-8")
    dom = chromium(page.parent, f"--window-size={width},1000", "--dump-dom", f"file://{probed}")
    found = re.search(r'data-probe="([^"]*)"', dom)
    assert found, dom[:500]
    seen = json.loads(found[1].replace("&quot;", '"'))
    assert seen["images"] == 2 + 2 * 3 * 2
    assert seen["broken"] == 0
    assert seen["beyond"] == []
    assert seen["width"] <= seen["client"]


def shot(page, name, *arguments):
    path = page.with_name(f"{name}.png")
    chromium(
        page.parent, f"--screenshot={path}", "--window-size=1200,2400", *arguments, f"file://{page}"
    )
    return np.asarray(Image.open(path).convert("RGB"), dtype=float)


def test_it_is_light_or_dark_as_the_reader_wants(page):
    light = shot(page, "light")
    dark = shot(page, "dark", "--blink-settings=preferredColorScheme=0")
    assert light.shape == dark.shape
    assert np.median(light) > 230
    assert np.median(dark) < 60
    # Something is drawn: curves in blue, spreads in amber.
    red, blue = light[..., 0], light[..., 2]
    assert (blue - red > 60).mean() > 0.001
    assert (red - blue > 40).mean() > 0.001


def test_it_prints(page):
    pdf = page.with_suffix(".pdf")
    chromium(page.parent, f"--print-to-pdf={pdf}", f"file://{page}")
    assert pdf.read_bytes().startswith(b"%PDF")
    assert pdf.stat().st_size > 50_000
