#include <perdure/detail/part_list.h>

#include <perdure/error.h>

namespace perdure::detail {

void PartList::check_not_started(const PartList& other) {
  if (other.core_) throw MisuseError("a join or select was moved after it had been awaited");
}

bool PartList::begin(ContextCore& core, std::size_t size) {
  if (core_) return false;
  core_ = &core;
  size_ = size;
  links_ = std::make_unique<WaitLink[]>(size);
  return true;
}

void PartList::disarm() noexcept {
  for (std::size_t i = 0; i < size_; ++i) links_[i].unlink();
}

void AllOf::add_completion(Completion& part) noexcept {
  WaitLink& link = links_[next_++];
  if (part.done()) {
    done_.add(part.rank());
    return;
  }
  ++remaining_;
  link.arm(part, *this);
}

// It is done when its last part is; a join of nothing at once.
void AllOf::armed() noexcept {
  if (remaining_ == 0) completion_.complete(size_ == 0 ? core_->next_rank() : done_.rank());
}

void AllOf::on_complete(WaitLink&) noexcept {
  if (--remaining_ == 0) completion_.complete(core_->next_rank());
}

void AnyOf::armed() noexcept {
  if (!decided()) return;
  disarm();
  completion_.complete(earliest_.rank());
}

void AnyOf::on_complete(WaitLink& link) noexcept {
  if (completion_.done()) return;
  winner_ = static_cast<std::size_t>(&link - links_.get());
  disarm();
  completion_.complete(core_->next_rank());
}

}  // namespace perdure::detail
