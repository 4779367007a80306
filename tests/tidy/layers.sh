#!/bin/bash
# The code checks its own habits: layers.sh <repository> prints every broken rule as path:line: what and why, and fails
# when there is one; layers.sh --self-test proves it on planted files.
#
#   place               may include
#   include/perdure     the standard library, <perdure/...>; json.h also nlohmann, detail/thrown.h also <cxxabi.h>
#   src/model           the standard library, <perdure/...>, "model/..."; a .cpp also nlohmann
#   src/replay          the standard library, <perdure/...>, "model/...", "replay/..."
#   src/providers       the standard library, <perdure/...>, "model/...", "providers/..." of its own folder or of none; in a
#                       .cpp also <sqlite3.h> (sqlite only), <libpq-fe.h> (postgres only) and the system
#   src/runtime         the standard library, <perdure/...>, "model/...", "replay/...", "runtime/...", what providers share; a
#                       .cpp also nlohmann. Threads only in *_threads, runtime.cpp, activity_context.cpp and node_code
#   src/client          the standard library, <perdure/...>, "model/...", "client/...", what providers share
#   src/check           the standard library, <perdure/...>, "model/...", "replay/...", "client/...", "check/...", what
#                       providers share; no threads
#   include/perdure/testing/gtest.h   GoogleTest too: it is for those who have it
#
# model and replay are pure: no threads, no log, no metrics, no clock, no randomness, no environment. (Databases are no
# question: the table has no room for them.) nlohmann stays out of every header but json.h, and only the umbrella perdure.h
# includes that one. Every header has #pragma once and a first line that says what it is for; every source at most 450
# lines and nothing left to be done later. Tests never sleep. No file names a place on somebody's machine.
set -euo pipefail

readonly max_lines=450

