#include "providers/home_process.h"

#include <unistd.h>

namespace perdure {

HomeProcess::HomeProcess() noexcept : id_(::getpid()) {}

bool HomeProcess::is_this() const noexcept {
  return ::getpid() == id_;
}

std::string HomeProcess::complaint(const std::string& what, const std::string& way_out) const {
  return what + " by process " + std::to_string(id_) + " and used by its child " + std::to_string(::getpid()) +
         " after fork(); " + way_out;
}

}  // namespace perdure
