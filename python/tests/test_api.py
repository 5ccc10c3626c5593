"""Questions asked from Python."""

import inspect
import io
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time

import polars as pl
import pytest

import memscape as ms
from memscape._progress import Progress

BANKS = "memory.banks_per_channel"


def test_fits_take_tables_and_name_what_is_misspelt():
    seen = {"prompt_tokens": [128, 512], "token_ns": [3.2e6, 3.3e6]}
    free = {"link.flit_share": {"from": 0.5, "to": 1.0}}
    found = ms.fit("cxl.inference", seen, free)
    assert found == ms.fit("cxl.inference", pl.DataFrame(seen), {"link.flit_share": (0.5, 1.0)})
    assert 0.5 <= found.values["link.flit_share"] <= 1.0
    wrong = pl.DataFrame(seen).rename({"token_ns": "tokens_ns"})
    with pytest.raises(ms.MemscapeError, match=r"`tokens_ns` \(did you mean `token_ns`\?\)"):
        ms.fit("cxl.inference", wrong, free)
    for bad in (0.5, "low", {"min": 1}, (1, 2, 3)):
        with pytest.raises(ms.MemscapeError, match=r"expected \(min, max\)"):
            ms.fit("cxl.inference", seen, {"link.flit_share": bad})
    for bad, message in (
        (("a", "b"), "`min` of .* = 'a': expected a number"),
        ((0.5, None), "`max` of .* = None: expected a number"),
        ({"min": 0.5, "max": 1, "log": "no"}, "`log` of .* = 'no': expected true or false"),
        ({"min": 0.5, "from": 0.6, "max": 1}, "`from` is `min`"),
    ):
        with pytest.raises(ms.MemscapeError, match=message):
            ms.fit("cxl.inference", seen, {"link.flit_share": bad})
    for bad in (None, 3, [1, 2]):
        with pytest.raises(ms.MemscapeError, match="expected a table, columns as a dict of lists, or rows"):
            ms.fit("cxl.inference", bad, free)
    with pytest.raises(ms.MemscapeError, match="a `str` is not a table"):
        ms.fit("cxl.inference", "mine.csv", free)
    with pytest.raises(ms.MemscapeError, match="`sigma` of `ttft_s`: no row has a measurement of it"):
        ms.fit("cxl.inference", seen, free, sigma={"token_ns": 1.0, "ttft_s": 1.0})


def test_a_name_of_a_parameter_and_a_column_is_told_apart():
    spread, free = {"activity.spread": 2.5254}, {"activity.spread": (1.964, 2.806)}
    swept = ms.sweep("ndp.activity", {"density": [0.05, 0.1, 0.3]}, spread)
    found = ms.fit("ndp.activity", swept.select("density", "overlap", "answer.density"), free)
    assert abs(found.values["activity.spread"] - 2.5254) < 1e-3
    assert found.points["column"].to_list() == ["overlap", "density"] * 3
    seen = swept.select("density", "overlap").with_columns(pl.lit(None).alias("answer.density"))
    assert abs(ms.fit("ndp.activity", seen, free).values["activity.spread"] - 2.5254) < 1e-3
    for columns in ({"density": [0.1]}, {"density": [0.1], "overlap": [0.5]}):
        with pytest.raises(ms.MemscapeError, match=r"call a measurement `answer\.density`"):
            ms.fit("ndp.activity", columns, free)
    only = ms.fit("ndp.activity", {"answer.density": [0.1]}, {"density": (0.05, 0.3)}, sigma={"answer.density": 0.01})
    assert abs(only.values["density"] - 0.1) < 1e-3


