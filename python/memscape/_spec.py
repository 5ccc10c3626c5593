"""A space and a sweep as a study file holds them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from memscape._given import check, ended, listed


@dataclass(frozen=True)
class Space:
    """Axes and constraints: what a sweep, a search and a front go over.

    Parameters
    ----------
    axes
        By dotted path: a list of values; ``{"from": 1, "to": 64, "count": 7, "log": True}``
        or ``{"from": 1, "to": 64, "step": 1}``; or a range, ``{"from": 10, "to": 40}``, of
        whole numbers with ``"integer": True`` and with equal ratios equally likely with
        ``"log": True``. ``"min"`` and ``"max"`` mean the same as ``"from"`` and ``"to"``.
        With ``"when"``, a formula over axes before it, an axis exists only where that holds
        (``{"values": [1, 2], "when": "placement == 'fixed-tile'"}``); elsewhere its parameter
        keeps what the base gives it.
    zip
        Axes that move together: one dict of lists of the same length, or several such
        dicts; the key ``"when"`` is a condition on all of a dict's axes.
    constraints
        What must hold at every point: formulas over parameters and columns, such as
        ``"pim.registers * memory.banks_per_channel <= 512"``. Those over parameters alone
        are held before anything is evaluated. docs/search.md has the grammar.

    Examples
    --------
    >>> import memscape as ms
    >>> space = ms.Space(
    ...     {"memory.banks_per_channel": [8, 16, 32], "pim.registers": {"from": 8, "to": 32, "integer": True}},
    ...     constraints=["pim.registers * memory.banks_per_channel <= 512"],
    ... )
    >>> len(ms.sweep("pim.gemv", space))
    59
    """

    axes: Mapping[str, Any] = field(default_factory=dict)
    zip: Mapping[str, Any] | Sequence[Mapping[str, Any]] = ()
    constraints: str | Sequence[str] = ()

    def __post_init__(self) -> None:
        check(Space, vars(self))

    def spec(self) -> dict[str, Any]:
        """Returns the space as a study file holds it."""
        groups = [self.zip] if isinstance(self.zip, Mapping) else ended(self.zip)
        constraints = listed(self.constraints)
        return {"axes": dict(self.axes), "zip": groups, "constraints": constraints}


def as_space(space: Space | Mapping[str, Any]) -> Space:
    """A dict stands for its axes, or for the arguments of a space if it has no others."""
    if isinstance(space, Space):
        return space
    if space and set(space) <= {"axes", "zip", "constraints"}:
        return Space(**space)
    return Space(space)


def sweep_spec(
    study: str,
    axes: Mapping[str, Any] | Space | None,
    base: Mapping[str, Any] | None,
    zip: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    constraints: str | Iterable[str],
    sample: Mapping[str, Any] | None,
) -> dict[str, Any]:
    """Puts a sweep's arguments together."""
    spec: dict[str, Any] = {"study": study, "base": dict(base or {}), **as_space(axes or {}).spec()}
    more = Space({}, zip, listed(constraints)).spec()
    spec["zip"] += more["zip"]
    spec["constraints"] += more["constraints"]
    if sample is not None:
        spec["sample"] = sample
    return spec
