// Runs the program `perdure` inside the test, on a store that a runtime has filled.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <perdure/client.h>
#include <perdure/provider.h>
#include <perdure/registry.h>
#include <perdure/runtime.h>
#include "support/temporary_folder.h"

namespace perdure::test {

struct ProgramRun {
  int exit_code = 0;
  std::string out;
  std::string err;
  // Of what it printed. Fails the test if that is not one JSON document.
  [[nodiscard]] nlohmann::json json() const;
};

// `arguments` without the program's name. `terminal`: as if the output were one that shows colours.
[[nodiscard]] ProgramRun run_perdure(const std::vector<std::string>& arguments, bool terminal = false);

// A SQLite file of its own, in a folder that goes with the object.
class SqliteFile {
 public:
  SqliteFile();
  [[nodiscard]] const std::string& argument() const noexcept { return argument_; }  // for --store
  [[nodiscard]] const std::shared_ptr<Provider>& provider() const noexcept { return provider_; }
  // With --store added.
  [[nodiscard]] ProgramRun run(std::vector<std::string> arguments, bool terminal = false) const;

 private:
  TemporaryFolder folder_;
  std::string argument_;
  std::shared_ptr<Provider> provider_;
};

// The workflows that the instances below are of, and the activities that they use.
[[nodiscard]] Registry sample_registry();

// Runs a runtime until the store has one instance of each kind:
//   order-1   Order      Completed; activity, custom status, values "stage" and "total"
//   order-2   Order      Failed, as its activity did
//   waiting   Approval   Running; waits for the event "approved" or for a day; custom status "waiting for approval"
//   cancelled, terminated   Approval
//   rounds    Rounds     Completed in its third execution
//   family    Family     Completed, with the children family-a and family-b, and family-b's child family-b-1
//   foreign   Unknown    Pending: a queued start that no code is registered for
void fill_with_samples(const std::shared_ptr<Provider>& store);
// Filled so, once in the process. For tests that only look.
[[nodiscard]] const SqliteFile& sample_store();

}  // namespace perdure::test
