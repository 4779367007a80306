#!/bin/bash
# clang-format over all sources, then clang-tidy over what changed outside tests/ and examples/testing (the macros of tests cost more time there than
# everything else together). Changed means: since the merge base with CHECK_BASE, or
# with the default branch of `origin`; on that branch itself: in its last commits, because older ones were looked at when they
# were new. CHECK_ALL=1, or a tree without git, means every source.
# `check.sh --format` rewrites the sources that clang-format would refuse, and checks nothing.
# The trees build/clang and build/fuzz must be configured, not built.
set -euo pipefail
cd "$(dirname "$0")/.."

jobs=${JOBS:-$(nproc)}
last_commits=4
patterns=('*.h' '*.cpp')

in_git() { [ -e .git ] && git rev-parse --is-inside-work-tree >/dev/null 2>&1; }

# Every source that is or would be in the repository.
all_sources() {
  if in_git; then
    git ls-files --cached --others --exclude-standard -- "${patterns[@]}"
  else
    find . -path ./build -prune -o \( -name '*.h' -o -name '*.cpp' \) -type f -print | sed 's|^\./||'
  fi | sort -u | while IFS= read -r file; do if [ -f "$file" ]; then echo "$file"; fi; done
}

# Prints the commit to compare with; fails when there is none.
base_commit() {
  in_git || return 1
  local name
  for name in ${CHECK_BASE:-origin/HEAD origin/main}; do
    if git rev-parse --verify --quiet "$name^{commit}" >/dev/null; then
      git merge-base "$name" HEAD && return 0
    fi
  done
  if [ -n "${CHECK_BASE:-}" ]; then echo "== CHECK_BASE=$CHECK_BASE is not known here: everything is checked" >&2; fi
  return 1
}

# The commit before the last ones; fails when there are not that many, or git has not fetched them.
recent_commit() { git rev-parse --verify --quiet "HEAD~$last_commits^{commit}"; }

changed_since() {
  {
    git diff --name-only --diff-filter=d "$1" -- "${patterns[@]}"
    git ls-files --others --exclude-standard -- "${patterns[@]}"
  } | sort -u
}

changed_sources() {
  local base
  if [ -n "${CHECK_ALL:-}" ] || ! base=$(base_commit); then
    all_sources
    return
  fi
  if [ -z "${CHECK_BASE:-}" ] && [ "$base" = "$(git rev-parse HEAD)" ]; then
    base=$(recent_commit) || { all_sources; return; }
  fi
  changed_since "$base"
}

# Prints "<tree> <translation unit>" for a source, or nothing when no compiler command is known for it. A header is
# looked at through one file that includes it: the stub that proves a public header compiles alone, or the .cpp of its name,
# or else the first that includes it.
translation_unit() {
  local file=$1 tree=build/clang
  case $file in
    fuzz/*) tree=build/fuzz ;;
    include/*.h)
      file=$tree/src/perdure_verify_interface_header_sets/${file#include/}.cxx ;;
    *.h)
      if [ -f "${file%.h}.cpp" ]; then
        file=${file%.h}.cpp
      else
        local spelled=${file#src/}
        spelled=${spelled#tests/}
        file=$(grep -rlF --include='*.cpp' "#include \"$spelled\"" src bench 2>/dev/null | sort | head -n 1 || true)
        if [ -z "$file" ]; then return; fi
      fi ;;
  esac
  if grep -qF "\"file\": \"$PWD/$file\"" $tree/compile_commands.json; then echo "$tree $file"; fi
}

tidy() {
  local tree=$1 file=$2 relaxed=()
  case $file in
    # Tests that happen to be shipped: the analyzer costs more there than it finds.
    src/testing/*) relaxed=(--checks=-clang-analyzer-*) ;;
    src/* | build/*) ;;
    # A small main may throw, and the analyzer cannot follow coroutines.
    *) relaxed=(--checks=-bugprone-exception-escape,-clang-analyzer-*) ;;
  esac
  clang-tidy-19 -p "$tree" --quiet --config-file=.clang-tidy "${relaxed[@]}" "$file" 2> >(grep -v 'warnings generated\|warning generated' >&2 || true) ||
    { echo "== clang-tidy refuses $file" >&2; return 1; }
}
export -f tidy

mapfile -t sources < <(all_sources)
if [ ${#sources[@]} -eq 0 ]; then
  echo "== check: no sources"
  exit 0
fi
if [ "${1:-}" = --format ]; then
  clang-format-19 -i "${sources[@]}"
  exit 0
fi
echo "== clang-format: ${#sources[@]} files"
printf '%s\n' "${sources[@]}" | xargs -d '\n' -n 20 -P "$jobs" clang-format-19 --dry-run -Werror ||
  { echo "== clang-format refuses the lines above; make format repairs them" >&2; exit 1; }

for tree in build/clang build/fuzz; do
  grep -qF "\"file\": \"$PWD/" $tree/compile_commands.json ||
    { echo "== $tree knows no command for the sources in $PWD: configure it with cmake --preset ${tree#build/}" >&2; exit 1; }
done
mapfile -t units < <(changed_sources | grep -vE '^(tests|examples/testing)/' | while IFS= read -r file; do translation_unit "$file"; done | sort -u)
echo "== clang-tidy: ${#units[@]} translation units"
if [ ${#units[@]} -gt 0 ]; then
  printf '%s\n' "${units[@]}" | xargs -d '\n' -n 1 -P "$jobs" bash -c 'tidy ${0%% *} "${0#* }"'
fi
