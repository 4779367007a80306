// expect: a perdure::Task or Orchestration returns only types whose
#include <string>
#include <string_view>

#include <perdure/perdure.h>

struct Loud {
  ~Loud() noexcept(false) {}
};
template <>
struct perdure::Codec<Loud> {
  static std::string encode(const Loud&) { return "1"; }
  static Loud decode(std::string_view) { return {}; }
};

perdure::Task<Loud> helper(perdure::OrchestrationContext) {
  co_return Loud();
}
