// Thread cancellation (pthread_cancel). The engine's threads do not take part in it: a cancelled thread unwinds through
// code that must not throw, which ends the process, and a dispatcher would wait forever for its response.
#pragma once

namespace perdure {

// Called first by each thread of the engine, and again after user code, which may have enabled it.
void disable_thread_cancellation() noexcept;

}  // namespace perdure
