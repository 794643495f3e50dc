#!/usr/bin/env python3
"""Tests ranks as processes: how they start, how they end, and that no process is left over.

usage: launch_test.py SOURCE_DIR DOVETAIL DOVETAIL_TRAIN [MPIRUN] [TORCHRUN]
"""

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

DOVETAIL = TRAIN = MPIRUN = TORCHRUN = ""
# Long enough to start several ranks on a busy machine; exceeded only by an endless wait.
LIMIT_SECONDS = 120
LAUNCHERS = ("RANK", "OMPI_", "PMIX_", "SLURM_", "MASTER_", "TORCHELASTIC_", "WORLD_SIZE", "LOCAL_RANK")
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith(LAUNCHERS)},
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}
PROBLEM = """format: dovetail/pipeline-problem@1
devices: {devices}
models:
  - {{name: actor, microbatches: 4, devices: {up}, forward: 1, backward: 2, activation: 1}}
  - {{name: critic, microbatches: 4, devices: {down}, forward: 1, backward: 2, activation: 1}}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def processes_of(word):
    """Returns the IDs of processes with the word in their command line, by rank (None for a launcher)."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            arguments = (folder / "cmdline").read_bytes().decode().split("\0")
            if word not in arguments or Path(arguments[0]).name != Path(TRAIN).name:
                continue
            rank = re.search(rb"(?:^|\0)RANK=(\d+)\0", (folder / "environ").read_bytes())
            found[int(rank[1]) if rank else None] = int(folder.name)
    return found


