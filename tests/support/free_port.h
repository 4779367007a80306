// A port for a server that must be told one.
#pragma once

namespace perdure::test {

// One of 127.0.0.1 on which nobody listens now; somebody may a moment later. Below those that connections take: one
// that looks for a server which is away could get its port, and itself as the answer. Throws std::runtime_error.
[[nodiscard]] int free_port();

}  // namespace perdure::test
