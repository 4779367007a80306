#include "testing/simulation/interpreter_ledger.h"

#include <utility>

#include <perdure/codec.h>

namespace perdure::testing::simulation {

namespace {

ActivityKey key_of(const ActivityContext& context) {
  return {context.instance_id(), context.execution_id(), context.activity_id()};
}

}  // namespace

void Ledger::completed(const ActivityContext& context, const std::string& result) {
  outcomes_[key_of(context)].insert({true, Codec<std::string>::encode(result)});
}

void Ledger::failed(const ActivityContext& context, const std::string& message) {
  outcomes_[key_of(context)].insert({false, message});
}

bool Ledger::gave(const ActivityKey& key, const GivenOutcome& outcome) const {
  const auto found = outcomes_.find(key);
  return found != outcomes_.end() && found->second.contains(outcome);
}

void Ledger::keep(const std::string& token, ActivityContext context, Completion completion) {
  std::erase_if(kept_, [](const Kept& kept) { return kept.context.is_cancelled(); });
  Kept kept{token, std::move(context), std::move(completion)};
  if (released_.contains(token)) {
    finish(kept);
  } else {
    kept_.push_back(std::move(kept));
  }
}

void Ledger::release(const std::string& token) {
  released_.insert(token);
  std::vector<Kept> ended;
  std::erase_if(kept_, [&](Kept& kept) {
    if (kept.token != token) return false;
    ended.push_back(std::move(kept));
    return true;
  });
  for (const Kept& kept : ended) finish(kept);
}

void Ledger::finish(const Kept& kept) {
  const std::string result = "done " + kept.token;
  completed(kept.context, result);
  kept.completion.complete(result);
}

void Ledger::forget_node(const std::string& worker_id) {
  std::erase_if(kept_, [&](const Kept& kept) { return kept.context.worker_id() == worker_id; });
}

}  // namespace perdure::testing::simulation
