"""The Python environment of the runners: made once from requirements.txt, in the user's cache folder."""
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path


def ready(requirements):
    """An interpreter that has what `requirements` pins. The folder's name is the hash of the file and the Python."""
    key = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:12]
    cache = cache_folder() / key
    python = cache / "bin" / "python"
    if (cache / "complete").exists():
        return str(python)
    print(f"making a Python environment in {cache} (a few minutes, about 6 GB with the libraries that PyTorch brings)", flush=True)
    shutil.rmtree(cache, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(cache)], check=True)
    install = subprocess.run([str(python), "-m", "pip", "install", "-q", "-r", str(requirements)])
    if install.returncode:
        sys.exit("tools/cohort/run: pip could not install tools/cohort/requirements.txt; "
                 "--python PATH takes an interpreter that has it")
    (cache / "complete").touch()
    return str(python)


def cache_folder():
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "reprise" / "cohort"


def quiet_environment():
    """One thread a process; JAX keeps what it compiles, or most of its time would go into compiling it again."""
    return {**os.environ, "OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "1", "PYTHONWARNINGS": "ignore",
            "PYTHONDONTWRITEBYTECODE": "1", "JAX_COMPILATION_CACHE_DIR": str(cache_folder() / "compiled"),
            "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0", "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1", "TF_CPP_MIN_LOG_LEVEL": "3", "TORCH_LOGS": "-all",
            "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"}


VERSIONS = """
import json, platform
from importlib.metadata import PackageNotFoundError, version
found = {"python": platform.python_version()}
for package in ("numpy", "torch", "jax", "jaxlib"):
    try:
        found[package] = version(package)
    except PackageNotFoundError:
        pass  # an interpreter of one's own, for Reprise's modes alone
print(json.dumps(found))
"""


def versions(python, reprise):
    said = subprocess.run([python, "-c", VERSIONS], capture_output=True, text=True, check=True)
    ours = subprocess.run([reprise, "--version"], capture_output=True, text=True)
    return json.loads(said.stdout) | {"reprise": ours.stdout.strip().removeprefix("reprise ")}
