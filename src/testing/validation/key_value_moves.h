// Key-values in the words of the tests about them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "testing/validation/scene.h"

namespace perdure::testing {

using Values = std::map<std::string, std::string>;

// The time that every value of these tests carries.
[[nodiscard]] Timestamp written_at();
[[nodiscard]] KeyValueMutation set(const std::string& key, const std::string& value);
[[nodiscard]] KeyValueMutation clear(const std::string& key);
[[nodiscard]] KeyValueMutation clear_all();

// One more turn that does this.
void write(Scene& scene, const std::string& instance, const std::vector<KeyValueMutation>& mutations,
           Where where = Where::current());
// What a client reads, all at once; each key read alone must agree.
[[nodiscard]] Values read(Scene& scene, const std::string& instance, Where where = Where::current());
// What the next turn begins with, which is also what operators are shown. The turn is taken and changes nothing.
[[nodiscard]] Values read_snapshot(Scene& scene, const std::string& instance, Where where = Where::current());

}  // namespace perdure::testing
