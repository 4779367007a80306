#include "lifecycles/life_ledger.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace perdure::test {

std::string to_string(const Effect& effect) {
  return "activity " + std::to_string(effect.activity) + " of execution " + std::to_string(effect.execution) + " of " +
         effect.generation;
}

void LifeLedger::add(const std::string& prefix, const Effect& effect) const {
  std::ostringstream line;
  line << effect.key << ' ' << effect.generation << ' ' << effect.execution << ' ' << effect.activity << ' '
       << effect.attempt << '\n';
  const std::string text = line.str();
  const int file = ::open(path(prefix).c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) throw std::system_error(errno, std::generic_category(), "the ledger cannot be opened");
  const ssize_t written = ::write(file, text.data(), text.size());
  const int error = errno;
  ::close(file);
  if (written != static_cast<ssize_t>(text.size())) {
    throw std::system_error(error, std::generic_category(), "the ledger cannot be written");
  }
}

std::vector<Effect> LifeLedger::effects(const std::string& prefix) const {
  std::vector<Effect> found;
  std::ifstream file(path(prefix));  // absent: no activity has run
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    Effect effect;
    words >> effect.key >> effect.generation >> effect.execution >> effect.activity >> effect.attempt;
    if (!words) throw std::runtime_error("the ledger has a line that is none: " + line);
    found.push_back(std::move(effect));
  }
  return found;
}

void LifeLedger::remove(const std::string& prefix) const {
  std::filesystem::remove(path(prefix));
}

}  // namespace perdure::test
