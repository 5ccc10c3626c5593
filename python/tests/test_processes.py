"""What a fork leaves behind, and what other ways to start processes do not."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks are Linux's way")


def outcome(code):
    """What a script of its own prints; a hang is a failure."""
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


SWEEP = 'ms.sweep("pim.gemv", {"memory.banks_per_channel": [8, 16]})'


def test_a_sweep_in_a_fork_of_one_that_swept_is_refused_and_a_single_answer_is_not():
    code = f"""
        import os
        import memscape as ms
        {SWEEP}
        if os.fork() == 0:
            try:
                {SWEEP}
                print("swept", flush=True)
            except ms.MemscapeError as error:
                print("spawn" in str(error), ms.run("pim.gemv")["speedup"] > 1, flush=True)
            os._exit(0)
        os.wait()
    """
    assert outcome(code) == ["True", "True"]


def test_a_process_forked_before_the_first_sweep_sweeps():
    code = f"""
        import os
        import memscape as ms
        ms.run("pim.gemv")
        if os.fork() == 0:
            print(len({SWEEP}), flush=True)
            os._exit(0)
        os.wait()
        print(len({SWEEP}))
    """
    assert outcome(code) == ["2", "2"]


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_workers_started_anew_sweep(method, tmp_path):
    script = tmp_path / "work.py"
    script.write_text(
        textwrap.dedent(f"""
            import multiprocessing
            import memscape as ms

            def rows(_):
                return len({SWEEP})

            if __name__ == "__main__":
                {SWEEP}
                with multiprocessing.get_context("{method}").Pool(2) as pool:
                    print(pool.map(rows, range(2)))
        """)
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=120)
    assert done.stdout == "[2, 2]\n", done.stderr


def test_threads_and_an_event_loop_sweep_at_the_same_time():
    code = f"""
        import asyncio
        from concurrent.futures import ThreadPoolExecutor
        import memscape as ms

        def rows(_):
            return len({SWEEP})

        with ThreadPoolExecutor(4) as pool:
            print(sum(pool.map(rows, range(8))))

        async def main():
            return sum(await asyncio.gather(*(asyncio.to_thread(rows, it) for it in range(8))))

        print(asyncio.run(main()))
    """
    assert outcome(code) == ["16", "16"]