def test_a_fit_finds_what_moves_nothing_where_it_begins():
    truth = {"device.dispatch_ns": 99e3, "device.dram.read_gb_s": 12.5}
    sizes = [(448, 448, 448), (4032, 4032, 4032), (896, 4032, 448), (448, 8960, 448), (2016, 448, 4032)]
    points = [dict(zip("mkn", size, strict=True)) for size in sizes]
    seen = [{**it, "time_ns": ms.run("npu.gemm", truth, **it)["time_ns"]} for it in points]
    # Half of 100 GB/s, where it begins, binds none of these.
    free = {"device.dispatch_ns": (0, 1e6), "device.dram.read_gb_s": (1, 100)}
    for order in (list(free), list(free)[::-1]):
        found = ms.fit("npu.gemm", seen, {path: free[path] for path in order})
        assert found.rms < 1e-6
        assert found.converged
        assert all(found.identified.values())
        assert found.limits == dict.fromkeys(order)
        for path, value in truth.items():
            assert found.values[path] == pytest.approx(value, rel=1e-4)
    narrow = ms.fit("npu.gemm", seen, {"device.dispatch_ns": (0, 5e4)}, truth)
    assert narrow.limits == {"device.dispatch_ns": "highest"}
    assert "(the highest of its range)" in repr(narrow)


def test_a_point_of_a_sweep_is_the_answer_of_a_run():
    table = ms.sweep("pim.gemv", {BANKS: [8, 16]}, {"model": "opt-6.7b"})
    assert table.columns[0] == BANKS
    assert table.columns[-1] == "error"
    for row in table.iter_rows(named=True):
        answer = ms.run("pim.gemv", {BANKS: row[BANKS]}, model="opt-6.7b")
        assert answer == {key: row[key] for key in answer}


def test_parameters_may_be_dotted_nested_or_keywords():
    dotted = ms.run("pim.gemv", {BANKS: 8})
    nested = ms.run("pim.gemv", {"memory": {"banks_per_channel": 8}})
    keyword = ms.run("pim.gemv", memory={"banks_per_channel": 8})
    unpacked = ms.run("pim.gemv", **{BANKS: 8})
    assert dotted == nested == keyword == unpacked


def test_axes_take_any_iterable():
    expected = ms.sweep("pim.gemv", {BANKS: [8, 16]})
    for values in ((8, 16), range(8, 17, 8), pl.Series([8, 16]), iter([8, 16])):
        assert ms.sweep("pim.gemv", {BANKS: values}).equals(expected)


def test_zipped_axes_move_together():
    table = ms.sweep("pim.gemv", zip={BANKS: [8, 16], "memory.channels": [4, 8]})
    assert table.select(BANKS, "memory.channels").rows() == [(8, 4), (16, 8)]


def test_a_bad_point_is_a_row():
    table = ms.sweep("pim.gemv", {BANKS: [0, 8]})
    assert "banks_per_channel" in table["error"][0]
    assert table["error"][1] is None
    assert table["time_ns"].null_count() == 1


@pytest.mark.parametrize(
    ("study", "parameters", "message"),
    [
        ("pim.gmev", {}, "did you mean `pim.gemv`"),
        ("pim.gemv", {"memory.bank_per_channel": 8}, "did you mean `memory.banks_per_channel`"),
        ("pim.gemv", {BANKS: 0}, BANKS),
        ("pim.gemv", {BANKS: -1}, BANKS),
        ("pim.gemv", {BANKS: "many"}, BANKS),
        ("pim.gemv", {BANKS: 2**70}, BANKS),
        ("pim.gemv", {"memory.trcd_ns": float("nan")}, "memory.trcd_ns.*finite"),
        ("pim.gemv", {"memory": {"trcd_ns": float("inf")}}, "memory.trcd_ns.*finite"),
        ("pim.gemv", {"model": "opt-6.7"}, "opt-6.7b"),
        ("pim.gemv", {"model": "llama-3-8b"}, "did you mean `llama-3.1-8b`"),
        ("pim.gemv", {"model": "meta-llama/Llama-3.1-8B"}, "did you mean `llama-3.1-8b`"),
        ("pim.gemv", {"model": {"layers": 2}}, "whole model.*base"),
        ("pim.gemv", {"model": {"base": "opt-6.7b", "layers": 2}}, "stand in the table `parameters`"),
    ],
)
def test_bad_input_is_told_by_name(study, parameters, message):
    with pytest.raises(ms.MemscapeError, match=message) as caught:
        ms.run(study, parameters)
    assert isinstance(caught.value, ValueError)


