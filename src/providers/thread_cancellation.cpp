#include "providers/thread_cancellation.h"

#include <pthread.h>

namespace perdure {

void disable_thread_cancellation() noexcept {
  int before = 0;
  static_cast<void>(::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before));  // fails for unknown states only
}

}  // namespace perdure
