// HomeProcess: the process in which an object was made. After fork() a child has a copy of the object, but none of the
// threads behind it, so a call that waits for one of them would never return.
#pragma once

#include <string>

namespace perdure {

class HomeProcess {
 public:
  HomeProcess() noexcept;

  [[nodiscard]] bool is_this() const noexcept;
  // "the store was opened by process 12 and used by its child 13 after fork(); ..."
  [[nodiscard]] std::string complaint(const std::string& what, const std::string& way_out) const;

 private:
  long id_;
};

}  // namespace perdure
