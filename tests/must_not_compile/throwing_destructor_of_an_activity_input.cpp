// expect: takes inputs, results and other payloads only of types whose destructor is
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

void add(perdure::Registry& registry) {
  registry.add_activity("A", [](perdure::ActivityContext&, const Loud&) {});
}
