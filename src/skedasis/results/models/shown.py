"""What results of several models show: see `skedasis.results.shown`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from skedasis.results.shown import Shown, this, written

if TYPE_CHECKING:
    from skedasis.plots.web.page import Explorable
    from skedasis.results.models.of_models import Of


class ShownEffectOfModels(Shown):
    """What an `EffectOfModels` shows."""

    __slots__ = ()

    def explore(
        self,
        path: str | Path | None = None,
        *,
        level: float = 0.95,
        of: Of | None = None,
        title: str | None = None,
    ) -> Explorable:
        """Return the models' curves and their mean as a page that tells their numbers under the pointer.

        Parameters
        ----------
        path : str or Path, optional
            Where the page is written, too.
        level, of
            As in `plot`.
        title : str, optional
            Of the page; by default the feature's name.

        Returns
        -------
        Explorable
            Notebooks show it; its `save` writes it.

        Raises
        ------
        DataError, UnsupportedError
            As `interval` does; and for a path that is a folder.

        Examples
        --------
        >>> import numpy as np
        >>> import skedasis as sd
        >>> X = np.random.default_rng(0).normal(size=(100, 2))
        >>> models = [lambda X, k=k: k * X[:, 0] for k in (1.0, 2.0)]
        >>> sd.explain(models, X, 0, method=sd.ALE(bins=4)).explore().title
        'x0'
        """
        from skedasis.plots.web.explore import of_models

        return written(of_models(this(self), level=level, of=of, title=title), path)


class ShownEffectsOfModels(Shown):
    """What `EffectsOfModels` show."""

    __slots__ = ()

    def explore(
        self,
        path: str | Path | None = None,
        *,
        by: Literal["importance", "heterogeneity_score"] = "importance",
        top: int | None = None,
        columns: int | None = None,
        level: float = 0.95,
        of: Of | None = None,
        title: str | None = None,
    ) -> Explorable:
        """Return all effects on shared scales, as a page that filters, sorts and tells numbers under the pointer.

        Parameters
        ----------
        path : str or Path, optional
            Where the page is written, too.
        by, top, columns
            As in `Effects.explore`.
        level, of
            As in `plot`.
        title : str, optional
            Of the page.

        Returns
        -------
        Explorable
            Notebooks show it; its `save` writes it.

        Raises
        ------
        DataError, UnsupportedError
            As `plot` does; and for a path that is a folder.
        """
        from skedasis.plots.web.explore import of_many_models

        made = of_many_models(
            this(self), by=by, top=top, columns=columns, level=level, of=of, title=title
        )
        return written(made, path)


class ShownSurfaceOfModels(Shown):
    """What a `SurfaceOfModels` shows."""

    __slots__ = ()

    def explore(self, path: str | Path | None = None, *, title: str | None = None) -> Explorable:
        """Return the mean over the models as a page that tells what each cell is; see `Surface.explore`."""
        return this(self).mean().explore(path, title=title)


class ShownImportanceOfModels(Shown):
    """What an `ImportanceOfModels` shows."""

    __slots__ = ()

    def explore(
        self,
        path: str | Path | None = None,
        *,
        features: Sequence[str] | None = None,
        top: int | None = None,
        level: float = 0.95,
        of: Of | None = None,
        title: str | None = None,
    ) -> Explorable:
        """Return the bars as a page that tells their numbers under the pointer.

        Parameters
        ----------
        path : str or Path, optional
            Where the page is written, too.
        features, top, level, of
            As in `plot`.
        title : str, optional
            Of the page.

        Returns
        -------
        Explorable
            Notebooks show it; its `save` writes it.

        Raises
        ------
        DataError, UnsupportedError
            As `plot` does; and for a path that is a folder.
        """
        from skedasis.plots.web.explore import of_importances

        made = of_importances(
            this(self), features=features, top=top, level=level, of=of, title=title
        )
        return written(made, path)
