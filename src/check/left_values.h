// LeftValues: the key-values that past executions of an instance left behind, worked out from their histories.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include <perdure/event.h>
#include "replay/key_values.h"

namespace perdure {

class LeftValues {
 public:
  // Another execution, which follows those that were added before.
  void add(std::span<const Event> history) {
    for (const Event& event : history) add(event);
  }
  // An execution of which nothing is known lies in between. What is known from here on is only what later ones set.
  void lose(std::string why) {
    values_ = KeyValues({});
    unknown_ = std::move(why);
  }

  [[nodiscard]] const KeyValueSnapshot& snapshot() const noexcept { return values_.entries(); }
  // Why there may be more, or other, values than the snapshot has.
  [[nodiscard]] const std::optional<std::string>& unknown() const noexcept { return unknown_; }

 private:
  void add(const Event& event) {
    if (const auto* set = std::get_if<events::KeyValueSet>(&event.body)) {
      values_.set(set->key, set->value, event.time);
    } else if (const auto* cleared = std::get_if<events::KeyValueCleared>(&event.body)) {
      values_.clear(cleared->key);
    } else if (std::holds_alternative<events::KeyValuesCleared>(event.body)) {
      values_.clear_all();
      unknown_.reset();
    }
  }

  KeyValues values_{{}};
  std::optional<std::string> unknown_;
};

}  // namespace perdure
