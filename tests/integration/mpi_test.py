#!/usr/bin/env python3
"""Tests the exchange between processes started by mpirun, their shared search and the loss of a process. Also tests
that nothing else needs MPI.

usage: mpi_test.py DOVETAIL RANKS MPIRUN
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

DOVETAIL = RANKS = MPIRUN = ""
# Long enough to start a few processes on a busy machine; exceeded only by an endless wait.
LONGEST_SECONDS = 60
# LeakSanitizer would report Open MPI's own memory.
ENVIRONMENT = {
    **os.environ,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "ASAN_OPTIONS": "detect_leaks=0",
    "OMP_NUM_THREADS": "1",
}


def run(command, **changes):
    environment = {**ENVIRONMENT, **changes}
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, timeout=LONGEST_SECONDS
    )


def seconds_computed(process):
    """Returns the processor time of a process and its threads."""
    of_the_system = Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(of_the_system[11]) + int(of_the_system[12])) / os.sysconf("SC_CLK_TCK")


class Ranks(unittest.TestCase):
    def mpirun(self, ranks, fate, timeout_seconds):
        return run([MPIRUN, "-n", str(ranks), RANKS, fate, str(timeout_seconds)])

    def test_every_rank_gets_the_messages_of_all(self):
        for ranks in (2, 3):
            with self.subTest(ranks=ranks):
                result = self.mpirun(ranks, "agrees", 30)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                self.assertEqual(
                    sorted(result.stdout.splitlines()), [f"rank {rank} of {ranks} agrees" for rank in range(ranks)]
                )

    def test_a_process_started_alone_is_a_group_of_one(self):
        result = run([RANKS, "agrees", "30"])
        self.assertEqual((result.returncode, result.stdout), (0, "rank 0 of 1 agrees\n"), result.stderr)

    def test_a_rank_that_does_not_answer_is_an_error_and_ends_the_job(self):
        for fate in ("stops", "sleeps"):
            with self.subTest(fate=fate):
                begin = time.monotonic()
                result = self.mpirun(3, fate, 4)
                self.assertLess(time.monotonic() - begin, LONGEST_SECONDS)
                self.assertNotEqual(result.returncode, 0)
                # On a busy machine, the start alone may already take too long.
                self.assertRegex(
                    result.stdout,
                    "error: MPI: a process is lost or does not respond: "
                    "(an exchange of results|MPI_Init) did not complete within 4 s",
                )

    def test_a_rank_that_left_before_the_others_is_an_error(self):
        result = self.mpirun(2, "returns", 2)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("error: MPI: ", result.stdout)

    def test_a_rank_that_dies_ends_the_job(self):
        self.assertNotEqual(self.mpirun(2, "dies", 30).returncode, 0)

    def test_a_rank_that_never_connects_is_an_error(self):
        result = self.mpirun(2, "never-connects", 3)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(
            "error: MPI: a process is lost or does not respond: MPI_Init did not complete within 3 s", result.stdout
        )


class Schedule(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def mpirun(self, ranks, *arguments):
        return run([MPIRUN, "-n", str(ranks), "--bind-to", "none", DOVETAIL, "schedule", *arguments, "--mpi"])

    def launch(self, path, *arguments):
        """Starts a run of three ranks that continues until it is stopped."""
        launcher = subprocess.Popen(
            [
                MPIRUN,
                "-n",
                "3",
                "--bind-to",
                "none",
                DOVETAIL,
                "schedule",
                "exp4",
                "--iterations",
                "100000000000",
                "-o",
                str(path),
                "--mpi",
                *arguments,
            ],
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(launcher.kill)
        return launcher

    def start(self, path, *arguments):
        """Returns the launcher of such a run once the first schedule is written."""
        launcher = self.launch(path, *arguments)
        end = time.monotonic() + LONGEST_SECONDS
        while not path.exists():
            self.assertIsNone(launcher.poll(), "the run ended before its first schedule")
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        return launcher

    def processes_of(self, launcher):
        """Returns the processes by rank."""
        found = {}
        for process in map(
            int, Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text(encoding="ascii").split()
        ):
            variables = Path(f"/proc/{process}/environ").read_bytes().split(b"\0")
            rank = [variable for variable in variables if variable.startswith(b"OMPI_COMM_WORLD_RANK=")]
            if rank:
                found[int(rank[0].split(b"=")[1])] = process
        return found

    def wait_until_all_search(self, launcher):
        """Waits until the ranks have used enough processor time to be searching: starting takes a fraction of a
        second."""
        end = time.monotonic() + LONGEST_SECONDS
        computed = []
        while len(computed) < 3 or min(computed) < 2:
            self.assertIsNone(launcher.poll(), "the run ended before it searched")
            self.assertLess(time.monotonic(), end)
            time.sleep(0.1)
            computed = [seconds_computed(process) for process in self.processes_of(launcher).values()]

    def assert_valid(self, path):
        self.assertEqual(list(self.folder.glob(".*.tmp")), [])
        result = run([DOVETAIL, "check", str(path)])
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_the_same_bytes_from_one_process_and_from_four(self):
        source = Path(__file__).resolve().parents[2]
        for problem, more in (
            ("exp2", []),
            ("exp4", []),
            (str(source / "examples" / "two-models.yaml"), []),
            ("three-models-2", []),
            ("exp1", ["--objective", "memory", "--chains", "2"]),
            ("exp5", ["--robust", "30"]),
            ("exp2", ["--objective", "pareto", "--chains", "3"]),
        ):
            with self.subTest(problem=problem, more=more):
                arguments = [problem, "--iterations", "20000", *more, "-o"]
                one, four = self.folder / "one.json", self.folder / "four.json"
                self.assertEqual(run([DOVETAIL, "schedule", *arguments, str(one)]).returncode, 0)
                result = self.mpirun(4, *arguments, str(four))
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
                self.assertEqual(result.stdout.count("took: "), 1)
                self.assertEqual(result.stdout.count("written: "), 1)
                self.assertEqual(one.read_bytes(), four.read_bytes())

    def test_one_rank_prints_the_report(self):
        result = self.mpirun(3, "exp2", "--iterations", "2000", "--json", "--chains", "2")
        self.assertEqual(json.loads(result.stdout)["written"], [])
        self.assertEqual(result.stderr.count("note: 3 processes share 2 chains"), 1, result.stderr)

    def test_one_rank_reports_the_error_and_all_exit_alike(self):
        path = str(self.folder / "schedule.json")
        for code, what, arguments in (
            (2, "'nowhere.yaml' is neither a file", ["nowhere.yaml"]),
            (2, "solver 'greedy' has none", ["exp2", "--solver", "greedy"]),
            (2, "--mpi cannot read standard input: every process reads the problem and the schedule", ["-"]),
            (2, "--format needs -o FILE", ["exp2", "--format", "svg"]),
            (2, "unknown option '--bogus'", ["exp2", "--bogus"]),
            (2, "--pick needs -o FILE", ["exp2", "--objective", "pareto", "--pick", "2"]),
            (
                2,
                "--pick must be from 1 to ",
                ["exp2", "--objective", "pareto", "--iterations", "50", "--pick", "900", "-o", path],
            ),
            (3, "no schedule meets the deadline of 5 ticks", ["exp2", "--deadline", "5", "-o", path]),
            (3, "no schedule fits in memory", ["exp2", "--memory-cap", "0.1", "-o", path]),
        ):
            with self.subTest(arguments=arguments):
                result = self.mpirun(2, *arguments)
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertEqual(result.stderr.count(what), 1, result.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_different_problems_of_ranks_are_reported(self):
        problem = self.folder / "problem.yaml"
        problem.write_text(run([DOVETAIL, "problem", "exp2"]).stdout, encoding="utf-8")
        command = 'cp "$0" "$0.$OMPI_COMM_WORLD_RANK"; %s exec "$1" schedule "$0.$OMPI_COMM_WORLD_RANK" --mpi'
        for change, what in (
            (
                'test $OMPI_COMM_WORLD_RANK = 0 || sed -i "s/microbatches: [0-9]*/microbatches: 3/" "$0.1";',
                "rank 1 reads a different problem or starting schedule than rank 0",
            ),
            ('test $OMPI_COMM_WORLD_RANK = 0 || rm "$0.1";', "rank 1: "),
        ):
            result = run([MPIRUN, "-n", "2", "sh", "-c", command % change, str(problem), DOVETAIL])
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertEqual(result.stderr.count(what), 1, result.stderr)

    def test_a_killed_rank_leaves_the_best_so_far(self):
        path = self.folder / "best.json"
        launcher = self.start(path)
        os.kill(self.processes_of(launcher)[1], signal.SIGKILL)
        launcher.communicate(timeout=LONGEST_SECONDS)
        self.assertNotEqual(launcher.returncode, 0)
        self.assert_valid(path)

    def test_a_rank_that_hangs_is_an_error_and_the_best_is_written(self):
        path = self.folder / "best.json"
        launcher = self.start(path, "--mpi-timeout", "5")
        hanging = self.processes_of(launcher)[2]
        os.kill(hanging, signal.SIGSTOP)
        out, err = launcher.communicate(timeout=LONGEST_SECONDS)
        self.assertNotEqual(launcher.returncode, 0)
        self.assertIn(
            "dovetail: MPI: a process is lost or does not respond: an exchange of results did not complete within 5 s",
            err,
        )
        self.assertIn(f"written: {path}", out)
        self.assert_valid(path)

    def test_a_rank_that_hangs_is_an_error_without_a_usable_schedule(self):
        path = self.folder / "none.json"
        # No schedule meets both limits, which no bound shows before the search.
        launcher = self.launch(path, "--mpi-timeout", "5", "--deadline", "366", "--memory-cap", "3")
        self.wait_until_all_search(launcher)
        os.kill(self.processes_of(launcher)[2], signal.SIGSTOP)
        out, err = launcher.communicate(timeout=LONGEST_SECONDS)
        self.assertEqual(launcher.returncode, 4, out + err)
        self.assertIn("dovetail: no schedule found by auto ", err)
        self.assertIn("dovetail: MPI: a process is lost or does not respond: ", err)
        self.assertFalse(path.exists())

    def test_an_interrupt_of_one_rank_stops_all(self):
        path = self.folder / "best.json"
        launcher = self.start(path)
        os.kill(self.processes_of(launcher)[1], signal.SIGTERM)
        out, _ = launcher.communicate(timeout=LONGEST_SECONDS)
        self.assertEqual(launcher.returncode, 130)
        self.assertIn("stopped by interrupt", out)
        self.assert_valid(path)


class Plan(unittest.TestCase):
    """The search over plans distributes its chains like the search over schedules."""

    JOB = str(Path(__file__).resolve().parents[2] / "examples" / "jobs" / "ppo-7b.yaml")

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def mpirun(self, ranks, *arguments):
        return run([MPIRUN, "-n", str(ranks), "--bind-to", "none", DOVETAIL, "plan", *arguments, "--mpi"])

    def test_the_same_bytes_from_one_process_and_from_four(self):
        for more in (["--iterations", "2000"], ["--iterations", "25000", "--chains", "3", "--seed", "7"]):
            with self.subTest(more=more):
                one, four = self.folder / "one.json", self.folder / "four.json"
                alone = run([DOVETAIL, "plan", self.JOB, *more, "--json", "-o", str(one)])
                self.assertEqual(alone.returncode, 0, alone.stderr)
                shared = self.mpirun(4, self.JOB, *more, "--json", "-o", str(four))
                self.assertEqual(shared.returncode, 0, shared.stdout + shared.stderr)
                self.assertEqual(one.read_bytes(), four.read_bytes())
                answers = [json.loads(result.stdout) for result in (alone, shared)]
                for answer in answers:
                    del answer["timing"]
                self.assertEqual(*answers)

    def test_iterations_reproduce_a_time_limit(self):
        limited, repeated = self.folder / "limited.json", self.folder / "repeated.json"
        # On a busy machine, the limit may end the work after the search early, which the answer reports.
        for seconds in (6, 12, 24, 48):
            result = self.mpirun(2, self.JOB, "--time-limit", str(seconds), "--json", "-o", str(limited))
            self.assertEqual(result.returncode, 0, result.stderr)
            answer = json.loads(result.stdout)
            if "stopped_by" not in answer:
                break
        self.assertNotIn("stopped_by", answer)
        iterations = answer["search"]["iterations"]
        self.assertGreater(iterations, 0)
        again = run([DOVETAIL, "plan", self.JOB, "--iterations", str(iterations), "-o", str(repeated)])
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(limited.read_bytes(), repeated.read_bytes())

    def test_one_rank_reports_the_error_and_all_exit_alike(self):
        for code, what, arguments in (
            (2, "only one process has standard input", ["-"]),
            (1, "cannot be read", [str(self.folder / "missing.yaml")]),
            (1, "does not exist", [self.JOB, "-o", str(self.folder / "missing" / "plan.json")]),
        ):
            with self.subTest(arguments=arguments):
                result = self.mpirun(2, *arguments)
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertEqual(result.stderr.count(what), 1, result.stderr)

    def test_an_interrupt_of_one_rank_stops_all_and_the_best_is_written(self):
        path = self.folder / "best.json"
        launcher = subprocess.Popen(
            [
                MPIRUN,
                "-n",
                "2",
                "--bind-to",
                "none",
                DOVETAIL,
                "plan",
                self.JOB,
                "--iterations",
                "1000000000",
                "-o",
                str(path),
                "--mpi",
            ],
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.addCleanup(launcher.kill)
        end = time.monotonic() + LONGEST_SECONDS
        while not path.exists():
            self.assertIsNone(launcher.poll(), "the run ended before its first plan")
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)
        processes = map(
            int, Path(f"/proc/{launcher.pid}/task/{launcher.pid}/children").read_text(encoding="ascii").split()
        )
        os.kill(max(processes), signal.SIGTERM)
        out, err = launcher.communicate(timeout=LONGEST_SECONDS)
        self.assertEqual(launcher.returncode, 130, out + err)
        self.assertIn("stopped by interrupt", out)
        self.assertEqual(run([DOVETAIL, "plan", self.JOB, "--plan", str(path)]).returncode, 0)


class WithoutMpi(unittest.TestCase):
    def test_the_program_does_not_link_mpi_but_can_load_it(self):
        needed = run(["readelf", "-d", DOVETAIL])
        self.assertEqual(needed.returncode, 0, needed.stderr)
        self.assertIn("NEEDED", needed.stdout)
        self.assertNotRegex(needed.stdout, r"(?i)libmpi|libopen-rte|libpmix|libmpich")
        version = run([DOVETAIL, "--version"])
        self.assertRegex(version.stdout, r"MPI: +yes: loaded on demand from /.*/dovetail_mpi\.so\n")

    def test_the_program_loads_mpi_only_on_request(self):
        maps = run(["sh", "-c", f"LD_DEBUG=files '{DOVETAIL}' bounds exp0 2>&1 >/dev/null"])
        self.assertIn("libc.so", maps.stdout)
        self.assertNotIn("libmpi", maps.stdout)

    def test_a_module_that_cannot_be_loaded_names_the_package(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "dovetail_mpi.so").write_text("no library", encoding="utf-8")
            result = run([RANKS, "agrees", "30"], DOVETAIL_MODULE_PATH=f"/nowhere::{folder}")
        self.assertEqual(result.returncode, 1)
        self.assertIn(f"error: {folder}/dovetail_mpi.so cannot be loaded: ", result.stdout)
        self.assertIn("install openmpi-bin", result.stdout)

    def test_a_missing_module_is_explained(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "bin" / "ranks"
            copy.parent.mkdir()
            copy.write_bytes(Path(RANKS).read_bytes())
            copy.chmod(0o755)
            result = run([str(copy), "agrees", "30"])
        if result.returncode == 0:
            self.skipTest("Dovetail is installed where this build would be")
        self.assertIn("error: MPI cannot be used: dovetail_mpi.so was not found in ", result.stdout)
        self.assertRegex(result.stdout, "DOVETAIL_MODULE_PATH")

    def test_the_program_reports_a_broken_module(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "dovetail_mpi.so").write_text("no library", encoding="utf-8")
            result = run([DOVETAIL, "schedule", "exp2", "--mpi"], DOVETAIL_MODULE_PATH=folder)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn(f"dovetail: {folder}/dovetail_mpi.so cannot be loaded: ", result.stderr)

    def test_the_timeout_needs_mpi(self):
        result = run([DOVETAIL, "schedule", "exp2", "--mpi-timeout", "5s"])
        self.assertEqual(result.returncode, 2)
        self.assertIn("--mpi-timeout needs --mpi", result.stderr)

    def test_the_launcher_of_another_mpi_is_named(self):
        result = run([RANKS, "agrees", "30"], PMI_SIZE="4")
        self.assertEqual(result.returncode, 1)
        self.assertIn("the launcher started 4 processes, but each sees only itself", result.stdout)

    def test_a_timeout_has_to_be_positive(self):
        self.assertIn("error: the timeout for other processes must be above 0 seconds", run([RANKS, "agrees", "0"]).stdout)


if __name__ == "__main__":
    DOVETAIL, RANKS, MPIRUN = sys.argv.pop(1), sys.argv.pop(1), sys.argv.pop(1)
    unittest.main()