class Launch(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def schedule_on(self, devices):
        problem, schedule = self.folder / f"{devices}.yaml", str(self.folder / f"{devices}.json")
        ranks = list(range(devices))
        problem.write_text(PROBLEM.format(devices=devices, up=ranks, down=ranks[::-1]), encoding="utf-8")
        subprocess.run(
            [DOVETAIL, "schedule", str(problem), "--iterations", "50", "-o", schedule], check=True, capture_output=True
        )
        return schedule

    def tearDown(self):
        self.assertEqual(self.processes(), {}, "processes left over")

    def processes(self):
        """Returns the processes that this test started: only they name files of its folder."""
        return {rank: pid for name in self.folder.glob("*.json") for rank, pid in processes_of(str(name)).items()}

    def stub(self, devices, *options, tick="5ms"):
        return ["stub", "--schedule", self.schedule_on(devices), "--tick", tick, *options]

    def run_it(self, command, **variables):
        return subprocess.run(
            command,
            env={**ENVIRONMENT, **variables},
            capture_output=True,
            text=True,
            check=False,
            timeout=LIMIT_SECONDS,
        )

    def launch(self, ranks, command):
        return self.run_it([TRAIN, "launch", "--ranks", str(ranks), "--", *command])

    @contextlib.contextmanager
    def launched(self, ranks, *options):
        """Returns a launcher whose ranks already wait for each other's long ops."""
        command = [TRAIN, "launch", "--ranks", str(ranks), "--", *self.stub(ranks, *options, tick="1s")]
        with subprocess.Popen(
            command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as launcher:
            try:
                self.wait_until(lambda: len(self.processes()) == ranks + 1 and self.are_connected())
                yield launcher
            finally:
                launcher.kill()

    def are_connected(self):
        """Waits until each rank has its transport threads, which start when all ranks are connected."""
        return all(
            len(list(Path(f"/proc/{pid}/task").iterdir())) >= 6
            for rank, pid in self.processes().items()
            if rank is not None
        )

    def wait_until(self, holds):
        end = time.monotonic() + LIMIT_SECONDS
        while not holds():
            self.assertLess(time.monotonic(), end, "the ranks do not get that far")
            time.sleep(0.05)

    def assert_ends(self, launcher, code, pattern):
        output, errors = launcher.communicate(timeout=LIMIT_SECONDS)
        self.assertEqual(launcher.returncode, code, output + errors)
        self.assertRegex(errors, pattern)
        self.assertEqual(errors.count("dovetail-train: "), 1, errors)


class Replays(Launch):
    def test_on_2_4_and_8_ranks(self):
        for ranks in (2, 4, 8):
            with self.subTest(ranks=ranks):
                trace = self.folder / "trace"
                result = self.launch(ranks, self.stub(ranks, "--message-bytes", "5000", "--trace", str(trace)))
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                printed = re.fullmatch(rf"{ranks} ranks: predicted (\S+) s, measured (\S+) s \(\S+%\)\n", result.stdout)
                self.assertTrue(printed, result.stdout)
                predicted, measured = float(printed[1]), float(printed[2])
                # An op never takes less than its planned time. How much longer it takes depends on the machine.
                self.assertGreater(measured, 0.95 * predicted)
                spans = json.loads(trace.read_text(encoding="utf-8"))
                self.assertEqual(len(spans), ranks)
                for rank in spans:
                    self.assertTrue(all(begin <= end for begin, end in rank))
                    self.assertEqual(rank, sorted(rank))
                self.assertLess(abs(max(end for rank in spans for _, end in rank) / 1e9 - measured), 1)

    def test_by_mpirun(self):
        if not MPIRUN:
            self.skipTest("mpirun not found")
        result = self.run_it([MPIRUN, "-np", "2", TRAIN, *self.stub(2)], MASTER_PORT=free_port())
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"^2 ranks: predicted ")

    def test_by_torchrun(self):
        if not TORCHRUN:
            self.skipTest("torchrun not found")
        command = [TORCHRUN, "--no-python", "--nproc-per-node", "2", "--master-port", free_port(), TRAIN, *self.stub(2)]
        result = self.run_it(command)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"(?m)^2 ranks: predicted ")

    def test_with_the_variables_of_torchrun(self):
        command, port = [TRAIN, *self.stub(2)], free_port()
        ranks = [
            subprocess.Popen(
                command,
                env={**ENVIRONMENT, "RANK": rank, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank in "01"
        ]
        printed = [rank.communicate(timeout=LIMIT_SECONDS) for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [0, 0], printed)
        self.assertRegex(printed[0][0], r"^2 ranks: predicted ")
        self.assertEqual((printed[0][1], *printed[1]), ("", "", ""))

    def test_on_two_hosts(self):
        """Network namespaces, each with one end of a virtual cable."""
        names = [f"dovetail{os.getpid()}{letter}" for letter in "ab"]
        for name in names:
            made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
            if made.returncode != 0:
                self.skipTest(f"this system cannot create network namespaces: {made.stderr.strip()}")
            self.addCleanup(subprocess.run, ["ip", "netns", "del", name], check=False)
        cable = [
            "ip",
            "link",
            "add",
            "one",
            "netns",
            names[0],
            "type",
            "veth",
            "peer",
            "name",
            "one",
            "netns",
            names[1],
        ]
        made = subprocess.run(cable, capture_output=True, text=True, check=False)
        if made.returncode != 0:
            self.skipTest(f"this system cannot create a cable between network namespaces: {made.stderr.strip()}")
        for name, address in zip(names, ("10.77.0.1", "10.77.0.2")):
            for words in (f"address add {address}/24 dev one", "link set one up", "link set lo up"):
                subprocess.run(["ip", "-n", name, *words.split()], check=True)
        command = [TRAIN, *self.stub(2)]
        variables = {**ENVIRONMENT, "WORLD_SIZE": "2", "MASTER_ADDR": "10.77.0.1", "MASTER_PORT": "29500"}
        ranks = [
            subprocess.Popen(
                ["ip", "netns", "exec", name, *command],
                env={**variables, "RANK": str(rank)},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            for rank, name in enumerate(names)
        ]
        printed = [rank.communicate(timeout=LIMIT_SECONDS) for rank in ranks]
        self.assertEqual([rank.returncode for rank in ranks], [0, 0], printed)
        self.assertRegex(printed[0][0], r"^2 ranks: predicted ")


class Refusals(Launch):
    def test_a_wrong_number_of_ranks(self):
        for ranks in (1, 3):
            result = self.launch(ranks, self.stub(2))
            self.assertEqual(result.returncode, 2)
            self.assertRegex(
                result.stderr,
                rf"2\.json: the schedule has 2 devices, but there are {ranks} ranks; start one rank per device\n$",
            )

    def test_commands_that_ranks_cannot_run(self):
        for command, message in (
            ([], "launch needs a command for the ranks: "),
            (["launch", "--ranks", "2", "--", "stub"], "launch cannot run launch on ranks; accepted: run, profile, stub"),
            (["stub"], "--schedule is required"),
        ):
            with self.subTest(command=command):
                result = self.launch(2, command)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertIn(message, result.stderr)

    def test_a_rank_without_a_job(self):
        result = self.run_it([TRAIN, *self.stub(2)])
        self.assertEqual(result.returncode, 2)
        self.assertIn("stub needs a rank, but no launcher has set RANK", result.stderr)

    def test_a_wrong_variable(self):
        result = self.run_it([TRAIN, *self.stub(2)], RANK="2", WORLD_SIZE="2")
        self.assertEqual(result.returncode, 2)
        self.assertIn("the environment variable RANK is `2`; it must be an integer from 0 to 1", result.stderr)


class Faults(Launch):
    def test_a_killed_rank(self):
        with self.launched(3) as launcher:
            os.kill(self.processes()[1], signal.SIGKILL)
            self.assert_ends(
                launcher,
                4,
                r"in (startup|the replay): rank 1 is lost: killed by signal 9 .*; "
                r"the rank's last resident memory was 0\.\d\d GiB\n",
            )

    def test_a_stopped_rank(self):
        with self.launched(2, "--timeout", "2s") as launcher:
            os.kill(self.processes()[1], signal.SIGSTOP)
            self.assert_ends(
                launcher,
                4,
                "in (startup|the replay): rank (0 timed out .*; no heartbeat from rank 1|1 is lost: no heartbeat)",
            )

    def test_ranks_without_a_launcher(self):
        with self.launched(2, "--timeout", "2s") as launcher:
            for rank in (0, 1):
                os.kill(self.processes()[rank], signal.SIGSTOP)
            self.assert_ends(
                launcher, 4, r"in (startup|the replay): rank [01] is lost: no heartbeat for \d\.\d s; .*\n"
            )

    def test_a_rank_stopped_within_a_message_to_the_store(self):
        with self.launched(2, "--timeout", "2s") as launcher:
            pid = self.processes()[1]
            port = re.search(rb"(?:^|\0)MASTER_PORT=(\d+)\0", Path(f"/proc/{pid}/environ").read_bytes())[1]
            with socket.create_connection(("127.0.0.1", int(port))) as half:
                # The store of libtorch 1.13 waits for the rest of the request and serves no other client.
                half.send(b"\x02")
                os.kill(pid, signal.SIGSTOP)
                self.assert_ends(launcher, 4, "rank (0 timed out .*; no heartbeat from rank 1|1 is lost: no heartbeat)")

    def test_a_killed_launcher(self):
        with self.launched(2) as launcher:
            launcher.kill()
            launcher.communicate(timeout=LIMIT_SECONDS)
            self.wait_until(lambda: not self.processes())

    def test_an_interrupt(self):
        for interrupt in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(signal=interrupt), self.launched(2) as launcher:
                launcher.send_signal(interrupt)
                self.assert_ends(launcher, 130, "interrupted\n")

    def test_a_second_interrupt_kills(self):
        with self.launched(2) as launcher:
            os.kill(self.processes()[1], signal.SIGSTOP)
            launcher.send_signal(signal.SIGINT)
            self.wait_until(lambda: 0 not in self.processes())
            self.assertIsNone(launcher.poll())
            launcher.send_signal(signal.SIGINT)
            self.assert_ends(launcher, 130, "interrupted\n")


if __name__ == "__main__":
    DOVETAIL, TRAIN = sys.argv[2:4]
    MPIRUN, TORCHRUN = [*sys.argv[4:6], "", ""][:2]
    unittest.main(argv=sys.argv[:1], verbosity=2)
