// Streams, files and values that a command may meet: each has an exit status and a message, none harms a store.
#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <perdure/limits.h>
#include "cli/exit_code.h"
#include "cli/program_run.h"
#include "cli/script_run.h"
#include "cli/text.h"
#include "support/temporary_folder.h"

namespace perdure::test {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

class World : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(on_store("start first Order --create").exit_code, 0); }

  // The arguments and redirections are the shell's; the store is added in front of them.
  [[nodiscard]] ProcessRun on_store(const std::string& words, const std::string& before = {}) const {
    const std::size_t command = words.find(' ');
    return run_script(before + " \"$PERDURE\" " + words.substr(0, command) + " --store 'sqlite:" + store_ + "'" +
                      (command == std::string::npos ? "" : words.substr(command)));
  }
  [[nodiscard]] static std::size_t files_in(const std::string& directory) {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(directory), {}));
  }

  TemporaryFolder folder_;
  std::string store_ = folder_.file("store.db");
};

// ---- streams ----

TEST_F(World, AFullDeviceIsNoSuccess) {
  for (const char* command : {"status first", "queues", "metrics --prometheus", "export first -o -", "stuck --json"}) {
    EXPECT_NE(on_store(std::string(command) + " >/dev/full").exit_code, 0) << command;
  }
  for (const char* command : {"version", "--version", "--help", "list --help", "--help-all", "completion zsh"}) {
    const ProcessRun run = run_script("\"$PERDURE\" " + std::string(command) + " >/dev/full");
    EXPECT_EQ(run.exit_code, cli::kNegative) << command;
    EXPECT_THAT(run.err, HasSubstr("standard output cannot be written")) << command;
  }
}

TEST_F(World, AClosedOutputIsNoSuccess) {
  const ProcessRun closed = on_store("status first >&-");
  EXPECT_EQ(closed.exit_code, cli::kNegative);
  EXPECT_THAT(closed.err, HasSubstr("standard output cannot be written"));
  EXPECT_EQ(on_store("status nosuch >&- 2>&-").exit_code, cli::kNotFound) << "the error counts, also unheard";
  EXPECT_EQ(on_store("status first 2>/dev/full").exit_code, 0) << "nothing is said there";
}

// The number of a closed stream is free, and what is opened next would get it and what is printed.
TEST_F(World, AClosedStreamIsNotTakenForAFile) {
  const std::string file = folder_.file("exported");
  const std::string sample = "--store '" + sample_store().argument() + "'";
  const ProcessRun run = run_script("\"$PERDURE\" export order-1 -o '" + file + "' " + sample + " <&- >&- 2>&-");
  EXPECT_EQ(file_text(file), sample_store().run({"export", "order-1"}).out) << run.exit_code;
  EXPECT_NE(on_store("status first <&- >&- 2>&-").exit_code, 0);
  EXPECT_EQ(on_store("status first").exit_code, 0) << "the store is as it was";
}

TEST_F(World, AReaderThatHasGoneEndsTheCommand) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);  // NOLINT(android-cloexec-pipe): the shell gets it
  ::close(ends[0]);
  const std::string to_pipe = " >&" + std::to_string(ends[1]);
  EXPECT_EQ(on_store("status first" + to_pipe).exit_code, 128 + SIGPIPE) << "as any filter";
  const ProcessRun ignored = on_store("status first" + to_pipe, "trap '' PIPE;");
  EXPECT_EQ(ignored.exit_code, cli::kNegative);
  EXPECT_THAT(ignored.err, HasSubstr("standard output cannot be written"));
  ::close(ends[1]);
}

TEST_F(World, AnInputThatIsClosedIsSaid) {
  for (const char* command : {"start new Order --input -", "raise first event --data -", "import -"}) {
    const ProcessRun run = on_store(std::string(command) + " <&-");
    EXPECT_EQ(run.exit_code, cli::kUsage) << command;
    EXPECT_THAT(run.err, HasSubstr("standard input is not available")) << command;
  }
  EXPECT_EQ(on_store("start new Order --input - </").exit_code, cli::kUsage) << "a directory";
  EXPECT_EQ(on_store("status new").exit_code, cli::kNotFound);
}

