// PERDURE_CHECK: an invariant of our own, always on. A broken one means that going on could corrupt a history.
#pragma once

#include <cstdio>
#include <cstdlib>

#define PERDURE_CHECK(condition, explanation)                                                              \
  do {                                                                                                     \
    if (!(condition)) [[unlikely]] {                                                                       \
      std::fprintf(stderr, "%s:%d: PERDURE_CHECK(%s): %s\n", __FILE__, __LINE__, #condition, explanation); \
      std::abort();                                                                                        \
    }                                                                                                      \
  } while (false)
