// export, import
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <set>
#include <stdexcept>
#include <system_error>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <perdure/client.h>
#include "cli/commands.h"
#include "cli/instance_copies.h"
#include "cli/instance_file.h"
#include "cli/instance_selection.h"
#include "cli/instance_views.h"
#include "cli/interrupt.h"
#include "cli/output_file.h"
#include "cli/temporary_directory.h"

namespace perdure::cli {

namespace {

struct ExportArguments {
  Selection selection;
  std::string file = "-";
};

struct ExportResult {
  std::uint64_t instances = 0;
  std::uint64_t roots = 0;
  std::uint64_t running = 0;  // trees that were left out
  bool on_output = false;     // the instances went to the standard output
};

ExportResult write_export(Provider& store, const std::vector<std::string>& roots, std::ostream& out,
                          const std::function<void()>& before_each) {
  ExportResult result;
  InstanceFileWriter writer(out);
  for (const std::string& root : roots) {
    before_each();
    writer.write_tree(copy_tree(store, root));
    ++result.roots;
  }
  writer.finish();
  result.instances = writer.instances();
  return result;
}

ExportResult write_export_file(const Context& context, Provider& store, const std::vector<std::string>& roots,
                               const std::string& path) {
  const Interrupt interrupt;  // until the temporary file is gone
  OutputFile file("-o", path, &interrupt.requested());
  const bool on_output = file.is_descriptor(STDOUT_FILENO);
  if (context.json && on_output) {
    throw CommandError(kUsage,
                       "-o: '" + path + "' is standard output, which carries the result with --json; name a file");
  }
  ExportResult result = write_export(store, roots, file.stream(), [&] {
    interrupt.throw_if_requested();
    file.check_written();
  });
  interrupt.throw_if_requested();
  file.finish();
  result.on_output = on_output;
  return result;
}

void tell_export(const Context& context, const ExportResult& result, const std::string& file) {
  if (context.json) {
    const nlohmann::json document{
        {"file", file}, {"instances", result.instances}, {"roots", result.roots}, {"left_out_running", result.running}};
    print_json(context, document);
    return;
  }
  std::ostream& told = result.on_output ? context.err : context.out;
  told << "exported " << result.instances << " instances";
  if (file != "-") told << " to " << name_text(file);
  if (result.running > 0)
    told << "; " << result.running << " were skipped because they or their children are still running";
  told << '\n';
}

int run_export(const Context& context, const ExportArguments& arguments) {
  if (context.json && arguments.file == "-") {
    throw std::invalid_argument("--json requires -o FILE, because standard output carries the exported instances");
  }
  Selection selection = arguments.selection;
  if (!selection.is_named() && selection.filters.empty()) selection.all = true;
  check_selection(selection, "export");
  const std::shared_ptr<Provider> store = context.open_to_read();
  const Client client(store);
  std::vector<std::string> roots;
  std::set<std::string> named;
  std::copy_if(selection.ids.begin(), selection.ids.end(), std::back_inserter(roots),
               [&named](const std::string& id) { return named.insert(id).second; });
  std::uint64_t running = 0;
  if (!selection.is_named()) {
    roots = matching_ids(client, filter_of(selection.filters, store->now()), [&](const InstanceInfo& info) {
      if (!is_root(info)) return false;
      if (has_ended(info) && tree_has_ended(client, info.id)) return true;
      ++running;
      return false;
    });
  }
  ExportResult result = arguments.file == "-" ? write_export(*store, roots, context.out, [] {})
                                              : write_export_file(context, *store, roots, arguments.file);
  result.running = running;
  if (arguments.file == "-") {
    result.on_output = true;
    if (!context.out.flush()) return kSuccess;  // which run_program turns into an error
  }
  tell_export(context, result, arguments.file);
  return kSuccess;
}

struct ImportArguments {
  std::string file;
  bool skip_existing = false;
  bool create = false;
};

// The file is read twice, so what comes through a pipe is kept in one.
class SpooledInput {
 public:
  SpooledInput(const Context& context, const std::string& name) {
    if (name == "-") {
      if (context.in == nullptr) throw CommandError(kUsage, "import: standard input is not available");
      keep(*context.in);
      return;
    }
    std::ifstream source(name, std::ios::binary);
    if (!source || std::filesystem::is_directory(name)) {
      throw CommandError(kUsage, "cannot read the file '" + name + "'");
    }
    std::error_code error;
    if (std::filesystem::is_regular_file(name, error)) {
      file_.open(name, std::ios::binary | std::ios::in);
    } else {
      keep(source);
    }
  }
  [[nodiscard]] std::istream& stream() noexcept { return file_; }

 private:
  void keep(std::istream& source) {
    std::string path = (temporary_directory() / "perdure-import-XXXXXX").string();
    const int handle = ::mkstemp(path.data());
    if (handle < 0) throw std::system_error(errno, std::generic_category(), "cannot create a temporary file: " + path);
    ::close(handle);
    file_.open(path, std::ios::binary | std::ios::in | std::ios::out);
    std::filesystem::remove(path);  // it lives as long as it is open
    if (source.peek() != std::istream::traits_type::eof()) file_ << source.rdbuf();
    file_.flush();
    if (!file_) throw std::runtime_error("cannot write the temporary copy of the import file; is the disk full?");
    file_.seekg(0);
  }

  std::fstream file_;
};

int run_import(const Context& context, const ImportArguments& arguments) {
  SpooledInput input(context, arguments.file);
  const std::string name = arguments.file == "-" ? "standard input" : arguments.file;
  check_instance_file(input.stream(), name);  // before a store is made for it
  OpenOptions open;
  open.create = arguments.create;
  const std::shared_ptr<Provider> store = context.open(open);
  const ImportResult result =
      import_file(*store, input.stream(), name, arguments.skip_existing ? Existing::kSkip : Existing::kRefuse);
  if (context.json) {
    const nlohmann::json document{
        {"instances", result.instances}, {"roots", result.roots}, {"skipped_roots", result.skipped}};
    print_json(context, document);
    return kSuccess;
  }
  context.out << "imported " << result.instances << " instances";
  if (result.skipped > 0) context.out << "; " << result.skipped << " already existed and were skipped";
  context.out << '\n';
  return kSuccess;
}

}  // namespace

void add_transfer_commands(CLI::App& program, Context& context) {
  const auto exported = std::make_shared<ExportArguments>();
  CLI::App& export_command = add_store_command(
      program, context, "export", "Export ended instances with their children, histories and values to a file",
      [&context, exported] { return run_export(context, *exported); });
  add_selection_options(export_command, exported->selection);
  export_command.add_option("-o,--output", exported->file, "Output file, or - for standard output")
      ->capture_default_str();

  const auto imported = std::make_shared<ImportArguments>();
  CLI::App& import_command = add_store_command(
      program, context, "import", "Import instances written by 'perdure export', also from another kind of store",
      [&context, imported] { return run_import(context, *imported); });
  import_command.add_option("file", imported->file, "Input file, or - for standard input")->required();
  import_command.add_flag("--skip-existing", imported->skip_existing, "Skip instances that already exist");
  import_command.add_flag("--create", imported->create, "Create the SQLite file if it does not exist");
}

}  // namespace perdure::cli