TEST_F(World, ALocaleChangesNothing) {
  const std::string expected = on_store("status first").out;
  for (const char* locale : {"nonsense", "tr_TR.UTF-8", "C", "POSIX", "de_DE.ISO-8859-1"}) {
    const ProcessRun run = on_store("status first", "LC_ALL=" + std::string(locale) + " LANG=" + locale);
    EXPECT_EQ(run.exit_code, 0) << locale;
    EXPECT_EQ(run.out, expected) << locale;
    EXPECT_EQ(run.err, "") << locale;
  }
}

TEST_F(World, ATemporaryDirectoryThatIsNotThereIsSaid) {
  for (const char* command : {"\"$PERDURE\" bench noop", "\"$PERDURE\" import - --store sqlite:/dev/null </dev/null"}) {
    const ProcessRun run = run_script("TMPDIR=/nowhere " + std::string(command));
    EXPECT_EQ(run.exit_code, cli::kUsage) << command;
    EXPECT_THAT(run.err, HasSubstr("set TMPDIR to one that exists")) << command;
  }
}

// ---- ids and values ----

TEST_F(World, AnIdMayBeginWithADash) {
  EXPECT_EQ(on_store("start -- -dash Order").exit_code, 0);
  EXPECT_THAT(on_store("status -- -dash").out, HasSubstr("-dash  Pending"));
  EXPECT_THAT(on_store("show -- --json").err, HasSubstr("there is no instance '--json'"));
  EXPECT_EQ(on_store("cancel -- -dash").exit_code, 0);
}

