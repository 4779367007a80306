// The file of `perdure export` and `perdure import`: ended instances with everything that a store tells of them, one
// JSON object on a line. docs/instance-file.md describes it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "providers/instance_import.h"

namespace perdure::cli {

// Writes the same bytes for the same instances.
class InstanceFileWriter {
 public:
  explicit InstanceFileWriter(std::ostream& out);
  // Root first, every parent before its children.
  void write_tree(const std::vector<InstanceCopy>& tree);
  // Says that nothing is missing. The state of the stream tells whether everything was written.
  void finish();
  [[nodiscard]] std::uint64_t instances() const noexcept { return instances_; }

 private:
  void write(const InstanceCopy& instance);
  void line(const std::string& json);

  std::ostream& out_;
  std::uint64_t instances_ = 0;
  std::uint64_t checksum_ = 0;
};

class InstanceFileReader {
 public:
  // `name` is for messages. Throws as next_tree does.
  InstanceFileReader(std::istream& in, std::string name);
  // A root with its children; nothing behind the last. Throws std::invalid_argument that names the file, the line and
  // what is wrong with it.
  [[nodiscard]] std::optional<std::vector<InstanceCopy>> next_tree();

 private:
  [[nodiscard]] bool next_line();
  [[nodiscard]] InstanceCopy read_instance();
  [[nodiscard]] ExecutionCopy read_execution();
  void need_line();
  void read_end();
  [[noreturn]] void refuse(const std::string& why) const;
  // What `read` throws becomes refuse().
  template <class Read>
  auto checked(const Read& read) const;

  std::istream& in_;
  std::string name_;
  std::string text_;  // the current line
  std::size_t number_ = 0;
  std::uint64_t checksum_ = 0;
  std::uint64_t instances_ = 0;
  bool at_end_ = false;
};

}  // namespace perdure::cli
