# Makes .venv with pinned dependencies and this project in it. Sourced by run, test, check and lock, from the repository's root.

say() { printf '%s\n' "$*" >&2; }
fail() { say "$*"; exit 1; }

# The first Python that the project runs on; $PYTHON is asked first.
find_python() {
  local candidate
  for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11; do
    if "$candidate" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then
      command -v "$candidate"
      return
    fi
  done
  fail "Python 3.11, 3.12 or 3.13 is missing; get it with: sudo apt-get install python3 python3-venv"
}

# Installs Debian packages where that is allowed; else says in one line how to get them.
install_packages() {
  command -v apt-get >/dev/null && [ "$(id -u)" = 0 ] || fail "$1 is missing; get it with: sudo apt-get install $*"
  say "Installing $* ..."
  { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@"; } >&2 \
    || fail "apt-get could not install $*"
}

# Debian keeps the maker of environments in a package of its own.
make_venv() {
  local python
  python=$(find_python)
  "$python" -c 'import ensurepip, venv' 2>/dev/null \
    || install_packages "$("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"
  "$python" -m venv --clear .venv || fail "$python cannot make an environment in .venv"
}

# make_environment LOCK: a second time, with the lock unchanged, this takes a blink.
make_environment() {
  local lock=$1 mark
  exec 9<pyproject.toml
  flock 9 2>/dev/null || true # a second one waits until the first has installed everything
  mark="$(cat deploy/requirements.lock "$lock" pyproject.toml deploy/environment.sh | sha256sum | cut -c1-32) $PWD"
  if [ -x .venv/bin/blockyard ] && grep -qsxF "$lock $mark" .venv/installed; then
    exec 9<&-
    return
  fi
  .venv/bin/python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null || make_venv
  say "Installing the pinned dependencies into .venv; the first time takes a minute or two ..."
  local pip=(.venv/bin/python -m pip --disable-pip-version-check install --quiet --no-input --no-warn-script-location)
  "${pip[@]}" --require-hashes --only-binary :all: -r "$lock" || fail "The dependencies could not be installed; see above."
  "${pip[@]}" --no-deps --no-build-isolation --editable . || fail "The project could not be installed; see above."
  printf '%s %s\n' "$lock" "$mark" >>.venv/installed
  exec 9<&-
}

# The generator of API clients, in an environment of its own within .venv: a test's tool. Prints where its programs are.
make_generator() {
  local lock=deploy/requirements-generator.lock place=.venv/generator mark
  exec 8<"$lock"
  flock 8 2>/dev/null || true
  mark=$(sha256sum <"$lock")
  if [ ! -x $place/bin/openapi-python-client ] || ! grep -qsxF "$mark" $place/installed; then
    .venv/bin/python -m venv --clear $place || fail "no environment can be made in $place"
    $place/bin/python -m pip --disable-pip-version-check install --quiet --no-input --no-warn-script-location \
      --require-hashes --only-binary :all: -r "$lock" >&2 || fail "The generator of clients could not be installed; see above."
    printf '%s\n' "$mark" >$place/installed
  fi
  exec 8<&-
  printf '%s\n' "$PWD/$place/bin"
}
