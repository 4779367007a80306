// list
#include <cstddef>
#include <memory>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <perdure/client.h>
#include "cli/commands.h"
#include "cli/filter_options.h"
#include "cli/instance_views.h"

namespace perdure::cli {

namespace {

struct ListArguments {
  FilterOptions filter;
  std::size_t limit = 100;
  std::string cursor;
  bool all = false;
  bool ids = false;
};

class InstanceListing {
 public:
  InstanceListing(const Context& context, bool ids) : context_(context), ids_(ids) {}

  void add(const InstancePage& page) {
    for (const InstanceInfo& info : page.instances) {
      if (context_.json) {
        instances_.push_back(instance_json(info));
      } else if (ids_) {
        context_.out << info.id << '\n';  // as it is: the next program reads it
      } else {
        table_.add({name_text(info.id), name_text(info.name), version_text(info.version),
                    status_text(context_, info.status), std::to_string(info.execution_id), time_text(info.created_at),
                    time_text(info.updated_at)});
      }
    }
  }
  void end(const std::string& next) {
    if (context_.json) {
      print_json(context_,
                 {{"instances", instances_}, {"next", next.empty() ? nlohmann::json() : nlohmann::json(next)}});
      return;
    }
    if (!ids_) {
      if (table_.empty()) {
        context_.err << "no instance matches\n";
      } else {
        table_.print(context_);
      }
    }
    if (!next.empty())
      context_.err << "more instances match; use --cursor '" << next << "' for the next page, or --all for all pages\n";
  }

 private:
  const Context& context_;
  bool ids_;
  nlohmann::json instances_ = nlohmann::json::array();
  Table table_{{"INSTANCE", "ORCHESTRATION", "VERSION", "STATUS", "EXECUTION", "CREATED", "UPDATED"}};
};

int list_instances(const Context& context, const ListArguments& arguments) {
  const auto store = context.open_to_read();
  const Client client(store);
  InstanceQuery query{
      .filter = filter_of(arguments.filter, store->now()), .limit = arguments.limit, .cursor = arguments.cursor};
  InstanceListing listing(context, arguments.ids);
  do {
    InstancePage page = client.list_instances(query);
    listing.add(page);
    query.cursor = std::move(page.next);
  } while (arguments.all && !query.cursor.empty());
  listing.end(query.cursor);
  return kSuccess;
}

}  // namespace

void add_list_command(CLI::App& program, Context& context) {
  const auto arguments = std::make_shared<ListArguments>();
  CLI::App& command = add_store_command(program, context, "list", "List instances, newest first",
                                        [&context, arguments] { return list_instances(context, *arguments); });
  add_filter_options(command, arguments->filter);
  command.add_option("--limit", arguments->limit, "Number of instances per page")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  command.add_option("--cursor", arguments->cursor, "Continue after the page that returned CURSOR");
  command.add_flag("--all", arguments->all, "Print all pages");
  command.add_flag("--ids", arguments->ids, "Print only the ids, one per line");
}

}  // namespace perdure::cli
