// Opening files. Streams of the standard library end here as well. Reading and writing what is open already is not
// watched: output to a stream that was open before is how programs print.
#include <cstdarg>
#include <cstdio>

#include <dirent.h>
#include <fcntl.h>
#include <sys/types.h>

#include "testing/determinism_guard/watched.h"

// open and its relatives. Their last argument is there only if a file may be created; given when it is not wanted, it
// does no harm. NOLINTBEGIN(bugprone-macro-parentheses): a list of parameters cannot stand in parentheses of its own.
#define PERDURE_WATCH_OPEN(name, parameters, arguments)                                                               \
  PERDURE_WATCHED_NAME(int, name, parameters)                                                                         \
  int perdure_watched_##name parameters {                                                                             \
    static constinit perdure::testing::NextFunction<int parameters> next(#name, &perdure_sanitized_##name);           \
    mode_t mode = 0;                                                                                                  \
    if ((flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE) {                                                 \
      va_list optional;                                                                                               \
      va_start(optional, flags);                                                                                      \
      mode = va_arg(optional, mode_t);                                                                                \
      va_end(optional);                                                                                               \
    }                                                                                                                 \
    const perdure::testing::WatchedCall call(#name, perdure::testing::CallClass::kFile, __builtin_return_address(0)); \
    return next.get() arguments;                                                                                      \
  }
// NOLINTEND(bugprone-macro-parentheses)

PERDURE_WATCH_OPEN(open, (const char* path, int flags, ...), (path, flags, mode))
PERDURE_WATCH_OPEN(open64, (const char* path, int flags, ...), (path, flags, mode))
PERDURE_WATCH_OPEN(openat, (int folder, const char* path, int flags, ...), (folder, path, flags, mode))
PERDURE_WATCH_OPEN(openat64, (int folder, const char* path, int flags, ...), (folder, path, flags, mode))
// What _FORTIFY_SOURCE makes of them.
PERDURE_WATCH(kFile, int, __open_2, (const char* path, int flags), (path, flags))
PERDURE_WATCH(kFile, int, __open64_2, (const char* path, int flags), (path, flags))
PERDURE_WATCH(kFile, int, __openat_2, (int folder, const char* path, int flags), (folder, path, flags))
PERDURE_WATCH(kFile, int, __openat64_2, (int folder, const char* path, int flags), (folder, path, flags))

PERDURE_WATCH(kFile, int, creat, (const char* path, mode_t mode), (path, mode))
PERDURE_WATCH(kFile, int, creat64, (const char* path, mode_t mode), (path, mode))
PERDURE_WATCH(kFile, FILE*, fopen, (const char* path, const char* mode), (path, mode))
PERDURE_WATCH(kFile, FILE*, fopen64, (const char* path, const char* mode), (path, mode))
PERDURE_WATCH(kFile, FILE*, freopen, (const char* path, const char* mode, FILE* file), (path, mode, file))
PERDURE_WATCH(kFile, FILE*, freopen64, (const char* path, const char* mode, FILE* file), (path, mode, file))
PERDURE_WATCH(kFile, FILE*, tmpfile, (), ())
PERDURE_WATCH(kFile, FILE*, tmpfile64, (), ())
PERDURE_WATCH(kFile, int, mkstemp, (char* name), (name))
PERDURE_WATCH(kFile, int, mkstemp64, (char* name), (name))
PERDURE_WATCH(kFile, DIR*, opendir, (const char* path), (path))

namespace perdure::testing {
void link_file_functions() noexcept {}
}  // namespace perdure::testing
