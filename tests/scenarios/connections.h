// Connections: code whose processes keep a connection in memory for each session that they serve.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <perdure/perdure.h>

namespace perdure::test {

// Which host has opened connections for which sessions, and how often it has used one. Copies are the same record.
class ConnectionLog {
 public:
  void opened(const std::string& host, const std::string& session) const {
    const std::scoped_lock lock(state_->mutex);
    state_->sessions[host].push_back(session);
  }
  void used(const std::string& host) const {
    const std::scoped_lock lock(state_->mutex);
    ++state_->uses[host];
  }
  // In the order in which they were opened.
  [[nodiscard]] std::vector<std::string> opened_on(const std::string& host) const {
    const std::scoped_lock lock(state_->mutex);
    return state_->sessions[host];
  }
  [[nodiscard]] int uses_on(const std::string& host) const {
    const std::scoped_lock lock(state_->mutex);
    return state_->uses[host];
  }

 private:
  struct State {
    std::mutex mutex;
    std::map<std::string, std::vector<std::string>> sessions;
    std::map<std::string, int> uses;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

// The memory of one process.
class Connections {
 public:
  Connections(std::string host, ConnectionLog log) : host_(std::move(host)), log_(std::move(log)) {}

  // Uses the connection of a session, and tells where that was.
  std::string query(const std::string& session) {
    const std::scoped_lock lock(mutex_);
    if (open_.insert(session).second) log_.opened(host_, session);
    log_.used(host_);
    return host_;
  }

 private:
  std::string host_;
  ConnectionLog log_;
  std::mutex mutex_;
  std::set<std::string> open_;
};

inline ActivityOptions in_session(const std::string& session) {
  return session.empty() ? ActivityOptions() : ActivityOptions().session(session);
}

// Activities: Query answers its host, whose name is one letter; Refuse always fails.
inline void add_queries(Registry& registry, const std::string& host, const ConnectionLog& log) {
  const auto memory = std::make_shared<Connections>(host, log);
  registry.add_activity("Query",
                        [memory](ActivityContext& ctx) { return memory->query(ctx.session_id().value_or("none")); });
  registry.add_activity("Refuse", [memory](ActivityContext& ctx) {
    throw std::runtime_error(memory->query(ctx.session_id().value_or("none")) + " refuses");
  });
}

// Talk makes five queries in the session that is its input and answers their hosts: "aaaaa". Chat makes one for each
// message in its queue "say", and tells of it in its status: "2 a" after the second, on host a. Fan makes three in each
// of so many sessions at once: "aaa bbb ". Stubborn is refused three times and then makes a query. Rounds makes one in
// each of six executions.
inline void add_talks(Registry& registry) {
  using Ctx = OrchestrationContext;
  registry.add_orchestration("Talk", [](Ctx ctx, std::string session) -> Orchestration<std::string> {
    std::string hosts;
    const ActivityOptions how = in_session(session);
    for (int i = 0; i < 5; ++i) hosts += co_await ctx.schedule_activity<std::string>("Query", how);
    co_return hosts;
  });
  registry.add_orchestration("Chat", [](Ctx ctx, std::string session) -> Orchestration<void> {
    const ActivityOptions how = in_session(session);
    for (int i = 1;; ++i) {
      co_await ctx.dequeue_event<std::string>("say");
      const std::string host = co_await ctx.schedule_activity<std::string>("Query", how);
      ctx.set_custom_status(std::to_string(i) + " " + host);
    }
  });
  registry.add_orchestration("Fan", [](Ctx ctx, int sessions) -> Orchestration<std::string> {
    constexpr int kEach = 3;
    std::vector<Future<std::string>> queries;
    for (int i = 0; i < kEach * sessions; ++i) {
      const ActivityOptions how = in_session("s" + std::to_string(i / kEach));
      queries.push_back(ctx.schedule_activity<std::string>("Query", how));
    }
    std::string hosts;
    int count = 0;
    for (const std::string& host : co_await ctx.join(std::move(queries))) {
      hosts += host;
      if (++count % kEach == 0) hosts += " ";
    }
    co_return hosts;
  });
  registry.add_orchestration("Stubborn", [](Ctx ctx, std::string session) -> Orchestration<std::string> {
    const ActivityOptions how = in_session(session);
    const ActivityOptions retried = in_session(session).retry(RetryPolicy(3).backoff(Backoff::fixed(Milliseconds(1))));
    const auto refused = co_await ctx.schedule_activity<void>("Refuse", retried).as_result();
    if (refused) co_return "not refused";
    co_return co_await ctx.schedule_activity<std::string>("Query", how);
  });
  registry.add_orchestration("Rounds", [](Ctx ctx, std::string hosts) -> Orchestration<std::string> {
    const ActivityOptions how = in_session("s");
    hosts += co_await ctx.schedule_activity<std::string>("Query", how);
    if (hosts.size() < 6) co_return ctx.continue_as_new(hosts);
    co_return hosts;
  });
}

// A process with all of it.
inline Registry process(const std::string& host, const ConnectionLog& log) {
  Registry registry;
  add_queries(registry, host, log);
  add_talks(registry);
  return registry;
}

}  // namespace perdure::test
