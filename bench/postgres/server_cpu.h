// ServerCpu: the CPU time that a PostgreSQL server on this machine has used, all its processes together.
#pragma once

#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

#include <unistd.h>

namespace bench {

class ServerCpu {
 public:
  // Of the server that this process belongs to, from now on.
  explicit ServerCpu(int server_process) {
    if (const auto state = read(std::to_string(server_process))) server_ = state->parent;
    begin_ = total();
  }
  // Nothing if the server is not on this machine.
  [[nodiscard]] std::optional<double> seconds() const {
    if (server_ == 0) return std::nullopt;
    return total() - begin_;
  }

 private:
  struct State {
    int parent = 0;
    double own = 0;
    double of_children = 0;  // that have ended
  };

  static std::optional<State> read(const std::string& process) {
    std::ifstream file("/proc/" + process + "/stat");
    std::string text;
    if (!std::getline(file, text)) return std::nullopt;
    std::istringstream fields(text.substr(text.rfind(')') + 1));  // the name before it may contain anything
    State state;
    std::string skipped;
    fields >> skipped >> state.parent;
    constexpr int kFieldsBetween = 9;
    for (int i = 0; i < kFieldsBetween; ++i) fields >> skipped;
    double user = 0;
    double system = 0;
    double children_user = 0;
    double children_system = 0;
    fields >> user >> system >> children_user >> children_system;
    const auto ticks = static_cast<double>(::sysconf(_SC_CLK_TCK));
    state.own = (user + system) / ticks;
    state.of_children = (children_user + children_system) / ticks;
    return state;
  }
  [[nodiscard]] double total() const {
    if (server_ == 0) return 0;
    double seconds = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
      const std::string name = entry.path().filename().string();
      if (name.find_first_not_of("0123456789") != std::string::npos) continue;
      const auto state = read(name);
      if (!state) continue;
      if (state->parent == server_) seconds += state->own;
      if (name == std::to_string(server_)) seconds += state->own + state->of_children;
    }
    return seconds;
  }

  int server_ = 0;
  double begin_ = 0;
};

}  // namespace bench
