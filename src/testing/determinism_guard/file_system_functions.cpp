// Looking at and changing the file system without opening a file. std::filesystem ends here as well.
#include <cstdio>

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "testing/determinism_guard/watched.h"

PERDURE_WATCH(kFile, int, stat, (const char* path, struct stat* result), (path, result))
PERDURE_WATCH(kFile, int, stat64, (const char* path, struct stat* result), (path, result))
PERDURE_WATCH(kFile, int, lstat, (const char* path, struct stat* result), (path, result))
PERDURE_WATCH(kFile, int, lstat64, (const char* path, struct stat* result), (path, result))
PERDURE_WATCH(kFile, int, access, (const char* path, int mode), (path, mode))
PERDURE_WATCH(kFile, ssize_t, readlink, (const char* path, char* buffer, std::size_t size), (path, buffer, size))
PERDURE_WATCH(kFile, char*, realpath, (const char* path, char* resolved), (path, resolved))

PERDURE_WATCH(kFile, int, mkdir, (const char* path, mode_t mode), (path, mode))
PERDURE_WATCH(kFile, int, rmdir, (const char* path), (path))
PERDURE_WATCH(kFile, int, unlink, (const char* path), (path))
PERDURE_WATCH(kFile, int, unlinkat, (int folder, const char* path, int flags), (folder, path, flags))
PERDURE_WATCH(kFile, int, remove, (const char* path), (path))
PERDURE_WATCH(kFile, int, rename, (const char* from, const char* to), (from, to))
PERDURE_WATCH(kFile, int, renameat, (int from_folder, const char* from, int to_folder, const char* to),
              (from_folder, from, to_folder, to))
PERDURE_WATCH(kFile, int, truncate, (const char* path, off_t size), (path, size))
PERDURE_WATCH(kFile, int, truncate64, (const char* path, off_t size), (path, size))

namespace perdure::testing {
void link_file_system_functions() noexcept {}
}  // namespace perdure::testing
