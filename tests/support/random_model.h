// Random events and messages from a seed, the same on every machine. They are valid values, not plausible histories.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>

#include <perdure/event.h>
#include <perdure/message.h>

namespace perdure::test_support {

class RandomModel {
 public:
  explicit RandomModel(std::uint64_t seed) : engine_(seed) {}

  [[nodiscard]] Event event();
  // `index` is the position in the variant.
  [[nodiscard]] EventBody event_body(std::size_t index);
  [[nodiscard]] MessageBody message_body(std::size_t index);
  [[nodiscard]] EventBody event_body();
  [[nodiscard]] MessageBody message_body();

  // Empty, short, long or binary, with the characters that formats trip over.
  [[nodiscard]] std::string text();
  // Any value up to the type's limits, small ones more often.
  [[nodiscard]] std::uint64_t number();
  // From 0 to limit - 1.
  [[nodiscard]] std::uint64_t below(std::uint64_t limit) { return engine_() % limit; }
  [[nodiscard]] bool coin() { return below(2) == 0; }

  // Fill one member with a random value; a member struct member by member.
  void fill(std::string& value) { value = text(); }
  void fill(bool& value) { value = coin(); }
  void fill(std::uint32_t& value) { value = static_cast<std::uint32_t>(number()); }
  void fill(std::uint64_t& value) { value = number(); }
  void fill(Milliseconds& value) { value = Milliseconds(static_cast<std::int64_t>(number())); }
  void fill(Timestamp& value) { value = Timestamp(Milliseconds(static_cast<std::int64_t>(number()))); }
  void fill(SemanticVersion& value);
  void fill(ParentLink& value);
  void fill(CarriedMessage& value);
  void fill(ActivityTimeouts& value);
  void fill(EarlierAttempts& value);
  void fill(ErrorDetails& value);
  void fill(CancelReason& value) { value = static_cast<CancelReason>(below(5)); }
  void fill(RecordedValueKind& value) { value = static_cast<RecordedValueKind>(below(3)); }

  template <class T>
  void fill(std::optional<T>& value) {
    if (coin()) return value.reset();
    fill(value.emplace());
  }
  template <class T>
  void fill(std::vector<T>& values) {
    values.resize(below(4));
    for (T& value : values) fill(value);
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace perdure::test_support
