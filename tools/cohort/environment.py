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
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "reprise" / "cohort" / key
    python = cache / "bin" / "python"
    if (cache / "complete").exists():
        return str(python)
    print(f"making a Python environment in {cache} (a few minutes, about 6 GB with PyTorch's own libraries)", flush=True)
    shutil.rmtree(cache, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", str(cache)], check=True)
    install = subprocess.run([str(python), "-m", "pip", "install", "-q", "-r", str(requirements)])
    if install.returncode:
        sys.exit("tools/cohort/run: pip could not install tools/cohort/requirements.txt; "
                 "--python PATH takes an interpreter that has it")
    (cache / "complete").touch()
    return str(python)


def quiet_environment():
    return {**os.environ, "OMP_NUM_THREADS": "1", "JAX_PLATFORMS": "cpu", "JAX_ENABLE_X64": "1", "PYTHONWARNINGS": "ignore",
            "PYTHONDONTWRITEBYTECODE": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "TORCH_LOGS": "-all",
            "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"}


VERSIONS = """
import json, platform
from importlib.metadata import version
print(json.dumps({"python": platform.python_version(), **{p: version(p) for p in ("numpy", "torch", "jax", "jaxlib")}}))
"""


def versions(python, reprise):
    said = subprocess.run([python, "-c", VERSIONS], capture_output=True, text=True, check=True)
    ours = subprocess.run([reprise, "--version"], capture_output=True, text=True)
    return json.loads(said.stdout) | {"reprise": ours.stdout.strip().removeprefix("reprise ")}