# Prints the broken rules of the sources named on standard input, which are paths relative to the current directory.
check_sources() {
  xargs -d '\n' -r awk -v max_lines=$max_lines '
    function broken(line, what) { printf "%s:%d: %s\n", FILENAME, line, what }

    function end_of_file() {
      if (file == "") return
      if (lines > max_lines)
        printf "%s:%d: %d lines; a file has one idea and at most %d lines: split it\n", file, lines, lines, max_lines
      if (is_header && !guarded) printf "%s:1: a header without #pragma once\n", file
    }

    function included(target, name) {
      name = substr(target, 2, length(target) - 2)
      is_ours = target ~ /^<perdure\//
      is_standard = target ~ /^<[a-z_0-9]+>$/
      is_nlohmann = name ~ /^nlohmann\//

      if (is_nlohmann && is_header && layer != "other" && FILENAME != "include/perdure/json.h") {
        broken(FNR, "includes " target " in a header; nlohmann belongs in .cpp files and perdure/json.h")
        return
      }
      if (name == "perdure/json.h" && is_header && layer != "other" && FILENAME != "include/perdure/perdure.h") {
        broken(FNR, "includes " target " in a header, and nlohmann with it; only perdure/perdure.h may")
        return
      }

      if (layer == "public") {
        is_gtest = FILENAME == "include/perdure/testing/gtest.h" && name ~ /^gtest\//
        is_abi = FILENAME == "include/perdure/detail/thrown.h" && name == "cxxabi.h"
        if (!is_standard && !is_ours && !is_nlohmann && !is_gtest && !is_abi)
          broken(FNR, "includes " target "; a public header includes the standard library and <perdure/...> only")
      } else if (layer == "model") {
        if (!is_standard && !is_ours && !is_nlohmann && target !~ /^"model\//)
          broken(FNR, "includes " target "; src/model may include the standard library, <perdure/...>, \"model/...\" and, in a .cpp, nlohmann")
      } else if (layer == "replay") {
        if (!is_standard && !is_ours && target !~ /^"(model|replay)\//)
          broken(FNR, "includes " target "; src/replay may include the standard library, <perdure/...>, \"model/...\" and \"replay/...\"")
      } else if (layer == "providers") {
        own = FILENAME
        sub(/^src\//, "", own)
        sub(/[^\/]*$/, "", own)
        is_database = (name == "sqlite3.h" && own == "providers/sqlite/") || (name == "libpq-fe.h" && own == "providers/postgres/")
        is_system = !is_header && (name ~ /^(fcntl|poll|pthread|sys\/(stat|sysmacros)|unistd)\.h$/ || is_database)
        is_shared = name ~ /^providers\/[^\/]*$/
        if (!is_standard && !is_ours && !is_system && !is_shared && target !~ /^"model\// && index(name, own) != 1)
          broken(FNR, "includes " target "; a provider may include the standard library, <perdure/...>, \"model/...\", its own folder and, in a .cpp, its database")
      }

      if (layer == "runtime" || layer == "client" || layer == "check") {
        is_shared = name ~ /^providers\/[^\/]*$/
        own = layer == "runtime" ? "^\"(model|replay|runtime)/" : layer == "client" ? "^\"(model|client)/" : "^\"(model|replay|client|check)/"
        if (!is_standard && !is_ours && !is_shared && !(is_nlohmann && layer == "runtime") && target !~ own)
          broken(FNR, "includes " target "; src/" layer " may include the standard library, <perdure/...>, the layers below it and no database")
        if (layer == "runtime" && FILENAME !~ /(_threads\.(h|cpp)|\/runtime\.cpp|\/activity_context\.cpp|\/node_code\.(h|cpp))$/ &&
            name ~ /^(thread|mutex|shared_mutex|condition_variable|future|semaphore|latch|barrier)$/)
          broken(FNR, "includes " target "; dispatchers and turns are driven from outside: threads belong to *_threads and runtime.cpp")
      }

      if ((is_pure || layer == "check") && name ~ /^(thread|mutex|shared_mutex|condition_variable|future|semaphore|latch|barrier)$/)
        broken(FNR, "includes " target "; src/" layer " starts no thread and waits for none: threads belong to src/runtime")
      if (is_pure && name ~ /^perdure\/(log|metrics|engine_metrics)\.h$/)
        broken(FNR, "includes " target "; src/" layer " is pure: its caller logs and counts")
    }

    FNR == 1 {
      end_of_file()
      file = FILENAME
      is_header = FILENAME ~ /\.h$/
      guarded = 0
      layer = "other"
      if (FILENAME ~ /^include\/perdure\//) layer = "public"
      else if (FILENAME ~ /^src\/model\//) layer = "model"
      else if (FILENAME ~ /^src\/replay\//) layer = "replay"
      else if (FILENAME ~ /^src\/providers\//) layer = "providers"
      else if (FILENAME ~ /^src\/runtime\//) layer = "runtime"
      else if (FILENAME ~ /^src\/client\//) layer = "client"
      else if (FILENAME ~ /^src\/check\//) layer = "check"
      is_pure = layer == "model" || layer == "replay"
      is_test = FILENAME ~ /^tests\//
      if (is_header && $0 !~ /^\/\/ ./) broken(1, "the first line of a header must be a comment that says what it is for")
    }
    { lines = FNR }
    /^[ \t]*#[ \t]*pragma once/ { guarded = 1 }
    /^[ \t]*#[ \t]*include[ \t]*[<"]/ {
      target = $0
      sub(/^[ \t]*#[ \t]*include[ \t]*/, "", target)
      if (match(target, /^(<[^>]*>|"[^"]*")/)) included(substr(target, 1, RLENGTH))
    }
    /(^|[^A-Za-z0-9_])(TODO|FIXME|XXX)([^A-Za-z0-9_]|$)/ {
      broken(FNR, "leaves something for later; do it, or write it down as an issue")
    }
    is_test && /(^|[^A-Za-z0-9_])(sleep_for|sleep_until|usleep|nanosleep|sleep)[ \t]*\(/ {
      broken(FNR, "a test that sleeps; use the fake clock or a latch")
    }
    is_pure && /(system_clock|steady_clock|high_resolution_clock)::now|(^|[^A-Za-z0-9_])(random_device|getenv|gettimeofday|clock_gettime)([^A-Za-z0-9_]|$)/ {
      broken(FNR, "reads the clock, the environment or a random source; src/" layer " is given them from outside")
    }
    END { end_of_file() }
  '
}

# Prints the lines that name a place on somebody's machine, in the text files named on standard input.
check_paths() {
  xargs -d '\n' -r grep -nHE '(^|[^A-Za-z0-9_./$}>-])/(home|root|Users|work|workspace|mnt)/[A-Za-z0-9_.-]' |
    sed -E 's/^([^:]+:[0-9]+):.*/\1: names a place on one machine; make it relative, or ask CMake or the environment/' || true
}

# Checks the repository in the current directory; prints what is broken and fails when anything is.
check_repository() {
  local folder folders=()
  for folder in include src tests bench examples fuzz; do
    if [ -d "$folder" ]; then folders+=("$folder"); fi
  done
  if [ ${#folders[@]} -eq 0 ]; then
    echo "tidy: no sources in $PWD" >&2
    return 1
  fi

  local report
  report=$(
    find "${folders[@]}" -type f \( -name '*.h' -o -name '*.cpp' \) | sort | check_sources || echo "tidy: the check itself failed"
    find . \( -name .git -o -name build -o -name corpus \) -prune -o -type f \
      \( -name '*.h' -o -name '*.cpp' -o -name '*.cmake' -o -name '*.in' -o -name CMakeLists.txt -o -name '*.json' \
      -o -name '*.md' -o -name '*.sh' -o -name Makefile -o -path './.ci/*' \) -print | sed 's|^\./||' | sort | check_paths
  )
  if [ -n "$report" ]; then
    echo "$report"
    echo "tidy: broken rules: $(wc -l <<<"$report")"
    return 1
  fi
}

# ---- self test ----

readonly self=$(realpath "$0")
scratch=
cases=0

# A small repository without a fault, in a fresh directory.
plant_good_tree() {
  rm -rf "$scratch"/tree
  mkdir -p "$scratch"/tree/{include/perdure/testing,src/model,src/replay,src/runtime,src/providers/{postgres,sqlite},tests/model}
  cd "$scratch"/tree
  printf '// A value.\n#pragma once\n#include <string>\n#include <perdure/error.h>\n' >include/perdure/value.h
  printf '// Errors.\n#pragma once\n#include <coroutine>\n' >include/perdure/error.h
  printf '// JSON.\n#pragma once\n#include <nlohmann/json.hpp>\n#include <perdure/value.h>\n' >include/perdure/json.h
  printf '// All.\n#pragma once\n#include <perdure/json.h>\n' >include/perdure/perdure.h
  printf '// Codec.\n#pragma once\n#include <atomic>\n#include <perdure/value.h>\n' >src/model/codec.h
  printf '// Codec.\n#include "model/codec.h"\n#include <nlohmann/json.hpp>\nint todo_list; // XXXXXX\n' >src/model/codec.cpp
  printf '// Replay.\n#include "replay/cursor.h"\n#include <chrono>\n#include "model/codec.h"\n' >src/replay/cursor.cpp
  printf '// A store.\n#include <sqlite3.h>\n#include "providers/sqlite/x.h"\n#include "providers/y.h"\n' >src/providers/sqlite/store.cpp
  printf '// Another.\n#include <libpq-fe.h>\n#include <poll.h>\n' >src/providers/postgres/store.cpp
  printf '// Google.\n#pragma once\n#include <gtest/gtest.h>\n' >include/perdure/testing/gtest.h
  printf '// Run.\n#include "replay/cursor.h"\n#include <nlohmann/json.hpp>\n#include <perdure/log.h>\n#include "providers/y.h"\n' >src/runtime/run.cpp
  printf '// Threads.\n#pragma once\n#include <mutex>\n#include <thread>\n' >src/runtime/run_threads.h
  printf '// Test.\n#include <thread>\n// It does not sleep.\n// See https://example.org/work/x\n' >tests/model/codec_test.cpp
}

# expect_broken <file> <line of C++> <words that the report must have>: plants the line at the end of the file.
expect_broken() {
  local file=$1 line=$2 words=$3 report
  plant_good_tree
  mkdir -p "$(dirname "$file")"
  if ! [ -f "$file" ]; then printf '// Planted.\n#pragma once\n' >"$file"; fi
  printf '%s\n' "$line" >>"$file"
  cases=$((cases + 1))
  if report=$("$self" . 2>&1); then
    echo "self test: '$line' in $file was not refused" >&2
    exit 1
  fi
  if ! grep -qF -- "$words" <<<"$report" || ! grep -q "^$file:" <<<"$report"; then
    printf 'self test: %s in %s was refused with other words:\n%s\n' "'$line'" "$file" "$report" >&2
    exit 1
  fi
  if [ "$(wc -l <<<"$report")" -ne 2 ]; then
    printf 'self test: %s in %s broke more than one rule:\n%s\n' "'$line'" "$file" "$report" >&2
    exit 1
  fi
}

self_test() {
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT

  plant_good_tree
  "$self" . || { echo "self test: a repository without a fault was refused" >&2; exit 1; }

  local header
  for header in include/perdure/value.h src/model/codec.h src/replay/cursor.h; do
    expect_broken $header '#include <nlohmann/json_fwd.hpp>' 'nlohmann belongs in'
    expect_broken $header '#include <perdure/json.h>' 'only perdure/perdure.h may'
  done
  expect_broken include/perdure/value.h '#include <spdlog/spdlog.h>' 'a public header includes'
  expect_broken include/perdure/value.h '#include "model/codec.h"' 'a public header includes'
  expect_broken include/perdure/deep/value.h '#  include <sqlite3.h>' 'a public header includes'
  expect_broken include/perdure/json.h '#include <fmt/core.h>' 'a public header includes'

  local other
  for other in '"replay/cursor.h"' '<sqlite3.h>' '<libpq-fe.h>' '<spdlog/spdlog.h>' '<unistd.h>' '"observe/log.h"'; do
    expect_broken src/model/codec.cpp "#include $other" 'src/model may include'
  done
  for other in '"runtime/run.h"' '<sqlite3.h>' '<libpq-fe.h>' '<spdlog/spdlog.h>' '<nlohmann/json.hpp>'; do
    expect_broken src/replay/cursor.cpp "#include $other" 'src/replay may include'
  done
  for other in '<libpq-fe.h>' '"providers/memory/z.h"' '"runtime/run.h"' '"replay/cursor.h"'; do
    expect_broken src/providers/sqlite/store.cpp "#include $other" 'a provider may include'
  done
  for other in '<sqlite3.h>' '"providers/memory/z.h"' '"client/x.h"' '"testing/x.h"'; do
    expect_broken src/runtime/run.cpp "#include $other" 'src/runtime may include'
  done
  for other in '<sqlite3.h>' '"replay/cursor.h"' '"runtime/run.h"' '<nlohmann/json.hpp>'; do
    expect_broken src/client/client.cpp "#include $other" 'src/client may include'
  done
  for other in '<sqlite3.h>' '"providers/memory/z.h"' '"runtime/run.h"' '"testing/x.h"' '<nlohmann/json.hpp>'; do
    expect_broken src/check/check.cpp "#include $other" 'src/check may include'
  done
  expect_broken src/check/check.cpp '#include <thread>' 'starts no thread'
  for other in thread mutex condition_variable; do
    expect_broken src/runtime/run.cpp "#include <$other>" 'driven from outside'
  done
  expect_broken src/providers/sqlite/store.h '#include <sqlite3.h>' 'a provider may include'
  for other in '<sqlite3.h>' '<libpq-fe.h>'; do
    expect_broken src/providers/memory/store.cpp "#include $other" 'a provider may include'
  done
  expect_broken src/providers/postgres/store.h '#include <libpq-fe.h>' 'a provider may include'
  expect_broken src/providers/postgres/store.cpp '#include <sqlite3.h>' 'a provider may include'
  expect_broken include/perdure/testing/suite.h '#include <gtest/gtest.h>' 'a public header includes'
  local file
  for file in src/model/codec.cpp src/model/codec.h src/replay/cursor.cpp; do
    for other in thread mutex shared_mutex condition_variable future latch; do
      expect_broken $file "#include <$other>" 'starts no thread'
    done
    expect_broken $file '#include <perdure/log.h>' 'is pure'
    expect_broken $file '#include <perdure/metrics.h>' 'is pure'
    expect_broken $file '#include <perdure/engine_metrics.h>' 'is pure'
    expect_broken $file 'auto now = std::chrono::system_clock::now();' 'reads the clock'
    expect_broken $file 'std::random_device device;' 'reads the clock'
  done

  for other in TODO FIXME XXX; do
    expect_broken src/runtime/run.cpp "int x; // $other: later" 'for later'
  done
  for other in 'std::this_thread::sleep_for(1ms);' 'std::this_thread::sleep_until(t);' 'usleep(1);' '::sleep(1);'; do
    expect_broken tests/model/codec_test.cpp "$other" 'a test that sleeps'
  done
  local place
  for place in home root Users work; do
    expect_broken src/runtime/run.cpp "const char* path = \"/$place/somebody/x\";" 'names a place'
    expect_broken scripts/run.sh "cd /$place/somebody" 'names a place'
  done
  expect_broken src/runtime/long.cpp "$(yes '//' | head -n $max_lines)" 'split it'

  plant_good_tree
  printf '// Nothing.\n' >src/runtime/bare.h
  if "$self" . >/dev/null; then echo "self test: a header without #pragma once was not refused" >&2; exit 1; fi
  plant_good_tree
  printf '#pragma once\n' >src/runtime/bare.h
  if "$self" . >/dev/null; then echo "self test: a header without a first comment was not refused" >&2; exit 1; fi
  echo "self test: $((cases + 2)) planted faults refused"
}

case ${1:-} in
  --self-test) self_test ;;
  "") echo "usage: layers.sh <repository> | --self-test" >&2; exit 2 ;;
  *) cd "$1" && check_repository ;;
esac
