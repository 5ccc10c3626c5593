"""Hermes' traces and partitions themselves, below the ``ndp`` studies.

>>> import memscape as ms
>>> ms.ndp.solve([[1e6, 1e6, 1e6]], [[0.9, 0.1, 0.1]], bandwidth=[800e9, 50e9, 50e9], capacity=[1e6, 2e6, 2e6])
Partition(1 of 3 neurons on the GPU, 2 DIMMs, 0.002000 ms, at most 0.0000 % above the optimum)
"""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

from memscape import _memscape
from memscape._given import check, ended, floats, read_plain
from memscape._memscape import NdpPartition

__all__ = ["NdpPartition", "load", "partition", "solve"]


def __dir__() -> list[str]:
    return __all__


def load(name: str, traces: Iterable[str | PathLike[str]], profile: str | PathLike[str] | None = None) -> str:
    """Reads recorded activity, which studies then know as ``trace=name``.

    Parameters
    ----------
    name
        What it is to be called; another recording that was loaded under this
        name is forgotten, a built-in one is not.
    traces
        ``.npz`` files, one per sequence: ``qkv`` and ``mlp`` (bits, packed with
        ``numpy.packbits(..., axis=-1, bitorder="little")``, [tokens, layers,
        neurons / 8]), ``n_prefill`` and ``meta`` (JSON).
    profile
        An ``.npz`` file of what was profiled offline: ``qkv_freq`` and
        ``mlp_freq`` [layers, neurons], ``qkv_parents`` and ``mlp_parents``
        [layers, neurons, 2]. Without, the traces' own prompts are profiled.

    Returns
    -------
    str
        What was read, in one line.

    Raises
    ------
    MemscapeError
        If a file is no trace, which the message names with the array, or the
        name is built in.
    OSError
        If a file cannot be read.
    """

    check(load, locals())

    def read(path: str | PathLike[str]) -> tuple[str, bytes]:
        # What a trace's arrays take at the most, as the command line reads them.
        return Path(path).name, read_plain(path, 1 << 30)

    return _memscape.ndp_add_recording(
        name, [read(it) for it in ended(traces)], None if profile is None else read(profile)
    )


def partition(**parameters: Any) -> NdpPartition:
    """The offline partition of a model's neurons, with a proven bound.

    Parameters
    ----------
    **parameters
        Those of the study ``ndp.partition``; dotted paths go in as
        ``**{"gpu.memory_gb": 16}``.

    Returns
    -------
    NdpPartition
        ``device(block)`` gives the device of each neuron, 0 for the GPU; blocks
        are QKV inputs and feed-forward neurons of each layer in turn.

    Raises
    ------
    MemscapeError
        If a parameter is unknown or the model does not fit.

    Examples
    --------
    >>> import memscape as ms
    >>> small = ms.ndp.partition(model="opt-125m", hot_share=0.1)
    >>> small.blocks, len(small.bytes), small.gap < 0.01
    (24, 9, True)
    """
    return _memscape.ndp_partition(parameters)


def solve(
    size_bytes: Iterable[Iterable[float]],
    frequency: Iterable[Iterable[float]],
    *,
    bandwidth: Iterable[float],
    capacity: Iterable[float],
) -> NdpPartition:
    """Solves any instance: the least sum over blocks of the slowest device's time.

    Parameters
    ----------
    size_bytes
        Bytes of each neuron (or group), [blocks, neurons].
    frequency
        Share of tokens for which it is active, [blocks, neurons].
    bandwidth
        Bytes per second of the GPU and of each DIMM.
    capacity
        Bytes of the GPU and of each DIMM, over all blocks.

    Returns
    -------
    NdpPartition
        With objective, proven lower bound and gap.

    Raises
    ------
    MemscapeError
        If a number is out of range or the neurons do not fit: by how many GB,
        and how many DIMMs would do.
    """

    check(solve, locals())
    sizes, shares = ([floats(row) for row in ended(table)] for table in (size_bytes, frequency))
    return _memscape.ndp_solve(sizes, shares, floats(bandwidth), floats(capacity))
