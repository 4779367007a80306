// Destructors that do not throw, written or not, of inputs, parameters and results.
#include <memory>
#include <string>
#include <string_view>

#include <perdure/perdure.h>

class Quiet {
 public:
  explicit Quiet(std::string of = "") : text(std::move(of)) {}
  Quiet(const Quiet&) = default;
  Quiet& operator=(const Quiet&) = default;
  virtual ~Quiet() { text.clear(); }
  std::string text;
};
template <>
struct perdure::Codec<Quiet> {
  static std::string encode(const Quiet& value) { return value.text; }
  static Quiet decode(std::string_view text) { return Quiet(std::string(text)); }
};

perdure::Task<std::unique_ptr<Quiet>> helper(perdure::OrchestrationContext, std::unique_ptr<Quiet> value) {
  co_return value;
}
perdure::Orchestration<Quiet> flow(perdure::OrchestrationContext ctx, Quiet input) {
  auto moved = co_await helper(ctx, std::make_unique<Quiet>(input));
  co_return *moved;
}

void add(perdure::Registry& registry) {
  registry.add_orchestration("Flow", flow).add_activity("A", [](perdure::ActivityContext&, const Quiet& input) {
    return input;
  });
}
