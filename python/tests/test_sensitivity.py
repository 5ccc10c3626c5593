"""Sensitivity beside SALib, on a study."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from SALib.analyze import morris as analyze_morris
from SALib.analyze import sobol as analyze_sobol
from SALib.sample import morris as sample_morris
from SALib.sample import sobol as sample_sobol

import memscape as ms

STUDY = "pim.gemv"
BASE = {"model": "opt-6.7b", "gemv": "fc1"}
RANGES = {
    "memory.trcd_ns": (10.0, 30.0),
    "memory.trp_ns": (10.0, 20.0),
    "memory.data_rate_mt_s": (5200.0, 9600.0),
    "memory.trefi_ns": (2000.0, 8000.0),
}
AXES: dict[str, Any] = {name: {"from": low, "to": high} for name, (low, high) in RANGES.items()}
PROBLEM = {"num_vars": len(RANGES), "names": list(RANGES), "bounds": [list(it) for it in RANGES.values()]}


def asked(points: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """What the study answers at SALib's points."""
    columns = {name: points[:, i].tolist() for i, name in enumerate(RANGES)}
    table = ms.evaluate(STUDY, columns, base=BASE)
    assert table["error"].null_count() == len(points)
    return table["time_ns"].to_numpy()


def test_sobol_indices_are_those_of_salib() -> None:
    """Two estimators of one quantity, from other points: apart by what their samples leave open."""
    theirs = analyze_sobol.analyze(PROBLEM, asked(sample_sobol.sample(PROBLEM, 2048, seed=1)), seed=1)
    ours = ms.sensitivity(STUDY, AXES, of="time_ns", method="sobol", samples=4096, base=BASE)
    assert ours["parameter"].to_list() == list(RANGES)
    for column, index in (("first_order", "S1"), ("total", "ST")):
        assert ours[column].to_list() == pytest.approx(theirs[index].tolist(), abs=0.03), column
    assert max(theirs["ST"]) > 0.3


def test_elementary_effects_rank_as_those_of_salib() -> None:
    """Morris' steps are of another length there, so the effects are compared by share."""
    points = sample_morris.sample(PROBLEM, 200, seed=1)
    theirs = np.asarray(analyze_morris.analyze(PROBLEM, points, asked(points), seed=1)["mu_star"])
    table = ms.sensitivity(STUDY, AXES, of="time_ns", method="morris", samples=200, base=BASE)
    ours = table["mean_absolute_effect"].to_numpy()
    assert (ours / ours.sum()).tolist() == pytest.approx((theirs / theirs.sum()).tolist(), abs=0.03)
