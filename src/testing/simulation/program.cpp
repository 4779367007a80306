#include "testing/simulation/program.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace perdure::testing::simulation {

namespace {

constexpr std::array<std::string_view, kOps> kOpNames = {
    "activity",
    "tagged activity",
    "session activities",
    "flaky activity",
    "given up activity",
    "hopeless activity",
    "timed out activity",
    "silent activity",
    "unserved activity",
    "dropped completion",
    "progress",
    "async activity",
    "caught failure",
    "dropped activity",
    "detached activity",
    "timer",
    "racing signal",
    "signal from activity",
    "signal from client",
    "queue",
    "queue from activity",
    "child",
    "named child",
    "dropped child",
    "detached child",
    "detached start",
    "foreign key",
    "select fixed",
    "select race",
    "select many",
    "join many",
    "join pack",
    "join tasks",
    "task",
    "throwing task",
    "set key",
    "clear key",
    "clear keys",
    "read key",
    "status",
    "reset status",
    "guid",
    "time",
    "trace",
    "saga",
    "unknown timed activity",
    "retired activity",
    "unknown activity",
    "unknown child",
    "shared child",
    "dropped unknown activity",
    "dropped unknown child",
    "diverging child",
};

Op op_of(const std::string& name) {
  const auto* found = std::find(kOpNames.begin(), kOpNames.end(), name);
  if (found == kOpNames.end()) throw std::invalid_argument("no operation is called '" + name + "'");
  return static_cast<Op>(found - kOpNames.begin());
}

nlohmann::json to_json(const Program& program);

nlohmann::json to_json(const Block& block) {
  nlohmann::json steps = nlohmann::json::array();
  for (const Step& step : block) {
    nlohmann::json each = nlohmann::json::object();
    each["op"] = to_string(step.op);
    each["id"] = step.id;
    if (step.number != 0) each["number"] = step.number;
    if (!step.key.empty()) each["key"] = step.key;
    if (step.last) each["last"] = true;
    for (const Block& inner : step.blocks) each["blocks"].push_back(to_json(inner));
    for (const Program& other : step.programs) each["programs"].push_back(to_json(other));
    steps.push_back(std::move(each));
  }
  return steps;
}

nlohmann::json to_json(const Program& program) {
  nlohmann::json json = nlohmann::json::object();
  json["path"] = program.path;
  if (!program.id.empty()) json["id"] = program.id;
  if (program.version) json["version"] = *program.version;
  json["sections"] = nlohmann::json::array();
  for (const Block& section : program.sections) json["sections"].push_back(to_json(section));
  json["ending"] = static_cast<int>(program.ending);
  return json;
}

Program program_from(const nlohmann::json& json);

Block block_from(const nlohmann::json& json) {
  Block block;
  for (const auto& each : json) {
    Step step;
    step.op = op_of(each.at("op").get<std::string>());
    step.id = each.at("id").get<std::string>();
    step.number = each.value("number", std::uint64_t{0});
    step.key = each.value("key", std::string());
    step.last = each.value("last", false);
    if (each.contains("blocks")) {
      for (const auto& inner : each.at("blocks")) step.blocks.push_back(block_from(inner));
    }
    if (each.contains("programs")) {
      for (const auto& other : each.at("programs")) step.programs.push_back(program_from(other));
    }
    block.push_back(std::move(step));
  }
  return block;
}

Program program_from(const nlohmann::json& json) {
  Program program;
  program.path = json.at("path").get<std::string>();
  program.id = json.value("id", std::string());
  if (json.contains("version")) program.version = json.at("version").get<std::string>();
  for (const auto& section : json.at("sections")) program.sections.push_back(block_from(section));
  program.ending = static_cast<Ending>(json.at("ending").get<int>());
  return program;
}

}  // namespace

std::string_view to_string(Op op) noexcept {
  return kOpNames.at(static_cast<std::size_t>(op));
}

std::string token(const Program& program, const Step& step) {
  return program.path + "/" + step.id;
}

std::string instance_id_of(const Program& program) {
  return program.id.empty() ? program.path : program.id;
}

std::string failure_of(const Program& program) {
  return program.path + " fails as it should";
}

std::string message_name(const Program& program, std::size_t number) {
  return program.path + ":m" + std::to_string(number);
}

Sharing sharing_of(const Step& step) {
  return static_cast<Sharing>(step.number % kSharings);
}

std::string encode_assignment(const Assignment& assignment) {
  nlohmann::json json = nlohmann::json::object();
  json["program"] = to_json(assignment.program);
  json["section"] = assignment.state.section;
  json["values"] = assignment.state.values;
  json["messages"] = assignment.state.messages;
  json["versions"] = assignment.state.versions;
  return json.dump();
}

Assignment decode_assignment(const std::string& text) {
  const auto json = nlohmann::json::parse(text);
  Assignment assignment;
  assignment.program = program_from(json.at("program"));
  assignment.state.section = json.at("section").get<std::size_t>();
  assignment.state.values = json.at("values");
  assignment.state.messages = json.at("messages").get<std::set<std::string>>();
  assignment.state.versions = json.at("versions").get<std::vector<std::string>>();
  return assignment;
}

}  // namespace perdure::testing::simulation
