// completion: the scripts are read by the shells that there are
#include <array>
#include <cstdio>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/program_run.h"
#include "support/temporary_folder.h"

namespace perdure::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::UnorderedElementsAre;

struct ShellRun {
  int status = -1;
  std::string out;
};

ShellRun run_shell(const std::string& command) {
  ShellRun run;
  // NOLINTNEXTLINE(cert-env33-c): a shell is what is tested
  FILE* const pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return run;
  std::array<char, 4096> part{};
  for (std::size_t size = 0; (size = std::fread(part.data(), 1, part.size(), pipe)) > 0;) {
    run.out.append(part.data(), size);
  }
  run.status = ::pclose(pipe);
  return run;
}

class Completion : public ::testing::Test {
 protected:
  [[nodiscard]] std::string script(const std::string& shell) const {
    const ProgramRun run = run_perdure({"completion", shell});
    EXPECT_EQ(run.exit_code, 0) << run.err;
    std::string path = folder_.file(shell);
    std::ofstream(path) << run.out;
    return path;
  }
  // What bash offers for the last of the words.
  [[nodiscard]] std::vector<std::string> offered(const std::vector<std::string>& words) const {
    std::string list;
    for (const std::string& word : words) list += " '" + word + "'";
    const ShellRun run =
        run_shell("bash -c 'source \"$0\"; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _perdure; " +
                  std::string("printf \"%s\\n\" \"${COMPREPLY[@]}\"' '") + script("bash") + "'" + list);
    EXPECT_EQ(run.status, 0) << run.out;
    std::vector<std::string> replies;
    std::istringstream stream(run.out);
    for (std::string line; std::getline(stream, line);) {
      if (!line.empty()) replies.push_back(line);
    }
    return replies;
  }

 private:
  TemporaryFolder folder_;
};

TEST_F(Completion, BashReadsItsScript) {
  const ShellRun run = run_shell("bash -n '" + script("bash") + "'");
  EXPECT_EQ(run.status, 0) << run.out;
}

TEST_F(Completion, BashOffersCommands) {
  EXPECT_THAT(offered({"perdure", ""}), IsSupersetOf({"status", "list", "history", "completion", "version"}));
  EXPECT_THAT(offered({"perdure", "hist"}), UnorderedElementsAre("history"));
}

TEST_F(Completion, BashOffersOptionsOfTheCommand) {
  EXPECT_THAT(offered({"perdure", "history", "--fo"}), UnorderedElementsAre("--follow", "--format"));
  const auto all = offered({"perdure", "list", "-"});
  EXPECT_THAT(all, IsSupersetOf({"--store", "--json", "--status", "--all", "--help"}));
  EXPECT_THAT(all, Each(StartsWith("-")));
}

TEST_F(Completion, BashOffersValues) {
  EXPECT_THAT(offered({"perdure", "history", "order-1", "--format", ""}),
              UnorderedElementsAre("table", "timeline", "text", "json"));
  EXPECT_THAT(offered({"perdure", "list", "--status", "c"}), UnorderedElementsAre("completed", "cancelled"));
  EXPECT_THAT(offered({"perdure", "completion", "z"}), Contains("zsh"));
  EXPECT_THAT(offered({"perdure", "list", "--limit", ""}), IsEmpty()) << "any number";
}

// No test runs these shells where they are not installed; what they are given has the same source.
TEST_F(Completion, EveryCommandIsInEveryScript) {
  const ProgramRun help = run_perdure({"--help"});
  const std::string zsh = run_perdure({"completion", "zsh"}).out;
  const std::string fish = run_perdure({"completion", "fish"}).out;
  std::istringstream lines(help.out.substr(help.out.find("Subcommands:")));
  std::size_t commands = 0;
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("  ") || line[2] == ' ') continue;
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    ++commands;
    EXPECT_THAT(zsh, AllOf(HasSubstr("    '" + name + ":"), HasSubstr("    " + name + ")\n")));
    EXPECT_THAT(fish, HasSubstr("-f -a " + name + " -d "));
  }
  EXPECT_GE(commands, 12U);
  EXPECT_THAT(zsh, HasSubstr("'--format[table; timeline\\: a bar"));
  EXPECT_THAT(zsh, HasSubstr(":value:(table timeline text json)'"));
  EXPECT_THAT(fish, HasSubstr("__fish_seen_subcommand_from history' -l format -x -a 'table timeline text json'"));
  for (const char* shell : {"zsh", "fish"}) {
    if (run_shell(std::string("command -v ") + shell).status != 0) continue;
    const ShellRun run = run_shell(std::string(shell) + " -n '" + script(shell) + "'");
    EXPECT_EQ(run.status, 0) << run.out;
  }
}

TEST_F(Completion, AsJson) {
  const auto document = run_perdure({"completion", "bash", "--json"}).json();
  EXPECT_EQ(document["shell"], "bash");
  EXPECT_THAT(document["script"].get<std::string>(), HasSubstr("complete -o default -F _perdure perdure"));
}

TEST_F(Completion, ForAnotherShellThereIsNone) {
  const ProgramRun run = run_perdure({"completion", "tcsh"});
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_THAT(run.err, HasSubstr("tcsh"));
  EXPECT_EQ(run_perdure({"completion"}).exit_code, 2);
  EXPECT_THAT(run.out, Not(HasSubstr("complete")));
}

}  // namespace
}  // namespace perdure::test
