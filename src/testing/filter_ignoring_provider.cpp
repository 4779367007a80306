// A provider whose fetches, claims and waits forget their capability filters.
#include <perdure/testing/filter_ignoring_provider.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include <perdure/testing/forwarding_provider.h>

namespace perdure::testing {

namespace {

class FilterIgnoringProvider final : public ForwardingProvider {
 public:
  using ForwardingProvider::ForwardingProvider;

  ProviderResult<OrchestrationBatch> fetch_orchestration_items(const OrchestrationFetch& fetch) override {
    OrchestrationFetch any = fetch;
    any.filter = {};
    return inner().fetch_orchestration_items(any);
  }

  ProviderResult<WorkBatch> fetch_work_items(const WorkFetch& fetch) override {
    WorkFetch any = fetch;
    any.filter = {};
    return inner().fetch_work_items(any);
  }

  // A commit that claims activities is a fetch of them too.
  std::vector<ProviderResult<CommitAnswer>> ack_orchestration_items(std::span<const TurnCommit> commits) override {
    const bool claims =
        std::any_of(commits.begin(), commits.end(), [](const TurnCommit& commit) { return commit.claim.has_value(); });
    if (!claims) return inner().ack_orchestration_items(commits);
    std::vector<TurnCommit> any(commits.begin(), commits.end());
    for (TurnCommit& commit : any) {
      if (commit.claim) commit.claim->filter = {};
    }
    return inner().ack_orchestration_items(any);
  }

  ProviderResult<bool> wait_for_work(const WorkWait& wait, Timestamp deadline) override {
    WorkWait any = wait;
    if (any.orchestrations) any.orchestrations->filter = {};
    if (any.activities) any.activities->filter = {};
    return inner().wait_for_work(any, deadline);
  }
};

}  // namespace

std::shared_ptr<Provider> ignore_capability_filters(std::shared_ptr<Provider> store) {
  if (!store) throw std::invalid_argument("ignore_capability_filters needs a provider, not a null pointer");
  return std::make_shared<FilterIgnoringProvider>(std::move(store));
}

}  // namespace perdure::testing
