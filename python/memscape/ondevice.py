"""PIM-SHERPA's layout and copy, below the study ``ondevice.layout``.

>>> import memscape as ms
>>> ms.ondevice.layout(matrix="k")
Layout(512 x 2048 bf16, 64 units of 16 lanes, 32 DRAM rows)
"""

from __future__ import annotations

from typing import Any

from memscape import _memscape
from memscape._memscape import OndeviceLayout

__all__ = ["OndeviceLayout", "layout"]


def __dir__() -> list[str]:
    return __all__


def layout(**parameters: Any) -> OndeviceLayout:
    """Places a matrix for PIM: where each element lies, and the copy back.

    Parameters
    ----------
    **parameters
        Those of the study ``ondevice.layout``; dotted paths go in as
        ``**{"pim.output_registers": 4}``.

    Returns
    -------
    OndeviceLayout
        ``place(row, column)`` gives channel, rank, bank, row, column and lane of
        an element, ``address(row, column)`` its physical byte address.
        ``convert(host)`` is the model converter, from the bytes of the host's
        matrix to an image of memory from address 0 on; ``copy(image, start,
        stop)`` is the swizzled copy of these elements, counted in the host's
        order.

    Raises
    ------
    MemscapeError
        If a parameter is unknown, the map is not invertible, or the matrix does
        not fit.

    Examples
    --------
    >>> import memscape as ms
    >>> small = ms.ondevice.layout(rows=32, columns=4)
    >>> small.place(17, 2), small.address(17, 2)
    ((1, 0, 0, 0, 2, 1), 194)
    >>> host = bytes(range(256))
    >>> image = small.convert(host)
    >>> small.copy(image, 0, 100) + small.copy(image, 100, 128) == host
    True
    """
    return _memscape.ondevice_layout(parameters)
