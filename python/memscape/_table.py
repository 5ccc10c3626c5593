"""Tables of any library, as figures and formulas take them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memscape._memscape import MemscapeError

if TYPE_CHECKING:
    import polars


def framed(table: Any) -> polars.DataFrame:
    """A table as a DataFrame.

    Parameters
    ----------
    table
        A polars.DataFrame, anything with ``__arrow_c_stream__``, columns as a dict of lists, or rows as a list of
        dicts.

    Raises
    ------
    MemscapeError
        If it is none of these.
    """
    import polars

    if isinstance(table, polars.DataFrame):
        return table
    rows = isinstance(table, Sequence) and all(isinstance(it, Mapping) for it in table)
    if not (hasattr(table, "__arrow_c_stream__") or isinstance(table, Mapping) or rows):
        lazy = "; `collect()` makes it one" if isinstance(table, polars.LazyFrame) else ""
        raise MemscapeError(
            f"a `{type(table).__name__}` is not a table{lazy}; give a polars.DataFrame, any object with "
            "`__arrow_c_stream__`, a dict of columns, or a list of rows"
        )
    try:
        if rows:
            # A later row may have a fraction where a hundred had none, or a column that they had not.
            return polars.DataFrame(table, infer_schema_length=None)
        if isinstance(table, Mapping):
            return polars.DataFrame({name: _numbers(values) for name, values in table.items()})
        return polars.DataFrame(table)
    except ImportError as error:
        raise MemscapeError(
            f"a `{type(table).__name__}` is read with the help of {error.name or 'pyarrow'}: "
            'pip install "memscape[pandas]"'
        ) from error
    except (TypeError, ValueError, OverflowError, polars.exceptions.PolarsError) as error:
        raise MemscapeError(f"this `{type(table).__name__}` makes no table: {error}") from error


def _numbers(values: Any) -> Any:
    """Whole numbers beside fractions are fractions, wherever these begin."""
    if not isinstance(values, Sequence) or isinstance(values, str):
        return values
    numbers = [it for it in values if it is not None]
    are_numbers = all(isinstance(it, (int, float)) and not isinstance(it, bool) for it in numbers)
    if are_numbers and any(isinstance(it, float) for it in numbers):
        return [None if it is None else float(it) for it in values]
    return values


def plain(frame: polars.DataFrame, named: Collection[str] = ()) -> polars.DataFrame:
    """Those columns of a table that hold numbers, texts or truth values, in few types.

    Parameters
    ----------
    frame
        The table.
    named
        Columns that are asked for.

    Raises
    ------
    MemscapeError
        If one of these holds anything else.
    """
    import polars
    from polars import Boolean, Categorical, Date, Datetime, Enum, Float64, Int64, Int128, Null, String, Time, UInt64

    columns = []
    for name, kind in frame.schema.items():
        column = polars.col(name)
        if kind in (Boolean, String, Int64, UInt64, Float64):
            columns.append(column)
        elif kind.is_integer() and kind != Int128:
            columns.append(column.cast(Int64))
        elif kind.is_numeric() or kind == Null:
            columns.append(column.cast(Float64))
        elif kind in (Categorical, Enum, Date, Datetime, Time):
            columns.append(column.cast(String))
        elif name in named:
            raise MemscapeError(
                f"column `{name}` is of type {kind}, and holds neither numbers nor texts; cast it to one of these"
            )
    return frame.select(columns)
