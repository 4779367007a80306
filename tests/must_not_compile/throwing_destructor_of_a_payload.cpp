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

void start(const perdure::Client& client, const Loud& input) {
  client.start_orchestration("i", "Flow", input);
}
