"""A Slurm of one node, made of Debian's packages, which is gone when the test is."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue")

CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={home}/munge/socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
ReturnToService=2
SlurmctldPidFile={home}/slurmctld.pid
SlurmdPidFile={home}/slurmd.pid
SlurmdSpoolDir={home}/slurmd
StateSaveLocation={home}/state
SlurmctldLogFile={home}/slurmctld.log
SlurmdLogFile={home}/slurmd.log
SchedulerType=sched/backfill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
MpiDefault=none
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=debug Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def why_not() -> str:
    """Says why there can be no Slurm here; nothing if there can."""
    if not sys.platform.startswith("linux"):
        return "Slurm is tested on Linux only"
    if os.getuid() != 0:
        return "slurmd must be started by root"
    missing = [it for it in PROGRAMS if shutil.which(it) is None]
    return f"no {', '.join(missing)}: apt-get install slurm-wlm munge" if missing else ""


@contextmanager
def one_node(home: Path) -> Iterator[None]:
    """Starts munge and Slurm with all that is theirs in `home`, and points SLURM_CONF there."""
    for name in ("munge", "state", "slurmd"):
        (home / name).mkdir(parents=True)
    for folder in (home, home / "munge"):
        # Munge refuses what others might have changed.
        folder.chmod(0o755)
    key = home / "munge.key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o400)
    configuration = home / "slurm.conf"
    host = socket.gethostname().split(".")[0]
    configuration.write_text(CONFIGURATION.format(host=host, home=home, ports=free_ports(2)))
    before = os.environ.get("SLURM_CONF")
    os.environ["SLURM_CONF"] = str(configuration)
    munge = ["munged", "--foreground", "--force", f"--key-file={key}"]
    munge += [f"--{it}={home}/munge/{it.split('-')[0]}" for it in ("socket", "pid-file", "log-file", "seed-file")]
    daemons: list[subprocess.Popen[bytes]] = []
    try:
        with open(home / "log", "wb") as log:

            def start(command: list[str]) -> None:
                daemons.append(subprocess.Popen(command, stdout=log, stderr=log))

            start(munge)
            wait_for("munge", (home / "munge/socket").exists)
            start(["slurmctld", "-D", "-f", str(configuration)])
            start(["slurmd", "-D", "-f", str(configuration)])
        wait_for("an idle node", lambda: said(["sinfo", "--noheader", "--format=%T"]) == "idle")
        yield
    finally:
        for daemon in reversed(daemons):
            daemon.terminate()
        for daemon in daemons:
            daemon.wait(30)
        if before is None:
            del os.environ["SLURM_CONF"]
        else:
            os.environ["SLURM_CONF"] = before


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for it in sockets:
        it.bind(("127.0.0.1", 0))
    ports = [it.getsockname()[1] for it in sockets]
    for it in sockets:
        it.close()
    return ports


def said(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def wait_for(what, holds, seconds: float = 30) -> None:
    """Waits until something holds; a failure says what did not."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"no {what} within {seconds} s"
        time.sleep(0.1)


def processes(program: str, *words: str) -> list[int]:
    """The processes of a program whose command line has all these words."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:
                continue
            if line.startswith(program) and all(word in line for word in words):
                found.append(int(folder.name))
    return found
