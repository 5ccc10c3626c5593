"""A sweep as a study file holds it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from memscape._given import listed
from memscape._search import Space, as_space


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
