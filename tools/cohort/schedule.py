"""Which program runs in which process: batches of programs for each mode, resumed by record id, with a time limit.

A record is appended to FOLDER/parts/MODE.jsonl when its program has ended. A process that dies, or says nothing for too
long, leaves a record with the verdict `crash` for the program it was at, and the rest go to a new process.
"""
import concurrent.futures
import fnmatch
import json
import lzma
import selectors
import subprocess
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

import environment
import language
import verdict
import worker

HERE = Path(__file__).resolve().parent
COMMITTED = HERE.parent.parent / "configs" / "studies" / "records" / "cohort"
BATCH = 60


class Mode(NamedTuple):
    name: str
    framework: str
    about: str
    patience: int = 1      # times the time limit
    only: str = "*"        # names of the programs that it runs
    by_name: bool = False  # runs only when --only names it


MODES = {m.name: m for m in [
    Mode("torch_eager", "PyTorch", "no recomputation"),
    Mode("torch_nonreentrant", "PyTorch", "checkpoint(use_reentrant=False)"),
    Mode("torch_reentrant", "PyTorch", "checkpoint(use_reentrant=True)"),
    Mode("torch_selective", "PyTorch", "non-reentrant, saving matmuls and the values a segment asks to keep"),
    Mode("torch_snapshot", "PyTorch", "non-reentrant, all state copied at each call and put back for the replay, by hand"),
    Mode("torch_compiled", "PyTorch", "non-reentrant under torch.compile (aot_eager); hand-made programs only", 5, "c[0-9]*"),
    Mode("torch_inductor", "PyTorch", "the same with the inductor backend; runs only when named (minutes a program)", 10,
         "c[0-9]*", True),
    Mode("jax_values", "JAX", "state as values, jax.checkpoint"),
    Mode("jax_ref", "JAX", "state in external Refs of the default kind, jax.checkpoint"),
    Mode("jax_ref_no_remat", "JAX", "state in external Refs of kind no_grad_no_remat, jax.checkpoint"),
    Mode("reprise_retain", "Reprise", "method retain: all values kept"),
    Mode("reprise_whole", "Reprise", "method whole: segments replayed, storages copied"),
    Mode("reprise_region", "Reprise", "method region: segments replayed, owed bytes preserved"),
    Mode("reprise_mixed", "Reprise", "each segment draws its option"),
]}


def programs(folder, public, select):
    """Paths of all programs, by name: public ones, then generated ones."""
    found = sorted(public.glob("*.json")) + sorted((folder / "programs").glob("*.json"))
    return {p.stem: p for p in found if fnmatch.fnmatch(p.stem, select)}


CRASH = {"crash": "the process died or gave no answer"}


def parsed(text, mode, where):
    """Records by program. A last line without an end is what a killed process did not finish: it never was a record.
    Any other line that is no record of the mode ends the run, with its place: nothing is dropped in silence."""
    found = {}
    for number, line in enumerate(text.split("\n")[:-1], 1):
        try:
            record = json.loads(line)
            wrong = wrong_in(record, mode)
        except ValueError:
            wrong = f"expected a record, an object of JSON on one line, got {line[:60]!r}"
        if wrong:
            raise SystemExit(f"tools/cohort/run: {where}:{number}: {wrong}")
        found[record["program"]] = record
    return found


def wrong_in(record, mode):
    if not isinstance(record, dict):
        return f"expected a record, an object of JSON, got {record!r:.60}"
    if record.get("mode") != mode:
        return f"expected a record of the mode {mode}, got one of {record.get('mode')!r}"
    if not isinstance(record.get("program"), str) or record.get("id") != f"{record['program']}@{mode}":
        return f"expected `program` and the id PROGRAM@{mode}, got the id {record.get('id')!r}"
    if record.get("verdict") not in verdict.ORDER:
        return f"expected a known verdict, got {record.get('verdict')!r}"
    missing = [key for key in worker.VALUES if not isinstance(record.get(key), dict)]
    return f"expected an object `{missing[0]}` of values, got none" if missing else None