def test_values_of_strange_types_are_refused():
    with pytest.raises(ms.MemscapeError, match=r"`memory\.banks_per_channel` is a `object`"):
        ms.run("pim.gemv", {BANKS: object()})
    with pytest.raises(ms.MemscapeError, match="`8` is no parameter's name"):
        ms.run("pim.gemv", {8: 8})


def test_description():
    description = ms.describe("pim.gemv")
    assert description.name == "pim.gemv"
    assert {"path", "meaning", "unit", "default", "allowed", "source"} <= set(description.parameters[0])
    assert "banks_per_channel" in str(description)
    assert "<table>" in description._repr_html_()


def test_other_threads_run_during_a_sweep():
    ticks = 0
    stop = threading.Event()

    def tick():
        nonlocal ticks
        while not stop.wait(0.001):
            ticks += 1

    thread = threading.Thread(target=tick)
    thread.start()
    began = time.monotonic()
    try:
        ms.sweep("pim.gemv", {"memory.trcd_ns": {"from": 10, "to": 20, "count": 200_000}})
    finally:
        seconds = time.monotonic() - began
        stop.set()
        thread.join()
    # With the interpreter held there would be next to none.
    assert ticks > 50 * seconds


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to send")
def test_an_interrupt_returns_what_is_done():
    code = """
        import sys, warnings
        import memscape as ms
        import polars
        many = {"from": 10, "to": 20, "count": 2_000_000}
        print("ready", flush=True)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            table = ms.sweep("pim.gemv", {"memory.trcd_ns": many, "memory.trp_ab_ns": [20, 21, 22, 23, 24]})
        print(len(table), [str(it.message) for it in caught], flush=True)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    line, _ = process.communicate(timeout=30)
    assert time.monotonic() - began < 1.5
    rows = int(line.split()[0])
    assert 0 < rows < 10_000_000
    assert f"the first {rows} rows only" in line


def test_figures(tmp_path):
    experiment = ms.experiment("pimnast.fig10")
    table = experiment.table()
    figure = experiment.plot(table)
    assert figure.svg() == experiment.plot().svg() == figure._repr_svg_()
    figure.save(tmp_path / "figure.svg")
    figure.save(str(tmp_path / "figure.png"))
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    figure.save(tmp_path / "figure.PDF")
    assert (tmp_path / "figure.PDF").read_bytes().startswith(b"%PDF")
    with pytest.raises(ms.MemscapeError, match=r"\.png or \.pdf"):
        figure.save(tmp_path / "figure.gif")
    assert "Bars of Speedup over SoC" in figure.alt_text()
    assert "Published" in figure.svg()
    assert "Published" not in experiment.plot(published=False).svg()
    dark = experiment.plot(style="dark")
    assert dark.svg() == figure.styled("dark").svg() != figure.svg()
    with pytest.raises(ms.MemscapeError, match='give "paper", "slides" or "dark"'):
        figure.styled("slide")
    # What the paper prints is of the paper's machine.
    other = experiment.plot(experiment.table({"memory.trcd_ns": 36})).svg()
    assert "Published" not in other and "a table that was changed" in other
    changed = experiment.plot(parameters={"memory.trcd_ns": 36})
    assert "Changed: memory.trcd_ns = 36." in changed.alt_text()
    # Nor of a table that these parameters do not make.
    false = experiment.plot(experiment.table({"memory.trcd_ns": 36}), parameters={"memory.trcd_ns": 99})
    assert "a table that was changed" in false.alt_text()
    with pytest.raises(ms.MemscapeError, match="a mark for one"):
        experiment.plot(pl.concat([table, experiment.table({"memory.trcd_ns": 36})]))
    with pytest.raises(ms.MemscapeError, match="sets it itself"):
        experiment.table({"memory.banks_per_channel": 8})
    with pytest.raises(ms.MemscapeError, match="column"):
        experiment.plot(table.select(pl.first()))
    with pytest.raises(ms.MemscapeError, match=r"pimnast\.fig10"):
        ms.experiment("pimnast.fig1O")


def test_an_embedding_is_as_wide_as_the_layers():
    wider = {"base": "llama-3.2-1b", "parameters": {"hidden_size": 3072, "heads": 48}}
    with pytest.raises(ms.MemscapeError, match="project_in"):
        ms.run("pim.gemv", model=wider, gemv="project_in")
    projected = {"base": "llama-3.2-1b", "parameters": {"hidden_size": 3072, "heads": 48, "embedding_size": 2048}}
    assert ms.run("pim.gemv", model=projected, gemv="project_in")["time_ns"] > 0


def test_claims(tmp_path):
    table = ms.claims("pimnast")
    assert set(table["role"]) <= {"input", "calibrate", "predict"}
    assert set(table["sort"]) == {"fact", "performance"}
    assert table["published"].null_count() == 0
    assert table["printed"].cast(pl.Float64).equals(table["published"])
    assert table.filter(pl.col("blind").is_not_null())["blind_error"].null_count() == 0
    with pytest.raises(ms.MemscapeError, match="pimnast"):
        ms.claims("pimnest")
    with pytest.raises(ms.MemscapeError):
        ms.claims(tmp_path / "missing.toml")


def test_a_file_that_ends_otherwise_is_told(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.json").write_text('{"base": "lpddr5x-7500-pim"}')
    with pytest.raises(ms.MemscapeError, match=r"a hardware is a file that ends in `\.toml`; rename this one"):
        ms.run("pim.gemv", hardware="mine.json")
    with pytest.raises(ms.MemscapeError, match=r"there is no hardware `yours\.json`"):
        ms.run("pim.gemv", hardware="yours.json")


def test_arguments_of_a_wrong_kind_are_told_by_name():
    for ask, message in [
        (lambda: ms.run(3), "`study` is 3; give a text"),
        (lambda: ms.describe(None), "`name` is None; give a text"),
        (lambda: ms.sweep(3, {}), "`study` is 3; give a text"),
        (lambda: ms.sweep("pim.gemv", 5), "`axes` is 5; give a dict or a Space"),
        (lambda: ms.experiment("fig10"), "did you mean `hermes.fig10`, .*`pimnast.fig10`"),
        (
            lambda: ms.plot(ms.sweep("pim.gemv", {"split_k": [1]}), x="split_k", y="speedup", reference="1"),
            "`reference`",
        ),
        (
            lambda: ms.plot({"a": [1], "b": [2]}, x="a", y="b", reference={"z": [1, 2, 3]}),
            r"`reference` 'z' = \[1, 2, 3\]: expected a number, or the two ends of a band",
        ),
        (lambda: ms.npu.search_tiles(top=0), "`top` = 0: give 1 at least"),
        (
            lambda: ms.run("npu.inference", model={"num_hidden_layers": 2, "hidden_size": 64}),
            "`model_type` is missing; known are opt",
        ),
        (
            lambda: ms.run("pim.gemv", {"memory.trcd_ns": 18e-9}),
            "0.001 to 1e9 ns; trcd_ns = 1.8e-8 ns|trcd_ns = 1.8e-8 ns",
        ),
    ]:
        with pytest.raises(ms.MemscapeError, match=message):
            ask()


SPLIT = {"split_k": [1, 2]}


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: ms.pim.tile_shape("7", banks=1, tile_elements=2), "`rows` is '7'; give a whole number from 0"),
        (lambda: ms.pim.tile_shape(7, banks=-3, tile_elements=2), "`banks` is -3; give a whole number from 0"),
        (lambda: ms.npu.search_tiles(top="x"), "`top` is 'x'; give a whole number"),
        (lambda: ms.presets(3), "`kind` is 3; give a text"),
        (lambda: ms.calibrate(3), "`paper` is 3; give a text"),
        (lambda: ms.claims(3), "`source` is 3; give a text or a path"),
        (lambda: ms.predictions(3), "`measured` is 3; give a text or a path"),
        (lambda: ms.Store(3), "`path` is 3; give a text or a path"),
        (lambda: ms.search("pim.gemv", SPLIT, minimize=3), "`minimize` is 3; give a text or a list of texts"),
        (lambda: ms.search("pim.gemv", SPLIT, minimize=["time_ns", 3]), r"`minimize\[1\]` is 3; give a text"),
        (lambda: ms.search("pim.gemv", SPLIT, budget="x"), "`budget` is 'x'; give a whole number"),
        (lambda: ms.search("pim.gemv", SPLIT, budget=-1), "`budget` is -1; give a whole number from 0"),
        (lambda: ms.search("pim.gemv", SPLIT, budget=True), "`budget` is True; give a whole number"),
        (lambda: ms.search("pim.gemv", SPLIT, seed=-1), "`seed` is -1; give a whole number from 0"),
        (lambda: ms.search("pim.gemv", SPLIT, seed=2**64), r"`seed` is \d+; give a whole number from 0 to 2\^64 - 1"),
        (lambda: ms.search("pim.gemv", SPLIT, seed=10**5000), "`seed` is a `int`; give a whole number"),
        (lambda: ms.search("pim.gemv", SPLIT, method="best"), '`method` is \'best\'; give "exhaustive", .* or "nsga2"'),
        (lambda: ms.search("pim.gemv", pl.DataFrame(SPLIT)), "`space` is a `DataFrame`; give a Space or a dict"),
        (lambda: ms.compare(platforms=3), "`platforms` is 3; give a text, .* or a list of texts, paths or dicts"),
        (lambda: ms.compare(prompt_tokens="x"), "`prompt_tokens` is 'x'; give a whole number"),
        (lambda: ms.compare(prompt_tokens=-5), "`prompt_tokens` is -5; give a whole number from 1"),
        (lambda: ms.run("pim.gemv", 3), "`parameters` is 3; give a dict"),
        (lambda: ms.run("pim.gemv", uncertainty="x"), "`uncertainty` is 'x'; give a whole number"),
        (lambda: ms.laws("pim.gemv", points="x"), "`points` is 'x'; give a whole number"),
        (lambda: ms.riscv.explain([1, 2]), r"`counts\[0\]` is 1; give a tuple of 4 whole numbers"),
        (lambda: ms.riscv.dequantise("q4_0", 3), "`data` is 3; give bytes"),
        (lambda: ms.riscv.quantise("q4_0", [1.0, "x"]), r"`weights\[1\]` is 'x'; give a number"),
        (lambda: ms.npu.multiply(3, 4), "`a` is 3; give a list of whole numbers from -128 to 127"),
        (lambda: ms.npu.multiply([1, 300], [1]), r"`a\[1\]` is 300; give a whole number from -128 to 127"),
        (lambda: ms.evaluate("pim.gemv", 3), "`points` is 3; give a dict, a DataFrame or a list of dicts"),
        (lambda: ms.experiment("pimnast.fig10").plot(parameters=3), "`parameters` is 3; give a dict"),
        (lambda: ms.experiment("pimnast.fig10").plot(style=3), '`style` is 3; give "paper", "slides" or "dark"'),
        (lambda: ms.plot([], x=3, y="y"), "`x` is 3; give a text"),
        (lambda: ms.plot([], x="x", y="y", log=True), '`log` is True; give "", "x", "y" or "xy"'),
        (lambda: ms.plot([], x="x", y="y", log="z"), '`log` is \'z\'; give "", "x", "y" or "xy"'),
        (lambda: ms.plot([], x="x", y="y", band="xy"), "`band` is 'xy'; give a tuple of 2 texts"),
        (lambda: ms.plot([], x="x", y="y", reference={"x": "y"}), r"`reference\['x'\]` is 'y'; give a number"),
        (lambda: ms.experiment("pimnast.table1").plot().save(3), "`path` is 3; give a text or a path"),
        (lambda: ms.experiment("pimnast.table1").plot().save("a.jpg"), r"`path` is 'a\.jpg'; let it end in \.svg"),
        (lambda: ms.ndp.solve(["a"], [[1]], bandwidth=[1], capacity=[1]), r"`size_bytes\[0\]` is 'a'; give a list"),
        (lambda: ms.sensitivity("pim.gemv", SPLIT, of="time_ns", samples="x"), "`samples` is 'x'; give a whole number"),
        (lambda: ms.Space(3), "`axes` is 3; give a dict"),
        (lambda: ms.Space(zip=[3]), r"`zip\[0\]` is 3; give a dict"),
    ],
)
def test_arguments_are_held_against_their_annotations(ask, message):
    with pytest.raises(ms.MemscapeError, match=f"^{message}"):
        ask()


def public_functions():
    for space in (ms, ms.pim, ms.npu, ms.ndp, ms.ondevice, ms.riscv, ms.Store, ms.Figure, ms.Experiment):
        for name in getattr(space, "__all__", vars(space)):
            it = getattr(space, name)
            if not name.startswith("_") and (inspect.isfunction(it) or it in (ms.Space, ms.Store)):
                yield pytest.param(it, id=f"{space.__name__}.{name}")


@pytest.mark.parametrize("function", list(public_functions()))
def test_every_public_function_holds_its_arguments_against_their_annotations(function):
    signature = inspect.signature(function)
    parameters = [it for it in signature.parameters.values() if it.kind != it.VAR_KEYWORD]
    given = signature.bind_partial()
    given.arguments |= {it.name: object() for it in parameters}
    held = [it.name for it in parameters if it.annotation not in ("Any", it.empty)]
    if held:
        with pytest.raises(ms.MemscapeError, match=f"^`{held[0]}` is <object"):
            function(*given.args, **given.kwargs)


def test_everything_pickles_and_compares(tmp_path):
    experiment = ms.experiment("pimnast.fig10")
    for it in (
        ms.describe("pim.gemv"),
        ms.describe("lpddr5x-7500"),
        ms.Space({"split_k": [1, 2]}, constraints=["split_k > 0"]),
        experiment,
        experiment.plot(),
        ms.experiment("hermes.fig13").plot(style="dark"),
        ms.pim.plan(model="opt-125m", gemv="out"),
        ms.ondevice.layout(),
        ms.ndp.partition(model="opt-125m"),
        ms.Store(tmp_path / "runs"),
        ms.fit("pim.gemv", [{"split_k": 1, "time_ns": 1e4}], {"memory.trcd_ns": (10, 30)}),
    ):
        again = pickle.loads(pickle.dumps(it))
        assert again == it and type(again) is type(it), it
    assert ms.experiment("pimnast.fig9a") != experiment and {experiment: 1}[ms.experiment("pimnast.fig10")] == 1
    assert ms.pim.plan(model="opt-125m", gemv="fc1") != ms.pim.plan(model="opt-125m", gemv="out")
    assert ms.Store(tmp_path / "runs") != ms.Store(tmp_path / "other")
    with pytest.raises(AttributeError):
        experiment.id = "other"


def test_tab_shows_what_is_public():
    for module in (ms.pim, ms.npu, ms.ndp, ms.ondevice, ms.riscv):
        assert dir(module) == module.__all__ or dir(module) == sorted(module.__all__), module


def test_a_bar_says_what_is_left(monkeypatch):
    shown = io.StringIO()
    shown.isatty = lambda: True
    monkeypatch.setattr(sys, "stderr", shown)
    with Progress("sweep") as progress:
        progress(1, 4)
        assert not shown.getvalue(), "what is short needs no bar"
        progress._began -= 2
        progress(1, 4)
        assert shown.getvalue().endswith("] sweep: 1 of 4, 6 s left")
        progress(0, 0)
        assert shown.getvalue().endswith("] sweep, 2 s so far")
    assert shown.getvalue().endswith("\r\x1b[K")
