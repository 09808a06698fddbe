# Shared by tools/reprise, tools/test and .ci/run (sourced, not run): the Debian packages the project needs, and how a
# build directory is configured and built. The caller sets `root` to the top of the checkout. All talk goes to stderr.

packages=(g++ cmake ninja-build
          libfmt-dev libyaml-cpp-dev nlohmann-json3-dev libcli11-dev libeigen3-dev libarchive-dev zlib1g-dev
          libxxhash-dev libssl-dev libdnnl-dev ocl-icd-opencl-dev libbenchmark-dev libgtest-dev librapidcheck-dev coinor-cbc)

say() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; }

die() {  # die CODE TEXT...
  local code=$1
  shift
  say "$@"
  exit "$code"
}

missing_packages() {
  local installed package
  installed=" $(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null |
    sed -n 's/^installed //p' | tr '\n' ' ') "
  for package in "${packages[@]}"; do
    [[ $installed == *" $package "* ]] || printf '%s\n' "$package"
  done
}

# Installs what is missing as root; as another user prints the line to type and exits 2.
ensure_packages() {
  local missing
  if ! command -v dpkg-query >/dev/null; then
    say "not a Debian system: the build needs what these packages hold: ${packages[*]}"
    return
  fi
  mapfile -t missing < <(missing_packages)
  ((${#missing[@]})) || return 0
  local line="apt-get install -y --no-install-recommends ${missing[*]}"
  if ((EUID != 0)); then
    say "some Debian packages are missing. As root, run:"
    printf '  apt-get update && %s\n' "$line" >&2
    exit 2
  fi
  say "installing ${#missing[@]} Debian packages: ${missing[*]}"
  local log
  log=$(mktemp) || die 1 "no temporary file can be made"
  if ! { apt-get update -q && DEBIAN_FRONTEND=noninteractive $line -q -o DPkg::Lock::Timeout=600; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    die 1 "the packages could not be installed. The line was: apt-get update && $line"
  fi
  rm -f "$log"
}

# Whether the fuzz targets can be built by an engine: optional, since the tests do without.
can_fuzz() {
  command -v clang++ >/dev/null &&
    [[ -n $(find "$(clang++ -print-resource-dir)/lib" -name 'libclang_rt.fuzzer-*.a' 2>/dev/null | head -n 1) ]]
}

# For tests that have our files read back by the programs they are for: names a Python with the packages of
# tests/requirements.txt in REPRISE_PYTHON. That of the caller where it has them, else one made once in DIR/python. Where
# the network or the package python3-venv is missing it says so and names none; the tests then skip with their reason.
name_python() {  # name_python DIR
  local venv=$1/python log=$1/python.log list=$root/tests/requirements.txt
  [[ -z ${REPRISE_PYTHON:-} ]] || return 0
  python3 -c 'import numpy, perfetto, safetensors, tensorboard' 2>/dev/null && return 0
  if ! cmp -s "$list" "$venv/installed.txt"; then
    say "making a Python environment with the packages of tests/requirements.txt in $venv"
    rm -rf "$venv"
    if ! { python3 -m venv "$venv" && "$venv/bin/python" -m pip install -q --retries 1 -r "$list" &&
      cp "$list" "$venv/installed.txt"; } >"$log" 2>&1 </dev/null; then
      say "it cannot be made, so tests that need it will skip (log: $log):" \
        "$(grep -m 1 -iE 'error|not found|not available' "$log" || tail -n 1 "$log")"
      rm -rf "$venv"
      return 0
    fi
  fi
  export REPRISE_PYTHON=$venv/bin/python
}

# One compiler per core, and no more than the memory carries (the largest files take about 1.5 GB).
build_jobs() {
  local cores kilobytes by_memory
  cores=$(nproc)
  kilobytes=$(sed -n 's/^MemAvailable: *\([0-9]*\).*/\1/p' /proc/meminfo)
  by_memory=$((${kilobytes:-99999999} / 1500000))
  ((by_memory < 1)) && by_memory=1
  echo $((cores < by_memory ? cores : by_memory))
}

# Copies its input to a log; on a terminal it keeps one line up to date with the step that ninja is at.
show_progress() {  # show_progress LOG LABEL
  local line
  while IFS= read -r line; do
    printf '%s\n' "$line" >>"$1"
    if [[ -t 2 && $line =~ ^\[([0-9]+/[0-9]+)\] ]]; then printf '\r%s %s ' "$2" "${BASH_REMATCH[1]}" >&2; fi
  done
  if [[ -t 2 ]]; then printf '\r\033[K' >&2; fi
}

# Two builds of one directory would spoil each other: the second waits, and then finds little to do.
lock_build() {  # lock_build DIR
  mkdir -p "$1" && [[ -w $1 ]] && exec 9>"$1/.lock" || die 1 "cannot write in the build directory $1"
  if ! flock -n 9; then
    say "another build is at work in $1; waiting for it"
    flock 9
  fi
}

unlock_build() { exec 9>&-; }

# Configures DIR if that has not been done and builds TARGET. An interrupted build goes on where it was.
build_tree() {  # build_tree DIR TARGET [CMAKE ARGUMENTS...]
  local dir=$1 target=$2 log=$1/build.log start=$SECONDS
  shift 2
  : >"$log"
  # A checkout that was moved or copied brings a cache along that names its old place.
  if [[ -f $dir/CMakeCache.txt ]] && ! grep -qx "CMAKE_HOME_DIRECTORY:INTERNAL=$root" "$dir/CMakeCache.txt"; then
    rm -rf "$dir/CMakeCache.txt" "$dir/CMakeFiles" "$dir/build.ninja"
  fi
  if [[ -t 2 ]]; then printf 'building ' >&2; else say "building $target in $dir (log: $log)"; fi
  if ! {
    { [[ -f $dir/build.ninja ]] || cmake -S "$root" -B "$dir" -G Ninja "$@"; } &&
      NINJA_STATUS='[%f/%t] ' cmake --build "$dir" --target "$target" -- -j "$(build_jobs)"
  } 9>&- 2>&1 </dev/null | show_progress "$log" building; then
    printf '%s\n' "--- last lines of $log" >&2
    # What the compiler says about the first error is worth more than the lines after it.
    if ! grep -m 1 -A 12 -E '^FAILED: |^CMake Error| error: ' "$log" >&2; then tail -n 30 "$log" >&2; fi
    die 1 "the build failed after $((SECONDS - start)) s; the whole log is in $log"
  fi
  say "built $target in $((SECONDS - start)) s"
}
