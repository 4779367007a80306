// expect: a perdure::Task takes only types whose destructor is
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

perdure::Task<int> helper(perdure::OrchestrationContext, Loud) {
  co_return 1;
}
