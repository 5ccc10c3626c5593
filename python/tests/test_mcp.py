"""`memscape mcp`, asked by the client of the Python SDK."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import time
from contextlib import asynccontextmanager, contextmanager

import anyio
import polars as pl
import pytest
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

LIMIT = 20


@asynccontextmanager
async def connected(folder):
    arguments = ["-m", "memscape", "mcp", str(folder), "--most-points", str(LIMIT)]
    server = StdioServerParameters(command=sys.executable, args=arguments, cwd=str(folder))
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        yield session


def ask(folder, *calls):
    """The results of these calls, each a tool and its arguments."""
    found = []

    async def main():
        with anyio.fail_after(120):
            async with connected(folder) as session:
                for tool, arguments in calls:
                    found.append(await session.call_tool(tool, arguments))

    anyio.run(main)
    return found


def answer(result):
    assert not result.is_error, result.content
    assert json.loads(result.content[0].text) == result.structured_content
    return result.structured_content


def refusal(result):
    assert result.is_error
    return result.content[0].text


SPACE = {
    "study": "pim.gemv",
    "base": {"model": "opt-125m", "gemv": "fc1"},
    "axes": {"pim.registers": [12, 16], "memory.banks_per_channel": [8, 16, 32]},
}


def test_the_tools_say_what_they_take(tmp_path):
    async def main():
        async with connected(tmp_path) as session:
            return (await session.list_tools()).tools

    tools = {it.name: it for it in anyio.run(main)}
    assert list(tools) == ["list", "describe", "run", "sweep", "front", "search", "compare", "claims", "figure"]
    assert all(it.description and it.input_schema["type"] == "object" for it in tools.values())
    # A sweep may be told to write over any table.
    assert [name for name, it in tools.items() if it.annotations.destructive_hint] == ["sweep"]
    assert [name for name, it in tools.items() if not it.annotations.read_only_hint] == ["sweep", "search"]
    assert "npu.inference" in tools["run"].input_schema["properties"]["study"]["enum"]
    assert "npu.inference" in tools["sweep"].input_schema["properties"]["space"]["properties"]["study"]["enum"]


def test_what_there_is_can_be_listed_and_described(tmp_path):
    studies, memories, figures, described, preset = ask(
        tmp_path,
        ("list", {"of": "studies"}),
        ("list", {"of": "presets", "kind": "memory"}),
        ("list", {"of": "figures"}),
        ("describe", {"name": "pim.gemv"}),
        ("describe", {"name": "lpddr5-6400"}),
    )
    assert "pim.gemv" in [it["name"] for it in answer(studies)["found"]]
    assert "lpddr5-6400" in [it["name"] for it in answer(memories)["found"]]
    assert "pimnast.fig10" in [it["name"] for it in answer(figures)["found"]]
    parameters = {it["path"]: it for it in answer(described)["study"]["parameters"]}
    assert parameters["memory.trcd_ns"]["unit"] == "ns"
    assert answer(preset)["preset"]["parameters"]["channels"] == 1


def test_a_point_a_grid_a_search_and_a_front(tmp_path):
    point = {"model": "opt-125m", "gemv": "fc1", "pim.registers": 16, "memory.banks_per_channel": 32}
    run, swept, searched, front, of_table = ask(
        tmp_path,
        ("run", {"study": "pim.gemv", "parameters": point}),
        ("sweep", {"space": SPACE, "output": "grid.parquet", "rows": 2}),
        ("search", {"space": SPACE, "minimize": ["time_ns"], "method": "exhaustive", "budget": 6, "output": "all.csv"}),
        ("front", {"space": SPACE, "minimize": ["time_ns", "pim.registers"]}),
        ("front", {"table": "grid.parquet", "minimize": ["time_ns", "pim.registers"]}),
    )
    swept = answer(swept)
    table = pl.read_parquet(tmp_path / "grid.parquet")
    assert (swept["rows"], len(swept["head"]), swept["rows_without_answer"]) == (6, 2, 0)
    assert swept["columns"] == table.columns and table.height == 6
    assert answer(run)["time_ns"] == table["time_ns"][-1]
    best = table["time_ns"].min()
    assert answer(searched)["best"][0]["time_ns"] == best and (tmp_path / "all.csv").is_file()
    assert best in [it["time_ns"] for it in answer(front)["head"]]
    assert answer(of_table)["rows"] == answer(front)["rows"]
    # What a sweep wrote is not replaced by a search.
    (lost,) = ask(
        tmp_path,
        ("search", {"space": SPACE, "minimize": ["time_ns"], "budget": 6, "output": "grid.parquet"}),
    )
    assert "(`sweep`), which would be lost" in refusal(lost)
    assert pl.read_parquet(tmp_path / "grid.parquet").equals(table)


def test_platforms_claims_and_a_figure(tmp_path):
    compared, claims, figure = ask(
        tmp_path,
        ("compare", {"model": "llama-3.2-1b", "prompt_tokens": 64, "platforms": ["npu-xdna2", "sg2042"]}),
        ("claims", {"paper": "pimnast"}),
        ("figure", {"id": "pimnast.fig10", "rows": 3}),
    )
    assert [it["platform"] for it in answer(compared)["platforms"]] == ["npu-xdna2", "sg2042"]
    assert any(it["role"] == "predict" for it in answer(claims)["claims"])
    assert len(answer(figure)["head"]) == 3
    image = figure.content[1]
    assert image.mime_type == "image/png" and base64.b64decode(image.data).startswith(b"\x89PNG")


def test_mistakes_are_told_as_on_the_command_line(tmp_path):
    many = {**SPACE, "axes": {"pim.registers": list(range(8, 8 + LIMIT + 1))}}
    held, typo, unknown, large, large_search, loose, lacking, other, rows, none = ask(
        tmp_path,
        ("figure", {"id": "pimnast.fig10", "parameters": {"memory.banks_per_channel": 4}}),
        ("run", {"study": "pim.gmev"}),
        ("run", {"study": "pim.gemv", "parameters": {"memory.chanel": 2}}),
        ("sweep", {"space": many, "output": "grid.parquet"}),
        ("search", {"space": SPACE, "minimize": ["time_ns"]}),
        ("run", {"study": "pim.gemv", "parameter": {}}),
        ("sweep", {"space": {"study": "pim.gemv"}, "output": "grid.parquet"}),
        ("search", {"space": SPACE, "minimize": "time_ns"}),
        ("sweep", {"space": SPACE, "output": "grid.parquet", "rows": 500}),
        ("front", {"minimize": ["time_ns"]}),
    )
    assert "`memory.banks_per_channel`: `pimnast.fig10` sets it itself" in refusal(held)
    assert "did you mean `pim.gemv`?" in refusal(typo)
    assert "did you mean `memory.channels`?" in refusal(unknown)
    assert refusal(large).startswith(f"{LIMIT + 1} points are asked for, but a call may ask for {LIMIT}")
    assert "points are asked for" in refusal(large_search)
    assert refusal(loose) == "`run`: there is no argument `parameter`; did you mean `parameters`?"
    assert refusal(lacking).startswith("`sweep`: it lacks `space.axes`: By dotted path")
    assert refusal(other) == '`search`: `minimize` is "time_ns", but a list is wanted'
    assert refusal(rows) == "`sweep`: `rows` is 500, but must be at most 200"
    assert refusal(none) == "give either `space` or `table`"
    assert not list(tmp_path.iterdir())


def test_no_file_outside_of_the_folder_is_read_or_written(tmp_path):
    folder = tmp_path / "served"
    (folder / "inner").mkdir(parents=True)
    secret = tmp_path / "secret.toml"
    secret.write_text('base = "opt-125m"\n[parameters]\nlayers = 7\n')
    (folder / "own.toml").write_text('base = "opt-125m"\n[parameters]\nlayers = 9\n')
    (folder / "through.toml").write_text('base = "../secret.toml"\n[parameters]\n')
    (folder / "absolute.toml").write_text(f"base = {str(secret)!r}\n[parameters]\n")
    os.symlink(secret, folder / "link.toml")
    os.symlink(tmp_path, folder / "inner" / "up")
    paths = ["../secret.toml", str(secret), "link.toml", "inner/up/secret.toml", "through.toml", "absolute.toml"]
    reads = ask(
        folder,
        *(("run", {"study": "pim.gemv", "parameters": {"model": it, "gemv": "fc1"}}) for it in paths),
        *(("run", {"study": "pim.gemv", "parameters": {"model": {"base": it, "parameters": {}}}}) for it in paths),
        *(("describe", {"name": it}) for it in paths),
        *(("compare", {"model": it}) for it in paths),
        *(("front", {"table": it, "minimize": ["x"]}) for it in ["../t.parquet", "/t.parquet"]),
        *(("claims", {"paper": it}) for it in ["../claims.toml", str(secret)]),
    )
    assert all("layers" not in refusal(it) for it in reads)
    writes = ["../out.parquet", str(tmp_path / "out.parquet"), "inner/up/out.parquet", "missing/out.parquet"]
    refused = ask(folder, *(("sweep", {"space": SPACE, "output": it}) for it in writes))
    assert all(refusal(it) for it in refused)
    assert sorted(it.name for it in tmp_path.iterdir()) == ["secret.toml", "served"]
    own, described = ask(
        folder,
        ("run", {"study": "pim.gemv", "parameters": {"model": "own.toml", "gemv": "fc1"}}),
        ("describe", {"name": "own.toml"}),
    )
    assert answer(own)["time_ns"] > 0
    assert answer(described)["preset"]["parameters"]["layers"] == 9


def exchange(folder, *lines):
    """What the server says to raw lines."""
    done = subprocess.run(
        [sys.executable, "-m", "memscape", "mcp", str(folder)],
        input=b"".join(it + b"\n" for it in lines),
        capture_output=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(it) for it in done.stdout.splitlines()]


def test_messages_that_are_none_get_errors(tmp_path):
    def message(**fields):
        return json.dumps({"jsonrpc": "2.0", **fields}).encode()

    replies = exchange(
        tmp_path,
        b"not json",
        b"[]",
        b'{"jsonrpc": "1.0", "id": 1, "method": "ping"}',
        message(id=2, method="server/discover"),
        message(id=3, method="tools/call", params={"name": "rnu"}),
        message(method="notifications/initialized"),
        # While this takes its time, the next is no longer wanted.
        message(id=7, method="tools/call", params={"name": "run", "arguments": {"study": "ndp.predictor"}}),
        message(id=4, method="tools/call", params={"name": "list", "arguments": {"of": "studies"}}),
        message(method="notifications/cancelled", params={"requestId": 4}),
        # What nobody asked yet cannot be cancelled.
        message(method="notifications/cancelled", params={"requestId": 8}),
        message(id=8, method="ping"),
        message(id=5, result={}),
        b"[%b, %b, %b]" % (message(id=9, method="ping"), message(method="x"), message(id=10, method="none")),
        b"x" * (9 << 20),
        message(id="six", method="ping"),
        message(id=None, method="ping"),
        message(id={}, method="ping"),
        message(id=11, method="tools/call"),
    )

    def told(reply):
        return (reply["id"], reply.get("error", {}).get("code"))

    told = [[told(each) for each in it] if isinstance(it, list) else told(it) for it in replies]
    assert told == [
        (None, -32700),
        (None, -32600),
        (1, -32600),
        (2, -32601),
        (3, -32602),
        (7, None),
        (8, None),
        [(9, None), (10, -32601)],
        (None, -32700),
        ("six", None),
        (None, -32600),
        (None, -32600),
        (11, -32602),
    ]
    assert "did you mean `run`?" in replies[4]["error"]["message"]


# Some milliseconds a point, so that no machine is done with all of them in a few seconds.
LONG = {
    "study": "ndp.inference",
    "base": {"model": "opt-125m", "system": "hermes"},
    "axes": {
        "overhead.sync_us": [1 + it / 100 for it in range(2000)],
        "overhead.launch_us": [1 + it / 100 for it in range(400)],
    },
}


@contextmanager
def running(folder):
    """A server with which a test talks as it likes."""
    command = [sys.executable, "-m", "memscape", "mcp", str(folder), "--most-points", "1000000"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as server:
        try:
            yield server
        finally:
            server.kill()


def say(server, *messages):
    for it in messages:
        server.stdin.write(json.dumps({"jsonrpc": "2.0", **it}) + "\n")
    server.stdin.flush()


def call(number, tool, **arguments):
    return {"id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


def test_a_signal_saves_the_rows_of_a_call(tmp_path):
    with running(tmp_path) as server:
        say(server, {"id": 0, "method": "ping"})
        assert json.loads(server.stdout.readline())["id"] == 0
        say(server, call(1, "sweep", space=LONG, output="out.parquet"))
        time.sleep(2)
        server.terminate()
        assert server.wait(60) == 130
    rows = [pl.read_parquet(it).height for it in (tmp_path / "out.parquet.partial").rglob("*.parquet")]
    assert sum(rows) > 0


def test_a_search_that_is_cancelled_leaves_the_table_of_before(tmp_path):
    asked = {"space": LONG, "minimize": ["token_ns"], "method": "random", "output": "found.parquet"}
    with running(tmp_path) as server:
        say(server, call(1, "search", budget=100, **asked))
        assert not json.loads(server.stdout.readline())["result"]["isError"]
        before = (tmp_path / "found.parquet").read_bytes()
        say(server, call(2, "search", budget=500_000, **asked))
        time.sleep(2)
        say(server, {"method": "notifications/cancelled", "params": {"requestId": 2}}, {"id": 3, "method": "ping"})
        assert json.loads(server.stdout.readline())["id"] == 3
    assert (tmp_path / "found.parquet").read_bytes() == before
    assert 0 < pl.read_parquet(tmp_path / "found.partial.parquet").height < 500_000


def test_however_many_messages_wait_a_call_can_be_cancelled(tmp_path):
    with running(tmp_path) as server:
        pings = [{"id": 2 + it, "method": "ping"} for it in range(100)]
        say(server, call(1, "sweep", space=LONG, output="out.parquet"), *pings)
        say(server, {"method": "notifications/cancelled", "params": {"requestId": 1}})
        replies = [json.loads(server.stdout.readline()) for _ in pings]
    assert [it["id"] for it in replies] == [it["id"] for it in pings]
    refused = [it for it in replies if "error" in it]
    assert 0 < len(refused) < 50 and {it["error"]["code"] for it in refused} == {-32000}


@pytest.mark.parametrize("revision", ["2025-11-25", "2024-11-05", "1999-01-01"])
def test_the_revision_is_the_client_s_if_it_is_known(tmp_path, revision):
    asked = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": revision}}
    (reply,) = exchange(tmp_path, json.dumps(asked).encode())
    assert reply["result"]["protocolVersion"] == (revision if revision.startswith("202") else "2025-11-25")
    assert reply["result"]["serverInfo"]["name"] == "memscape"