TEST_F(World, ALongIdIsRefusedInAShortMessage) {
  const std::string id(100'000, 'x');
  for (const char* command : {"status", "show", "history", "tree", "kv", "cancel"}) {
    const ProgramRun run = sample_store().run({command, id});
    EXPECT_EQ(run.exit_code, cli::kUsage) << command;
    EXPECT_LT(run.err.size(), 300U) << command;
  }
  const ProgramRun key = sample_store().run({"kv", "order-1", id});
  EXPECT_EQ(key.exit_code, cli::kNotFound);
  EXPECT_LT(key.err.size(), 300U);
}

TEST_F(World, APayloadFileMustBeReadable) {
  for (const char* file : {"@/", "@/nowhere", "@/proc/self/mem", "@"}) {
    const ProcessRun run = on_store("start new Order --input " + std::string(file));
    EXPECT_EQ(run.exit_code, cli::kUsage) << file;
    EXPECT_THAT(run.err, AnyOf(HasSubstr("--input: cannot read the file"), HasSubstr("--input: reading the file")))
        << file;
  }
  EXPECT_EQ(on_store("status new").exit_code, cli::kNotFound);
}

TEST_F(World, APayloadWithoutEndIsRefused) {
  for (const char* input : {"@/dev/zero", "@/dev/zero --raw", "- </dev/zero"}) {
    const ProcessRun run = on_store("start new Order --input " + std::string(input), "ulimit -v 1000000;");
    EXPECT_EQ(run.exit_code, cli::kUsage) << input;
    EXPECT_THAT(run.err, HasSubstr("has more than 16777216 bytes (max_payload_bytes)")) << input;
  }
}

// Printing JSON recurses, so a payload could end the program.
TEST_F(World, AValueMayBeNestedAsDeepAsItLikes) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  EXPECT_TRUE(cli::payload_json(deep).is_string());
  EXPECT_THAT(cli::payload_text(deep, 20), HasSubstr("..."));
  EXPECT_EQ(cli::payload_json("[\"\\\"" + std::string(2'000, '[') + "\"]").size(), 1U) << "brackets of a text";
  EXPECT_TRUE(cli::payload_json(std::string(900, '[') + std::string(900, ']')).is_array());
}

TEST_F(World, NumbersAndDurationsOutOfRangeAreRefused) {
  const std::vector<std::vector<std::string>> refused{{"wait", "order-1", "--timeout", "-1s"},
                                                      {"wait", "order-1", "--timeout=-0s"},
                                                      {"wait", "order-1", "--timeout", "99999999999999999999s"},
                                                      {"wait", "order-1", "--timeout", "9223372036854775807ms"},
                                                      {"wait", "order-1", "--timeout", "1e9s"},
                                                      {"wait", "order-1", "--timeout", ""},
                                                      {"wait", "order-1", "--status-change", "18446744073709551616"},
                                                      {"list", "--limit", "18446744073709551617"},
                                                      {"list", "--limit", "1.5"},
                                                      {"stuck", "--limit", "18446744073709551615"},
                                                      {"delete", "--all", "--limit", "-0.5"},
                                                      {"history", "order-1", "--execution", "-1"},
                                                      {"queues", "--activities", "--limit", "nan"}};
  for (const auto& arguments : refused) {
    EXPECT_EQ(sample_store().run(arguments).exit_code, cli::kUsage) << arguments.back();
  }
  for (const char* number : {"9223372036854775808", "18446744073709551615"}) {
    EXPECT_EQ(sample_store().run({"history", "order-1", "--execution", number}).exit_code, cli::kNotFound);
  }
  for (const char* seconds : {"nan", "inf", "-1", "1e308", "0"}) {
    EXPECT_EQ(run_perdure({"bench", "noop", "--seconds", seconds}).exit_code, cli::kUsage) << seconds;
  }
}

TEST_F(World, TimesEndWithTheCalendar) {
  const auto ids_after = [](const std::string& time) {
    return sample_store().run({"list", "--ids", "--created-after=" + time});
  };
  EXPECT_THAT(ids_after("0000-01-01").out, HasSubstr("order-1"));
  EXPECT_THAT(ids_after("0000-01-01T00:00:00+14:00").out, HasSubstr("order-1")) << "before the year 0";
  EXPECT_EQ(ids_after("9999-12-31T23:59:59.999Z").out, "");
  EXPECT_EQ(ids_after("9999-12-31T23:59:59.999-14:00").exit_code, 0) << "after the year 9999";
  for (const char* time : {"10000-01-01", "-0001-01-01", "2026-02-30", "2026-13-01", "2026-06-30T23:59:60Z",
                           "2026-01-01T24:00:01Z", "99999999w", "106751991168d", "2147483648", "1d-1h"}) {
    EXPECT_EQ(ids_after(time).exit_code, cli::kUsage) << time;
  }
}

// ---- stores ----

TEST_F(World, AStoreIsARegularFile) {
  const std::string fifo = folder_.file("fifo");
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const std::size_t files = files_in(folder_.path());
  for (const std::string& path : {folder_.path().string(), std::string("/dev/null"), std::string("/dev/full"), fifo}) {
    for (const char* command : {"list", "start new Order --create"}) {
      const ProcessRun run = run_script("\"$PERDURE\" " + std::string(command) + " --store 'sqlite:" + path + "'");
      EXPECT_EQ(run.exit_code, cli::kStoreFailed) << path;
      EXPECT_THAT(run.err, AllOf(HasSubstr(path), HasSubstr("; name the file of a store"))) << path;
    }
  }
  EXPECT_EQ(files_in(folder_.path()), files);
}

TEST_F(World, AFileThatIsNoStoreStaysAsItIs) {
  const std::string path = folder_.file("file");
  for (const std::string& content : {std::string(), std::string("a text\n"), std::string(100'000, '\0')}) {
    std::ofstream(path, std::ios::trunc) << content;
    const std::size_t files = files_in(folder_.path());
    for (const char* command : {"list", "start new Order"}) {
      const ProcessRun run = run_script("\"$PERDURE\" " + std::string(command) + " --store 'sqlite:" + path + "'");
      EXPECT_EQ(run.exit_code, cli::kStoreFailed) << content.size() << run.err;
      EXPECT_THAT(run.err, HasSubstr(path));
    }
    EXPECT_EQ(file_text(path), content);
    EXPECT_EQ(files_in(folder_.path()), files);
  }
  std::ofstream(path, std::ios::trunc).close();
  EXPECT_EQ(run_script("\"$PERDURE\" start new Order --create --store 'sqlite:" + path + "'").exit_code, 0)
      << "an empty file that a user made for it";
}

TEST_F(World, AStoreBehindAMissingDirectoryIsNotMade) {
  for (const char* path : {"no/such/store.db", "store.db/store.db"}) {
    for (const char* command : {"list", "start new Order --create"}) {
      const ProcessRun run =
          run_script("\"$PERDURE\" " + std::string(command) + " --store 'sqlite:" + folder_.file(path) + "'");
      EXPECT_EQ(run.exit_code, cli::kStoreFailed) << path << run.err;
      EXPECT_THAT(run.err, HasSubstr(folder_.file(path)));
    }
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.file("no")));
}

// As a user without rights. A command either works or says which file it cannot use; nothing new is there afterwards.
TEST_F(World, MissingRightsAreSaid) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  const std::string other = "setpriv --reuid=65534 --regid=65534 --clear-groups";
  if (run_script(other + " \"$PERDURE\" version").exit_code != 0) GTEST_SKIP() << "another user cannot run the program";
  const std::string closed = folder_.file("closed");
  std::filesystem::create_directory(closed);
  std::filesystem::copy_file(store_, closed + "/store.db");
  ASSERT_EQ(::chmod(folder_.path().c_str(), 0755), 0);
  ASSERT_EQ(::chmod(closed.c_str(), 0700), 0);
  const ProcessRun unreachable = run_script(other + " \"$PERDURE\" list --store 'sqlite:" + closed + "/store.db'");
  EXPECT_EQ(unreachable.exit_code, cli::kStoreFailed);
  EXPECT_THAT(unreachable.err, HasSubstr("cannot be reached: Permission denied; check the permissions on its path"));
  const std::size_t files = files_in(folder_.path());
  for (const mode_t mode : {0000U, 0444U}) {
    ASSERT_EQ(::chmod(store_.c_str(), mode), 0);
    for (const char* command : {"list", "status first", "history first"}) {
      const ProcessRun run = on_store(command, other);
      EXPECT_THAT(run.exit_code, AnyOf(0, cli::kStoreFailed)) << command;
      EXPECT_TRUE(run.exit_code == 0 || run.err.find(store_) != std::string::npos) << command << run.err;
    }
    EXPECT_EQ(on_store("start new Order", other).exit_code, cli::kStoreFailed);
  }
  EXPECT_EQ(files_in(folder_.path()), files);
  ASSERT_EQ(::chmod(store_.c_str(), 0644), 0);
  EXPECT_EQ(on_store("status new").exit_code, cli::kNotFound);
}

// ---- questions ----

// `script` is a terminal. Ctrl-C and the end of the input are not a yes.
TEST_F(World, AnUnansweredQuestionDeletesNothing) {
  const SqliteFile store;
  fill_with_samples(store.provider());
  const std::string before = store.run({"list", "--ids"}).out;
  for (const char* keys : {"\\003", "\\004", "n\\n", "\\n"}) {
    const ProcessRun run =
        run_script("printf '" + std::string(keys) + "' | script -qec \"$PERDURE delete --all --store " +
                   store.argument() + "\" /dev/null");
    EXPECT_NE(run.exit_code, 0) << keys << run.out << run.err;
    EXPECT_EQ(store.run({"list", "--ids"}).out, before) << keys << run.out;
  }
}

}  // namespace
}  // namespace perdure::test
