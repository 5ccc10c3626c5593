"""The same question asked of every system."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from memscape import _memscape
from memscape._given import COUNT_FROM_1, check, ended, listed
from memscape._progress import Progress
from memscape._remarks import incomplete

if TYPE_CHECKING:
    import polars


def compare(
    model: str | os.PathLike[str] | Mapping[str, Any] = "llama-3.2-3b",
    *,
    prompt_tokens: COUNT_FROM_1 = 1920,
    generated_tokens: COUNT_FROM_1 = 128,
    batch: COUNT_FROM_1 = 1,
    format: str | Iterable[str] | None = None,
    platforms: str | Mapping[str, Any] | Iterable[str | os.PathLike[str] | Mapping[str, Any]] | None = None,
    operators: bool = False,
) -> polars.DataFrame:
    """Asks platforms for the same prompt and reply.

    Parameters
    ----------
    model
        A name, a path to ``.toml``, ``config.json`` or ``.gguf``, or a dict.
    prompt_tokens, generated_tokens
        Tokens of each prompt, and tokens generated after it.
    batch
        Sequences at the same time.
    format
        How weights are stored, one or several (a row for each); each platform's own if
        not given.
    platforms
        Names (``ms.presets("platform")`` lists them), paths to TOML files of one's own, or
        dicts of the same form, such as
        ``{"base": "npu-xdna2", "parameters": {"given": {"device.clock_mhz": 2000}}}``; all
        that are built in if not given.
    operators
        Whether to take each platform apart: a row for each part of each operator of the
        prompt and of a token.

    Returns
    -------
    polars.DataFrame
        One row per platform and format: ``platform``, ``machine``, ``variant``, ``study``,
        the workload, the columns that all ``*.inference`` studies share (see
        :func:`describe`), ``error`` (why a platform cannot run the model, else null), and
        ``assumptions``: what the row takes for granted and another may not.

        With ``operators``, ``pass``, ``kind`` (projections, MLP, attention, LM head or rest),
        ``operator``, ``part`` and ``part_ns`` instead: the parts
        of a pass sum to its time in nanoseconds. ``time_ns`` and ``least_ns`` are those of the
        operator and the least that the description allows it, ``operations_per_byte``,
        ``attained_gops`` and ``allowed_gops`` its place under the roofline.

    Raises
    ------
    MemscapeError
        For what no platform could mend: an unknown model or platform, a length of zero.

    Examples
    --------
    >>> import memscape as ms
    >>> table = ms.compare("llama-2-70b", platforms=["npu-xdna2", "hermes"])
    >>> table["error"].is_null().to_list()
    [False, True]
    """
    check(compare, locals())
    formats = [] if format is None else listed(format)
    if format is not None and not formats:
        raise _memscape.MemscapeError("`format` is empty; name one at least, or leave it out for each platform's own")
    workload = {
        "model": dict(model) if isinstance(model, Mapping) else model,
        "prompt_tokens": prompt_tokens,
        "generated_tokens": generated_tokens,
        "batch": batch,
        "formats": formats,
    }
    spec: dict[str, Any] = {"workload": workload, "operators": operators}
    if platforms is not None:
        given = [platforms] if isinstance(platforms, (str, Mapping)) else ended(platforms)
        spec["platforms"] = [dict(it) if isinstance(it, Mapping) else str(it) for it in given]
    with Progress("compare") as progress:
        table, complete = _memscape.compare(spec, progress)
    if not complete:
        incomplete(f"the table has the first {len(table)} rows only")
    return table
