"""A study or a table as a widget of a notebook."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from memscape import _memscape
from memscape._given import check
from memscape._table import framed, plain

if TYPE_CHECKING:
    import polars


def explore(what: Any, parameters: Mapping[str, Any] | None = None, /, **overrides: Any) -> Any:
    """Shows a study's form with a live figure, or a table to choose rows in.

    Of a study, every parameter has a slider, a list or a field; each change shows the answer, what its
    time is made of, and a curve over one parameter. Points can be pinned side by side, and copied as
    Python or TOML. Of a table, parallel axes and a scatter are brushed by dragging.

    Needs ``pip install "memscape[notebook]"``, and a front end that shows widgets: JupyterLab, VS Code.
    Without a notebook, ``memscape explore`` opens the same in a browser.

    Parameters
    ----------
    what
        A study, such as ``"pim.gemv"``, or a table: a ``polars.DataFrame`` or anything with
        ``__arrow_c_stream__``, up to some 10^5 rows.
    parameters, **overrides
        Where the form starts, as for :func:`run`; a table takes none.

    Returns
    -------
    anywidget.AnyWidget
        Of a study, ``.parameters`` is the point that the form shows, for :func:`run`. Of a table,
        ``.brushes`` says what is chosen, and ``.selection()`` returns those rows.

    Raises
    ------
    MemscapeError
        If there is no such study or parameter, or the table cannot be drawn.
    ModuleNotFoundError
        If anywidget is not installed.

    Examples
    --------
    >>> import memscape as ms
    >>> form = ms.explore("pim.gemv", model="opt-6.7b")
    >>> form.parameters
    {'model': 'opt-6.7b'}
    >>> view = ms.explore(ms.sweep("pim.gemv", {"split_k": [1, 2, 4]}))
    >>> view.brushes = {"split_k": {"min": 2, "max": 4}}
    >>> view.selection()["split_k"].to_list()
    [2, 4]
    """
    check(explore, locals())
    if isinstance(what, str):
        explorer = _memscape.Explorer(what, [dict(parameters or {}), overrides])
        return _widgets()["study"](explorer)
    if parameters or overrides:
        raise _memscape.MemscapeError("a table's rows are answered already, and take no parameters; explore the study")
    return _widgets()["table"](what)


@cache
def _widgets() -> dict[str, Any]:
    """The classes, which need a package that only notebooks have."""
    try:
        import anywidget
        import traitlets
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f'ms.explore needs {error.name}: pip install "memscape[notebook]"; without a notebook, '
            "`memscape explore` opens the same in a browser",
            name=error.name,
        ) from None

    module, styles = _memscape.explorer_module()

    class StudyWidget(anywidget.AnyWidget):
        """A study's form; ``parameters`` is the point that it shows."""

        _esm = module
        _css = styles
        spec = traitlets.Dict().tag(sync=True)
        parameters = traitlets.Dict().tag(sync=True)

        def __init__(self, explorer: _memscape.Explorer) -> None:
            spec = explorer.spec()
            super().__init__(spec=spec, parameters=spec["given"])
            self._explorer = explorer
            self.on_msg(self._answer)

        def _answer(self, _: Any, message: Any, buffers: Any) -> None:
            try:
                reply = self._explorer.ask(message["question"])
            except (_memscape.MemscapeError, _memscape.InternalError) as error:
                reply = {"row": None, "error": str(error), "values": None}
            self.send({"id": message["id"], "reply": reply})

    class TableWidget(anywidget.AnyWidget):
        """A table to look through; ``brushes`` says which rows are chosen."""

        _esm = module
        _css = styles
        spec = traitlets.Dict().tag(sync=True)
        bytes = traitlets.Bytes().tag(sync=True)
        brushes = traitlets.Dict().tag(sync=True)

        def __init__(self, table: Any) -> None:
            self._table = framed(table)
            spec, values = _memscape.explorer_table(plain(self._table))
            super().__init__(spec=spec, bytes=values)

        def selection(self) -> polars.DataFrame:
            """The rows that are chosen, all if nothing is."""
            import polars as pl

            within = []
            for name, brush in self.brushes.items():
                column = pl.col(name)
                if isinstance(brush, Mapping):
                    within.append(column.is_between(brush["min"], brush["max"]))
                else:
                    within.append(column.cast(pl.String).is_in(list(brush)))
            return self._table.filter(*within) if within else self._table

    return {"study": StudyWidget, "table": TableWidget}
