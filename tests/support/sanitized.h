// PERDURE_TEST_SANITIZED: whether the address or the thread sanitizer watches this program, by the words of either
// compiler. Both have an allocator and a pthread_create of their own.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PERDURE_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PERDURE_TEST_SANITIZED 1
#endif
#endif

#ifndef PERDURE_TEST_SANITIZED
#define PERDURE_TEST_SANITIZED 0
#endif
