#include "cli/instance_copies.h"

#include <cstdint>
#include <set>
#include <stdexcept>
#include <utility>

#include "cli/exit_code.h"
#include "cli/instance_file.h"
#include "cli/instance_selection.h"

namespace perdure::cli {

namespace {

ProviderAdmin& admin_of(Provider& store) {
  ProviderAdmin* const admin = store.admin();
  if (admin == nullptr) throw CommandError(kStoreFailed, "the store has no admin interface");
  return *admin;
}

InstanceCopy copy_instance(Provider& store, const std::string& id) {
  ProviderAdmin& admin = admin_of(store);
  InstanceCopy copy;
  const InstanceInfo before = admin.instance_info(id).value();
  copy.info = before;
  if (!has_ended(copy.info)) {
    throw CommandError(kConflict, "instance '" + id +
                                      "' is still running and would repeat its work in a second store; wait until it "
                                      "has ended, or end it with 'perdure cancel'");
  }
  copy.custom_status = store.read_custom_status(id, 0).value().value_or(CustomStatus());
  copy.key_values = store.read_key_values(id).value();
  const std::vector<ExecutionId> executions = admin.list_executions(id).value();
  copy.executions.reserve(executions.size());
  for (const ExecutionId execution : executions) {
    copy.executions.push_back({.info = admin.execution_info(id, execution).value(),
                               .carried_forward = 0,
                               .history = admin.read_history(id, execution).value()});
  }
  const auto stats = store.read_stats(id).value();
  if (stats && !copy.executions.empty()) copy.executions.back().carried_forward = stats->carried_forward;
  // The instance ends with its last execution. PostgreSQL reads the clock for each of the two.
  if (!copy.executions.empty()) copy.info.completed_at = copy.executions.back().info.completed_at;
  // It was read in several steps.
  if (admin.instance_info(id).value() != before || check_import({&copy, 1})) {
    throw CommandError(
        kConflict,
        "instance '" + id +
            "' changed while it was read, or its history is corrupt; try again, or inspect it with 'perdure show'");
  }
  return copy;
}

// The instances of a tree, root first, and their incarnations.
std::vector<std::pair<std::string, std::uint64_t>> members_of(Provider& store, const std::string& root) {
  std::vector<std::pair<std::string, std::uint64_t>> members;
  for (const std::string& id : admin_of(store).instance_tree(root).value().ids) {
    const auto status = store.read_status(id).value();
    members.emplace_back(id, status ? status->incarnation : 0);
  }
  return members;
}

bool is_known(Provider& store, const std::vector<InstanceCopy>& tree, std::string& which) {
  for (const InstanceCopy& instance : tree) {
    if (!store.read_status(instance.info.id).value()) continue;
    which = instance.info.id;
    return true;
  }
  return false;
}

void rewind(std::istream& file) {
  file.clear();
  file.seekg(0);
}

// Throws if the store has something of it already.
void check_file(Provider& store, std::istream& file, const std::string& name, Existing existing) {
  InstanceFileReader reader(file, name);
  std::string known;
  while (const auto tree = reader.next_tree()) {
    if (existing == Existing::kRefuse && is_known(store, *tree, known)) {
      throw CommandError(
          kConflict,
          "instance '" + known + "' already exists, so nothing was imported; delete it, or pass --skip-existing");
    }
  }
}

}  // namespace

std::vector<InstanceCopy> copy_tree(Provider& store, const std::string& root) {
  const auto members = members_of(store, root);
  const InstanceInfo info = admin_of(store).instance_info(root).value();
  if (!is_root(info)) {
    throw CommandError(kConflict, "instance '" + root + "' is a sub-orchestration of '" + *info.parent +
                                      "'; export the root of its tree");
  }
  std::vector<InstanceCopy> tree;
  tree.reserve(members.size());
  for (const auto& [id, incarnation] : members) tree.push_back(copy_instance(store, id));
  // Each copy is of one incarnation, but a replacement between two copies combines members of different trees.
  if (members_of(store, root) != members) {
    throw CommandError(kConflict,
                       "the tree of instance '" + root + "' was deleted or started again while it was read; try again");
  }
  return tree;
}

void check_instance_file(std::istream& file, const std::string& name) {
  InstanceFileReader reader(file, name);
  std::set<std::string> ids;
  while (const auto tree = reader.next_tree()) {
    if (const auto error = check_import(*tree)) throw std::invalid_argument(name + ": " + error->message());
    for (const InstanceCopy& instance : *tree) {
      if (!ids.insert(instance.info.id).second) {
        throw std::invalid_argument(name + ": instance '" + instance.info.id + "' occurs twice; export again");
      }
    }
  }
  rewind(file);
}

ImportResult import_file(Provider& store, std::istream& file, const std::string& name, Existing existing) {
  auto* const target = dynamic_cast<InstanceImport*>(&store);
  if (target == nullptr) throw CommandError(kStoreFailed, "the store does not support importing instances");
  check_file(store, file, name, existing);
  rewind(file);
  InstanceFileReader reader(file, name);
  ImportResult result;
  std::string known;
  while (const auto tree = reader.next_tree()) {
    if (existing == Existing::kSkip && is_known(store, *tree, known)) {
      ++result.skipped;
      continue;
    }
    const ProviderResult<void> imported = target->import_instances(*tree);
    if (!imported && existing == Existing::kSkip && imported.error().kind() == ProviderErrorKind::kAlreadyExists) {
      ++result.skipped;  // it was started after the check
      continue;
    }
    if (!imported) {
      const ProviderError& error = imported.error();
      throw CommandError(exit_code_of(error.kind()),
                         error.message() + " (" + std::to_string(result.instances) +
                             " instances were imported before; pass --skip-existing to continue after them)");
    }
    ++result.roots;
    result.instances += tree->size();
  }
  return result;
}

}  // namespace perdure::cli
