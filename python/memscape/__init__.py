"""Design-space exploration of memory-centric LLM inference hardware.

Ask one question with :func:`run`, many with :func:`sweep`, redraw a paper's
figure with :func:`experiment`, look for the best with :func:`search` and
:func:`front`, and hold the papers' numbers against the models'
own with :func:`claims`. :func:`studies` lists the questions there are and
:func:`describe` explains one.

>>> import memscape as ms
>>> answer = ms.run("pim.gemv", model="opt-6.7b", gemv="fc1")
>>> answer["speedup"] > 1
True
"""

from memscape import ndp, npu, ondevice, pim, riscv
from memscape._claims import calibrate, claims
from memscape._compare import compare
from memscape._experiments import Experiment, Figure, experiment, experiments
from memscape._explore import explore
from memscape._fit import Fit, fit
from memscape._memscape import Description, InternalError, MemscapeError, __version__
from memscape._plot import plot
from memscape._predictions import predictions
from memscape._remarks import IncompleteWarning
from memscape._search import evaluate, front, hypervolume, search
from memscape._sensitivity import sensitivity
from memscape._spec import Space
from memscape._store import Store
from memscape._studies import (
    Preset,
    describe,
    difference,
    edition,
    laws,
    presets,
    run,
    schema,
    studies,
    sweep,
    timeline,
    trace,
)
from memscape._uncertainty import uncertainty

__all__ = [
    "Description",
    "Experiment",
    "Figure",
    "Fit",
    "IncompleteWarning",
    "InternalError",
    "MemscapeError",
    "Preset",
    "Space",
    "Store",
    "__version__",
    "calibrate",
    "claims",
    "compare",
    "describe",
    "difference",
    "edition",
    "evaluate",
    "experiment",
    "experiments",
    "explore",
    "fit",
    "front",
    "hypervolume",
    "laws",
    "ndp",
    "npu",
    "ondevice",
    "pim",
    "plot",
    "predictions",
    "presets",
    "riscv",
    "run",
    "schema",
    "search",
    "sensitivity",
    "studies",
    "sweep",
    "timeline",
    "trace",
    "uncertainty",
]
