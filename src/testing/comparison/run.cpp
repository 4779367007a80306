#include "testing/comparison/run.h"

#include <algorithm>
#include <stdexcept>

#include "providers/instance_import.h"

namespace perdure::testing::comparison {

Run::Run(ProviderFactory& reference, ProviderFactory& candidate, std::uint64_t seed)
    : factories_{&reference, &candidate}, stores_{reference.create(), candidate.create()}, dice_(seed) {
  for (const std::shared_ptr<Provider>& store : stores_) {
    if (store->admin() == nullptr) throw std::invalid_argument("a store has no admin interface to compare its state");
  }
  if (reference.orphan_retention() != candidate.orphan_retention()) {
    throw std::invalid_argument("the factories have different orphan retentions; use the same for both");
  }
  const Milliseconds ahead = stores_[0]->now() - stores_[1]->now();
  factories_[ahead.count() > 0 ? 1 : 0]->advance(std::chrono::abs(ahead));
  clock_ = now();
  can_import_ = std::all_of(stores_.begin(), stores_.end(), [](const std::shared_ptr<Provider>& store) {
    return dynamic_cast<InstanceImport*>(store.get()) != nullptr;
  });
  fast_path_ = stores_[0]->capabilities().fast_path && stores_[1]->capabilities().fast_path;
}

void Run::advance(Milliseconds by) {
  for (ProviderFactory* const factory : factories_) factory->advance(by);
  clock_ += by;
  call([&] { return Fields("now").add("after", by).text(); }, [](Provider& store, Side) { return store.now(); });
}

void Run::step(Milliseconds by) {
  for (ProviderFactory* const factory : factories_) factory->step(by);
  clock_ += by;
  call([&] { return Fields("now").add("set by", by).text(); }, [](Provider& store, Side) { return store.now(); });
}

void Run::damage(const std::string& instance) {
  const ProviderResult<InstanceInfo> info = stores_[0]->admin()->instance_info(instance);
  if (!info) return;
  damaged_.emplace(instance, info->execution_id);
  for (const Side side : {0U, 1U}) factories_[side]->corrupt_history(*stores_[side], instance);
}

bool Run::is_damaged(const std::string& instance) const {
  return std::any_of(damaged_.begin(), damaged_.end(), [&](const auto& entry) { return entry.first == instance; });
}

void Run::differs(std::string call, const Both<std::string>& answers) const {
  throw DifferenceFound{
      {.operation = operation_, .call = std::move(call), .reference = answers[0], .candidate = answers[1]}};
}

}  // namespace perdure::testing::comparison