class Schedule:
    def __init__(self, python, options, folder, paths):
        self.python, self.options, self.folder, self.paths = python, options, folder, paths
        self.parts = folder / "parts"
        self.parts.mkdir(exist_ok=True)
        self.lock = threading.Lock()
        self.left = 0

    def done(self, mode):
        """Names that have a record. A last line cut short by a kill, and records of programs that are others now, are
        dropped from the file."""
        path = self.parts / f"{mode.name}.jsonl"
        have = {name: r for name, r in self.recorded(path).items() if self.is_current(name, r)}
        if path.exists():
            kept = path.with_suffix(".part")  # a kill leaves the one file or the other, never a part of the records
            kept.unlink(missing_ok=True)
            kept.touch()
            worker.append(kept, have.values())
            kept.rename(path)
        return set(have)

    def is_current(self, name, record):
        """Whether a record is of the program of its name as it is now. Old records have no print and count as such."""
        known = name in self.paths and "of" in record
        return not known or record["of"] == worker.print_of(language.load(self.paths[name]))

    def run(self, modes):
        batches = []
        for mode in modes:
            have = self.done(mode)
            missing = [n for n in self.paths if n not in have and fnmatch.fnmatch(n, mode.only)]
            batches += [(mode, missing[i:i + BATCH]) for i in range(0, len(missing), BATCH)]
        self.left = sum(len(names) for _, names in batches)
        with concurrent.futures.ThreadPoolExecutor(max(1, self.options.jobs)) as pool:
            for finished in [pool.submit(self.batch, mode, names) for mode, names in batches]:
                finished.result()

    def batch(self, mode, names):
        part = self.parts / f"{mode.name}.jsonl"
        with tempfile.TemporaryDirectory() as scratch:
            while names:
                stuck = self.process(mode, names, Path(scratch), part)
                have = self.recorded(part)
                left = [n for n in names if n not in have]
                if stuck in left:
                    program = language.load(self.paths[stuck])
                    worker.append(part, [worker.record(program, mode.name, CRASH, 0)])
                    left.remove(stuck)
                elif left == names:
                    raise SystemExit(f"tools/cohort/run: {mode.name} gave no record of {names[0]}")
                with self.lock:
                    self.left -= len(names) - len(left)
                    print(f"{mode.name}: {len(names) - len(left)} records, {self.left} to go", flush=True)
                names = left

    @staticmethod
    def recorded(path):
        """The records by program in FOLDER/MODE.jsonl."""
        return parsed(path.read_text(), path.stem, path) if path.exists() else {}

    def process(self, mode, names, scratch, out):
        """Runs one process, which appends its records to `out`; the program at which it died or stood still, or None."""
        if mode.framework == "Reprise":
            return self.reprise(mode, names, scratch, out)
        listing = scratch / "list"
        listing.write_text("\n".join(str(self.paths[n]) for n in names))
        command = [self.python, str(HERE / "worker.py"), mode.name, str(listing), str(out)]
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                                 env=environment.quiet_environment())
        return self.watch(child, self.options.timeout * mode.patience)

    def watch(self, child, limit):
        """Waits for the process; the program it was at if it failed. It ends a process that is silent for too long."""
        at, said = None, time.monotonic()
        limit_now = limit + 60  # the start of a framework counts as well
        with selectors.DefaultSelector() as selector:
            selector.register(child.stdout, selectors.EVENT_READ)
            while True:
                if selector.select(timeout=1):
                    line = child.stdout.readline()
                    if not line:
                        break
                    if line.startswith("begin "):
                        at, said, limit_now = line.split()[1], time.monotonic(), limit
                elif time.monotonic() - said > limit_now:
                    child.kill()
                    break
        return at if child.wait() else None

    def reprise(self, mode, names, scratch, out):
        """`reprise conform` judges too; its verdict counts where it is the sterner one (replay counts, leaks)."""
        lines_of = scratch / "lines.jsonl"
        lines_of.unlink(missing_ok=True)
        command = [self.options.reprise, "conform", *[str(self.paths[n]) for n in names], "--method",
                   mode.name.removeprefix("reprise_"), "--jsonl", str(lines_of), "--quiet"]
        start = time.monotonic()
        try:
            code = subprocess.run(command, capture_output=True, env=environment.quiet_environment(),
                                  timeout=60 + self.options.timeout * len(names)).returncode
        except subprocess.TimeoutExpired:
            code = None
        seconds = (time.monotonic() - start) / len(names)
        text = lines_of.read_text() if lines_of.exists() else ""
        lines = [json.loads(line) for line in text.split("\n")[:-1]]
        worker.append(out, [self.own_record(mode, line, seconds) for line in lines])
        return names[len(lines)] if code not in (0, 1) and len(lines) < len(names) else None

    def own_record(self, mode, line, seconds):
        program = language.load(self.paths[line["name"]])
        result = {key: line[key] for key in worker.VALUES}
        if line["verdict"] == "reject":
            result["error"] = line["detail"]
        elif line["verdict"] == "unsupported":
            result["unsupported"] = line["detail"]
        made = worker.record(program, mode.name, result, seconds)
        if made["verdict"] == "match" and line["verdict"] != "match":
            made |= {"verdict": line["verdict"], "detail": line["detail"]}
        return made

    def again(self, identity):
        """Reruns one record and prints it, and whether it is what the folder holds, or else the committed records."""
        name, _, mode = identity.partition("@")
        if name not in self.paths or mode not in MODES:
            raise SystemExit(f"tools/cohort/run: expected PROGRAM@MODE, got {identity}")
        with tempfile.TemporaryDirectory() as scratch:
            out = Path(scratch) / f"{mode}.jsonl"
            self.process(MODES[mode], [name], Path(scratch), out)
            fresh = self.recorded(out).get(name) or worker.record(language.load(self.paths[name]), mode, CRASH, 0)
        print(json.dumps(fresh, indent=1))
        kept, where = self.kept(name, mode)
        if kept is None:
            print("there is no other record of it to compare with")
            return 0
        said = lambda record, key: json.dumps(record[key], sort_keys=True)  # so that what is no number equals itself
        differ = [key for key in ("verdict", *worker.VALUES) if said(kept, key) != said(fresh, key)]
        print(f"kept verdict: {kept['verdict']} ({where}); " +
              (f"what differs: {', '.join(differ)}" if differ else "the same verdict and values"))
        return 0

    def kept(self, name, mode):
        """The record that the folder or, where it has none, the repository holds of the program as it is now."""
        committed = COMMITTED / f"{mode}.jsonl.xz"
        for path, read in ((self.parts / f"{mode}.jsonl", self.recorded),
                           (committed, lambda file: parsed(lzma.decompress(file.read_bytes()).decode(), mode, file))):
            found = read(path).get(name) if path.exists() else None
            if found and self.is_current(name, found):
                return found, path
        return None, None
