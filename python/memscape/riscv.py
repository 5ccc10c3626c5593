"""llama.cpp on the SG2042 below the studies ``riscv.*``: census, blocks, kernels.

>>> import memscape as ms
>>> ms.riscv.census().height
18
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from memscape import _memscape
from memscape._given import U32, check, ended

if TYPE_CHECKING:
    import polars

__all__ = ["Product", "Run", "census", "dequantise", "explain", "multiply", "quantise"]


def __dir__() -> list[str]:
    return __all__


class Run(NamedTuple):
    """A llama.cpp run that explains counted matrix products."""

    repetitions: int
    prompt_tokens: int
    generated_tokens: int


class Product(NamedTuple):
    """What a kernel computed, and the instructions that it took."""

    results: list[float]
    counts: dict[str, int]


def census(**parameters: Any) -> polars.DataFrame:
    """The matrix products of a llama.cpp run, most frequent first.

    Parameters
    ----------
    **parameters
        Those of the study ``riscv.census``.

    Returns
    -------
    polars.DataFrame
        ``shared``, ``dst0`` and ``dst1`` as the thesis prints shapes, ``operand``
        (``weights`` or ``cache``), ``count`` and ``share``.

    Raises
    ------
    MemscapeError
        If a parameter is unknown or out of range.

    Examples
    --------
    >>> import memscape as ms
    >>> ms.riscv.census()[0, "count"]
    11904
    """
    import polars

    rows = _memscape.riscv_census(parameters)
    frame = polars.DataFrame(rows, schema=["shared", "dst0", "dst1", "operand", "count"], orient="row")
    return frame.with_columns((frame["count"] / frame["count"].sum()).alias("share"))


def explain(
    counts: Iterable[tuple[int, int, int, int]],
    *,
    repetitions: tuple[U32, U32] = (1, 6),
    prompt_tokens: tuple[int, int] = (1, 128),
    generated_tokens: tuple[int, int] = (1, 256),
    **parameters: Any,
) -> list[Run]:
    """The census backwards: every run that makes exactly these counts.

    Tries all runs in the ranges, on all cores.

    Parameters
    ----------
    counts
        ``(shared, dst0, dst1, count)``; shapes that are not given are not compared.
    repetitions, prompt_tokens, generated_tokens
        First and last value to try.
    **parameters
        Of the study ``riscv.census``: the model, and what else is known.

    Returns
    -------
    list of Run
        Empty if nothing explains the counts.

    Raises
    ------
    MemscapeError
        If a parameter is unknown.

    Examples
    --------
    >>> import memscape as ms
    >>> ms.riscv.explain([(4096, 4096, 1, 11904), (4096, 4096, 6, 384), (32, 128, 1, 2496)])
    [Run(repetitions=3, prompt_tokens=6, generated_tokens=32)]
    """
    check(explain, locals())
    ranges = (*repetitions,), (*prompt_tokens,), (*generated_tokens,)
    found = _memscape.riscv_explain([(*it,) for it in ended(counts)], parameters, *ranges)
    return [Run(*run) for run in found]


def quantise(kind: str, weights: Sequence[float]) -> bytes:
    """Blocks of 32 weights with one fp16 scale, as ggml stores them, bit for bit.

    Parameters
    ----------
    kind
        ``"q4_0"`` (18 bytes per block) or ``"q8_0"`` (34 bytes).
    weights
        A multiple of 32 finite numbers.

    Returns
    -------
    bytes

    Raises
    ------
    MemscapeError
        For NaN, infinities, scales beyond fp16, partial blocks and other kinds.

    Examples
    --------
    >>> import memscape as ms
    >>> len(ms.riscv.quantise("q4_0", [0.5] * 64))
    36
    """
    check(quantise, locals())
    return _memscape.riscv_quantise(kind, weights)


def dequantise(kind: str, data: bytes) -> list[float]:
    """The weights that blocks hold.

    Parameters
    ----------
    kind
        ``"q4_0"`` or ``"q8_0"``.
    data
        Whole blocks.

    Returns
    -------
    list of float

    Raises
    ------
    MemscapeError
        For partial blocks and other kinds.

    Examples
    --------
    >>> import memscape as ms
    >>> ms.riscv.dequantise("q8_0", ms.riscv.quantise("q8_0", [127.0] + [1.0] * 31))[:2]
    [127.0, 1.0]
    """
    check(dequantise, locals())
    return _memscape.riscv_dequantise(kind, data)


def multiply(weights: bytes, vectors: bytes, *, columns: int, **parameters: Any) -> Product:
    """Executes a kernel of the thesis on a vector machine that counts.

    Parameters
    ----------
    weights
        The matrix: rows of blocks.
    vectors
        One or more vectors of as many weights as a row has, in Q8_0.
    columns
        Weights in a row, a multiple of 32.
    **parameters
        Of the study ``riscv.kernel``: ``kernel``, ``lmul``, ``tile_rows``,
        ``**{"core.vlen_bits": 256}``, ...

    Returns
    -------
    Product
        One result per row and vector, and what was executed.

    Raises
    ------
    MemscapeError
        If the kernel does not exist for the format, or lengths do not belong together.

    Examples
    --------
    >>> import memscape as ms
    >>> matrix = ms.riscv.quantise("q4_0", [8.0] * 128)
    >>> vector = ms.riscv.quantise("q8_0", [1.0] * 64)
    >>> product = ms.riscv.multiply(matrix, vector, columns=64, kernel="complex")
    >>> [round(it) for it in product.results], product.counts["instructions"]
    ([512, 512], 79)
    """
    check(multiply, locals())
    results, counts = _memscape.riscv_multiply(parameters, weights, vectors, columns)
    return Product(results, dict(counts))
