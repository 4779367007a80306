#include "testing/cluster/worker_options.h"

#include <functional>
#include <map>
#include <stdexcept>

namespace perdure::testing::cluster {

std::vector<std::string> WorkerOptions::to_arguments() const {
  return {"url=" + store.url,
          "schema=" + store.schema,
          "ledger=" + ledger,
          "node=" + node,
          "lock_ms=" + std::to_string(lock_timeout.count()),
          "max_attempts=" + std::to_string(max_attempts),
          "fast_path=" + std::to_string(static_cast<int>(fast_path)),
          "replay_up_to=" + replay_up_to,
          "stop_before=" + stop_before,
          "planted=" + planted};
}

WorkerOptions WorkerOptions::parse(const std::vector<std::string>& arguments) {
  WorkerOptions options;
  const auto number = [](const std::string& text) { return static_cast<std::uint32_t>(std::stoul(text)); };
  const std::map<std::string, std::function<void(const std::string&)>, std::less<>> readers{
      {"url", [&](const std::string& value) { options.store.url = value; }},
      {"schema", [&](const std::string& value) { options.store.schema = value; }},
      {"ledger", [&](const std::string& value) { options.ledger = value; }},
      {"node", [&](const std::string& value) { options.node = value; }},
      {"lock_ms", [&](const std::string& value) { options.lock_timeout = Milliseconds(number(value)); }},
      {"max_attempts", [&](const std::string& value) { options.max_attempts = number(value); }},
      {"fast_path", [&](const std::string& value) { options.fast_path = number(value) != 0; }},
      {"replay_up_to", [&](const std::string& value) { options.replay_up_to = value; }},
      {"stop_before", [&](const std::string& value) { options.stop_before = value; }},
      {"planted", [&](const std::string& value) { options.planted = value; }},
  };
  for (const std::string& argument : arguments) {
    const std::size_t equals = argument.find('=');
    const auto reader = readers.find(argument.substr(0, equals));
    if (equals == std::string::npos || reader == readers.end()) {
      throw std::invalid_argument("a worker does not know '" + argument + "'");
    }
    reader->second(argument.substr(equals + 1));
  }
  return options;
}

}  // namespace perdure::testing::cluster
