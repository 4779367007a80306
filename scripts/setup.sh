#!/bin/bash
# Installs what the build, the tests and the checks need, from the distribution's packages. When everything is there it
# does nothing and says nothing.
set -euo pipefail

packages=(
  g++ cmake ninja-build ccache make git pkgconf python3
  libgtest-dev libgmock-dev catch2 libbenchmark-dev nlohmann-json3-dev libsqlite3-dev libcli11-dev
  clang-19 clang-tidy-19 clang-format-19 libclang-rt-19-dev
  libpq-dev postgresql pgbouncer
  prometheus-cpp-dev libspdlog-dev
)

fail() {
  echo "setup: $1" >&2
  echo "setup: needed are these, under Debian's names: ${packages[*]}" >&2
  exit 1
}

command -v dpkg-query >/dev/null && command -v apt-get >/dev/null ||
  fail "this is not a Debian-like system; install the tools and libraries yourself, then run cmake --preset release"

installed=$(dpkg-query --show --showformat='${db:Status-Status} ${Package}\n' "${packages[@]}" 2>/dev/null |
  sed -n 's/^installed //p' || true)
missing=()
for package in "${packages[@]}"; do
  grep -qxF -- "$package" <<<"$installed" || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then exit 0; fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || fail "not root and no sudo, so these cannot be installed: ${missing[*]}"
  as_root=(sudo)
fi

echo "== install ${missing[*]}"
apt() { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0 "$@"; }
apt update
# The tests start servers of their own, so the package need not make one that runs from now on.
no_cluster=/etc/postgresql-common/createcluster.d/perdure.conf
if [[ " ${missing[*]} " == *" postgresql "* ]]; then
  "${as_root[@]}" install -d "$(dirname $no_cluster)"
  echo "create_main_cluster = false" | "${as_root[@]}" tee $no_cluster >/dev/null
  trap '"${as_root[@]}" rm -f $no_cluster' EXIT
fi
apt install -y --no-install-recommends "${missing[@]}"
