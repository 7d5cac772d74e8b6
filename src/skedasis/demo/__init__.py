"""`skedasis demo`: two models of real data, bundled or a user's own, fitted, explained, and put on a page.

One model is piecewise constant and one is smooth, so that both kinds of local effects are seen. Where they agree, the
data may be speaking; where they do not, a model is.

`problem` reads and tidies the data, `models` fits, `findings` says what came out, `run` does it all.
"""

from __future__ import annotations

from skedasis.demo.run import demo

__all__ = ["demo"]
