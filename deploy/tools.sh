# Programs that tests run and no wheel brings: Prometheus, promtool, Chromium and debootstrap. Sourced by test after
# environment.sh, from the root.

# Debian's package is unpacked into .venv rather than installed: that needs no root, and starts no service on this machine.
make_tools() {
  local folder package
  if [ -x .venv/bin/promtool ] || { command -v prometheus && command -v promtool; } >/dev/null; then return; fi
  command -v apt-get >/dev/null || fail "prometheus and promtool are missing; put them on the PATH"
  say "Fetching Prometheus for the tests ..."
  folder=$(mktemp -d)
  fetch_package prometheus "$folder" || fail "prometheus is missing; get it with: sudo apt-get install prometheus"
  package=$(echo "$folder"/prometheus_*.deb)
  dpkg-deb --extract "$package" "$folder/root" || fail "$package cannot be unpacked"
  mv "$folder/root/usr/bin/prometheus" .venv/bin/
  mv "$folder/root/usr/bin/promtool" .venv/bin/ # last, since its presence says that all is there
  rm -rf "$folder"
}

# fetch_package NAME FOLDER: with the list of packages as it is, or else with a fresh one where that may be had.
fetch_package() {
  (cd "$2" && apt-get download -qq "$1" 2>/dev/null) && return
  [ "$(id -u)" = 0 ] || return
  apt-get update -qq >&2 && (cd "$2" && apt-get download -qq "$1" >&2)
}

# Chromium for the tests of the pages: a browser has too many libraries to be unpacked, so it is installed where that is
# allowed. Where none can be had those tests are skipped, and say so.
make_browser() {
  if command -v chromium || command -v chromium-browser || command -v google-chrome; then return; fi >/dev/null
  (install_packages chromium fonts-dejavu-core) || say "Without Chromium the tests in tests/browser are skipped."
}

# What makes a bare Debian root, and where from: only root can use it, so only root is given it.
make_debootstrap() {
  [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 0
  if ! command -v debootstrap >/dev/null; then install_packages debootstrap; fi
  if [ -z "$(apt-get indextargets 'Created-By: Packages')" ]; then apt-get update -qq >&2; fi
}
