#include "testing/simulation/request_text.h"

#include <variant>

namespace perdure::testing::simulation {

namespace orchestration = runtime::orchestration;
namespace worker = runtime::worker;

namespace {

struct OrchestrationText {
  std::string operator()(const orchestration::Fetch&) const { return "fetch instances"; }
  std::string operator()(const orchestration::Await&) const { return "wait for instances"; }
  std::string operator()(const orchestration::ReadHistory& read) const {
    return "read history behind " + std::to_string(read.after);
  }
  std::string operator()(const orchestration::RunTurn& run) const { return "run turn of " + run.task.item.instance; }
  std::string operator()(const orchestration::Commit& commit) const {
    return "commit " + std::to_string(commit.commits->size()) + " turns";
  }
  std::string operator()(const orchestration::GiveBack& given) const {
    return "give back " + std::to_string(given.abandons.size()) + " instances";
  }
  std::string operator()(const orchestration::Renew& renewal) const {
    return "renew " + std::to_string(renewal.tokens.size()) + " instance locks";
  }
  std::string operator()(const orchestration::EndWait&) const { return "end the wait for instances"; }
};

struct WorkerText {
  std::string operator()(const worker::Fetch&) const { return "fetch activities"; }
  std::string operator()(const worker::Await&) const { return "wait for activities"; }
  std::string operator()(const worker::Watch& watch) const {
    return "watch " + std::to_string(watch.held.size()) + " activities";
  }
  std::string operator()(const worker::Ack& ack) const {
    return "acknowledge " + std::to_string(ack.acks->size()) + " activities";
  }
  std::string operator()(const worker::GiveBack& given) const {
    return "give back " + std::to_string(given.abandons.size()) + " activities";
  }
  std::string operator()(const worker::Renew& renewal) const {
    return "renew " + std::to_string(renewal.tokens.size()) + " activity locks";
  }
  std::string operator()(const worker::Beat& beat) const {
    return "send " + std::to_string(beat.heartbeats.size()) + " heartbeats";
  }
  std::string operator()(const worker::RenewSessions&) const { return "renew sessions"; }
  std::string operator()(const worker::CleanupSessions&) const { return "clean up sessions"; }
  std::string operator()(const worker::ReadGauges&) const { return "read gauges"; }
  std::string operator()(const worker::ListNodes&) const { return "list nodes"; }
  std::string operator()(const worker::EndWait&) const { return "end a wait of the worker"; }
  std::string operator()(const worker::Start& start) const {
    return "start " + start.about.activity_name + " #" + std::to_string(start.about.activity_id) + " of " +
           start.about.instance_id;
  }
  std::string operator()(const worker::Stop& stop) const { return "stop run " + std::to_string(stop.run); }
  std::string operator()(const worker::ReplaceThread& replace) const {
    return "replace the thread of run " + std::to_string(replace.run);
  }
};

template <class... Kinds, class Body>
bool is_one_of(const Body& body) noexcept {
  return (std::holds_alternative<Kinds>(body) || ...);
}

}  // namespace

std::string describe(const orchestration::RequestBody& body) {
  return std::visit(OrchestrationText(), body);
}

std::string describe(const worker::RequestBody& body) {
  return std::visit(WorkerText(), body);
}

bool calls_store(const orchestration::RequestBody& body) noexcept {
  return !is_one_of<orchestration::RunTurn, orchestration::EndWait>(body);
}

bool calls_store(const worker::RequestBody& body) noexcept {
  return !is_one_of<worker::EndWait, worker::Start, worker::Stop, worker::ReplaceThread, worker::ReadGauges,
                    worker::ListNodes>(body);
}

}  // namespace perdure::testing::simulation
