"""Laws of `to_dict` and `to_json`: what is written is read again, exactly, and describes the same curve."""

import json

import numpy as np
from hypothesis import strategies as st

from skedasis.results.export import Exportable, plain_numbers, unique_texts
from tests.laws.strategies import cases, effects_of, law, ways


def read(numbers):
    """Return numbers as an array; NaN for None."""
    return np.array([np.nan if v is None else v for v in numbers])


@law(way=ways(), case=cases())
def test_an_effect_is_read_again_to_the_last_bit(way, case):
    before = case.X.copy()
    for effect in effects_of(case, way, features=[0, 1]).values():
        text = effect.to_json(rows=True)
        assert effect.to_json(rows=True) == text
        found = json.loads(text)
        assert found == effect.to_dict(rows=True)
        curve = found["curve"]
        for key, own in (("x", "points"), ("value", "value"), ("error", "std_error")):
            np.testing.assert_array_equal(read(curve[key]), getattr(effect, own))
        np.testing.assert_array_equal(read(curve["heterogeneity"]), effect.heterogeneity)
        if effect.accumulated_std is not None:
            np.testing.assert_array_equal(read(curve["accumulated_std"]), effect.accumulated_std)
        assert (found["bins"] is None) == (effect.bins is None)
        if effect.bins is not None:
            np.testing.assert_array_equal(found["bins"]["rows"], effect.bins.count)
            np.testing.assert_array_equal(read(found["bins"]["std"]), effect.bins.std)
        if effect.curves is not None:
            np.testing.assert_array_equal(found["ice"]["value"], effect.curves.value)
    np.testing.assert_array_equal(case.X, before)


class Anything(Exportable):
    """A result with any content."""

    def __init__(self, content):
        self.content = content

    def _document(self, options):
        return {"content": self.content}


LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(exclude_categories=()))
    | st.floats(width=32).map(np.float32)
    | st.lists(st.floats(), max_size=4).map(np.array)
    | st.dates()
    | st.timedeltas()
)
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(st.characters(exclude_categories=()), max_size=3) | st.integers(0, 3),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@law(content=TREES)
def test_any_content_is_strict_json_that_is_read_again(content):
    found = Anything(content).to_dict()
    text = Anything(content).to_json()
    text.encode("utf-8")
    assert json.loads(text) == found
    assert json.dumps(found, allow_nan=False)
    if isinstance(content, dict):
        assert len(found["content"]) == len(content)


@law(values=st.lists(st.floats()))
def test_numbers_are_read_again_to_the_last_bit(values):
    again = json.loads(json.dumps(plain_numbers(np.array(values, dtype=float))))
    for value, read in zip(values, again, strict=True):
        assert read is None if not np.isfinite(value) else read == value


@law(names=st.lists(st.text("a\ud800\udfff\ufffd(2) ", max_size=5), unique=True))
def test_distinct_texts_stay_distinct(names):
    found = unique_texts(names)
    assert len(set(found.values())) == len(names)
    assert all(found[n] == n for n in names if n == n.encode("utf-8", "ignore").decode())
    "".join(found.values()).encode()
