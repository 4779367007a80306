// Cluster: the nodes of a simulated run. They die, stand still, lose their way to the store, have wrong clocks and are
// replaced by newer ones, and come back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <perdure/registry.h>
#include <perdure/runtime_options.h>
#include "testing/dice.h"
#include "testing/simulation/node_store.h"
#include "testing/simulation/run_log.h"
#include "testing/simulation/stepped_node.h"

namespace perdure::testing::simulation {

class Cluster {
 public:
  struct Code {
    // Of a node of that generation.
    std::function<Registry(int generation)> registry;
    // Of a node, by its place in the cluster.
    std::function<RuntimeOptions(std::size_t place, int generation)> options;
    // Told when the process of a node has ended.
    std::function<void(const std::string& node)> ended;
    // Of every node.
    NodeWitness witness;
  };
  // Something that a node could do.
  struct Choice {
    std::size_t place = 0;
    std::size_t choice = 0;
  };

  Cluster(std::size_t nodes, int generation, std::shared_ptr<Provider> store, Code code, std::uint64_t seed,
          RunLog& log);

  [[nodiscard]] std::size_t size() const noexcept { return members_.size(); }
  [[nodiscard]] const std::string& name(std::size_t place) const { return members_[place].name; }
  [[nodiscard]] bool is_working(std::size_t place) const { return members_[place].node && !members_[place].paused; }
  [[nodiscard]] SteppedNode& node(std::size_t place) { return *members_[place].node; }
  [[nodiscard]] NodeStore& line(std::size_t place) { return *members_[place].line; }
  [[nodiscard]] int generation(std::size_t place) const { return members_[place].generation; }

  // Lets those come back whose time has come.
  void wake(Timestamp now);
  // Everything that working nodes could do now.
  [[nodiscard]] std::vector<Choice> choices();
  // When a node comes back, or wants to do something by itself; Timestamp::max(): never.
  [[nodiscard]] Timestamp next_moment() const;
  // Nobody is away, in trouble or on the way out.
  [[nodiscard]] bool is_whole() const;
  // The highest of all nodes.
  [[nodiscard]] int latest_generation() const;

  void crash(std::size_t place, Timestamp back_at);
  void pause(std::size_t place, Timestamp until);
  void cut_off(std::size_t place, Timestamp until);
  // Applies to every node, including nodes that start during the outage.
  void refuse(Refusal refusal, Timestamp until);
  void set_clock(std::size_t place, Milliseconds offset, Timestamp until);
  // Finishes what it has begun, or dies; and the next one is of the next generation.
  void upgrade(std::size_t place, bool in_good_order, Timestamp now);
  // Time has jumped: nobody could do anything meanwhile.
  void hinder_all(Timestamp until);
  // Whether something may have kept that node from its work since then. One that is gone was kept from it.
  [[nodiscard]] bool was_hindered(const std::string& id, Timestamp since) const;
  // Activities that go on here although nobody has told them to stop.
  // Of nodes that nothing has hindered since then; Timestamp::max(): of all.
  [[nodiscard]] std::vector<std::string> running_activities(Timestamp unhindered_since) const;
  // No node is left.
  void end();

 private:
  struct Member {
    std::string name;
    int generation = 0;
    std::shared_ptr<NodeStore> line;
    std::unique_ptr<SteppedNode> node;  // null: its process has ended
    Timestamp back_at{};                // of a process that has ended
    std::optional<Timestamp> paused;    // until
    std::optional<Timestamp> cut_off;
    std::optional<Timestamp> wrong_clock;
    bool leaving = false;
    Timestamp hindered = Timestamp::min();  // until
  };

  void hinder(Member& member, Timestamp until);
  void start(std::size_t place);
  void stop(Member& member);
  void say(const Member& member, Timestamp now, const std::string& text);

  std::shared_ptr<Provider> store_;
  Code code_;
  Dice dice_;
  RunLog& log_;
  std::vector<Member> members_;
  std::optional<Timestamp> refuses_until_;
  Refusal refusal_ = Refusal::kNone;
};

}  // namespace perdure::testing::simulation
