// Signals that end a command: what it has made goes with it.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <perdure/postgres_provider.h>
#include "cli/exit_code.h"
#include "cli/program_run.h"
#include "cli/script_run.h"
#include "support/child_process.h"
#include "support/eventually.h"
#include "support/postgres_session.h"
#include "support/postgres_shared.h"
#include "support/temporary_folder.h"

namespace perdure::test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kValidationSchemas = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'perdure_validate_%'";
constexpr const char* kTortureSchemas = "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'torture_%'";

// A command that runs until a signal comes, which is sent twice: a terminal that closes does so.
// Whether the process has a handler for the signal.
bool catches(pid_t process, int signal) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string word; status >> word;) {
    if (word != "SigCgt:" || !(status >> word)) continue;
    return ((std::stoull(word, nullptr, 16) >> static_cast<unsigned>(signal - 1)) & 1U) != 0;
  }
  return false;
}

class Signals : public ::testing::Test {
 protected:
  // Starts the command, waits until `began`, sends the signal, calls `after` and returns the exit status.
  int end_by(
      int signal, std::vector<std::string> arguments, const std::function<bool()>& began,
      const std::function<void()>& after = [] {}) {
    arguments.insert(arguments.begin(), program_path());
    ChildProcess command(arguments, folder_.file("errors"), {"TMPDIR=" + folder_.file("tmp")});
    EXPECT_TRUE(eventually(began)) << file_text(folder_.file("errors"));
    command.send(signal);
    if (signal != SIGINT) command.send(signal);
    after();
    const int status = command.end();
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  // The exit status of a command that must end by itself; -1 if it does not.
  static int exit_code_of(ChildProcess& command) {
    if (!command.ended_within(kPatience)) {
      command.kill();
      return -1;
    }
    return WIFEXITED(command.wait_status()) ? WEXITSTATUS(command.wait_status()) : -1;
  }
  [[nodiscard]] std::string errors() const { return file_text(folder_.file("errors")); }
  [[nodiscard]] bool is_empty(const std::string& directory) const {
    return std::filesystem::is_empty(folder_.file(directory));
  }
  void SetUp() override {
    // A test that runs in the background ignores some, and its children would too.
    for (const int signal : {SIGHUP, SIGINT, SIGTERM, SIGPIPE}) (void)std::signal(signal, SIG_DFL);
    std::filesystem::create_directory(folder_.file("tmp"));
    std::filesystem::create_directory(folder_.file("stores"));
  }

  TemporaryFolder folder_;
};

TEST_F(Signals, ValidateRemovesItsFiles) {
  for (const int signal : {SIGHUP, SIGTERM, SIGINT, SIGPIPE}) {
    const int exit_code = end_by(signal, {"validate", "--store", "sqlite:" + folder_.file("stores/s.db")},
                                 [&] { return !is_empty("stores"); });
    EXPECT_EQ(exit_code, cli::kNegative) << signal;
    EXPECT_TRUE(is_empty("stores")) << signal;
    EXPECT_THAT(errors(), HasSubstr("interrupted; the run was discarded"));
  }
}

TEST_F(Signals, ValidateDropsItsSchemasOnPostgres) {
  PostgresSession session(shared_postgres_url());
  for (const int signal : {SIGHUP, SIGTERM}) {
    const int exit_code = end_by(signal, {"validate", "--store", shared_postgres_url()},
                                 [&] { return session.value(kValidationSchemas) != "0"; });
    EXPECT_EQ(exit_code, cli::kNegative) << signal;
    EXPECT_EQ(session.value(kValidationSchemas), "0") << signal;
  }
}

// The reading of the history waits for a lock, so the signal comes while the file is written.
TEST_F(Signals, ExportRemovesItsTemporaryFileOnPostgres) {
  const std::string schema = "cli_export_" + std::to_string(::getpid());
  PostgresOptions options;
  options.schema = schema;
  fill_with_samples(PostgresProvider::connect(shared_postgres_url(), options));
  std::ofstream(folder_.file("stores/file")) << "old";
  PostgresSession session(shared_postgres_url());
  session.execute("BEGIN; LOCK TABLE " + schema + ".history IN ACCESS EXCLUSIVE MODE");
  const auto files = [&] { return std::distance(std::filesystem::directory_iterator(folder_.file("stores")), {}); };
  const int exit_code = end_by(
      SIGHUP,
      {"export", "order-1", "-o", folder_.file("stores/file"), "--store", shared_postgres_url(), "--schema", schema},
      [&] { return files() == 2; }, [&] { session.execute("ROLLBACK"); });
  EXPECT_EQ(exit_code, cli::kNegative) << errors();
  EXPECT_EQ(files(), 1);
  EXPECT_EQ(file_text(folder_.file("stores/file")), "old");
  const ProgramRun all =
      run_perdure({"export", "-o", folder_.file("stores/file"), "--store", shared_postgres_url(), "--schema", schema});
  EXPECT_THAT(all.out, HasSubstr("exported 9 instances")) << all.err;
  session.execute("DROP SCHEMA " + schema + " CASCADE");
}

// The signal comes once the command catches it, while it waits for a reader of the pipe.
TEST_F(Signals, ExportEndsWhileItsPipeHasNoReader) {
  const std::string pipe = folder_.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const std::string store = sample_store().argument();
  for (const int signal : {SIGTERM, SIGHUP, SIGINT}) {
    ChildProcess command({program_path(), "export", "-o", pipe, "--store", store}, folder_.file("errors"));
    EXPECT_TRUE(eventually([&] { return catches(command.id(), signal); }));
    command.send(signal);
    EXPECT_EQ(exit_code_of(command), cli::kNegative) << signal;
    EXPECT_THAT(errors(), HasSubstr("interrupted"));
  }
}

// The pipe is full before the end of the instance.
TEST_F(Signals, ExportEndsWhileItsReaderDoesNotRead) {
  const std::string pipe = folder_.file("pipe");
  const auto store = SqliteProvider::open(folder_.file("stores/s.db"));
  const Client client(store);
  client.start_orchestration("large", "Order", Raw('"' + std::string(1'000'000, 'x') + '"'));
  {
    const Runtime runtime(store, sample_registry());  // where it fails, because its input is no number
    ASSERT_TRUE(client.wait_for_orchestration("large", kPatience).ended());
  }
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  for (const std::string& target : {pipe, std::string("/dev/stdout")}) {
    ChildProcess command(
        {program_path(), "export", "large", "-o", target, "--store", "sqlite:" + folder_.file("stores/s.db")},
        folder_.file("errors"));
    const std::string name = target == pipe ? pipe : "/proc/" + std::to_string(command.id()) + "/fd/1";
    const int reader = ::open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ASSERT_GE(reader, 0) << target;
    EXPECT_TRUE(eventually([&] {
      int unread = 0;
      return ::ioctl(reader, FIONREAD, &unread) == 0 && unread >= 65'536;
    })) << errors();
    command.send(SIGTERM);
    EXPECT_EQ(exit_code_of(command), cli::kNegative) << target;
    EXPECT_THAT(errors(), HasSubstr("interrupted"));
    ::close(reader);
    std::filesystem::remove(folder_.file("errors"));
  }
}

TEST_F(Signals, BenchRemovesItsFiles) {
  const int exit_code = end_by(SIGHUP, {"bench", "seq", "--seconds", "60"}, [&] { return !is_empty("tmp"); });
  EXPECT_EQ(exit_code, cli::kNegative);
  EXPECT_TRUE(is_empty("tmp"));
}

TEST_F(Signals, TortureRemovesItsStoreAndItsLedger) {
  const int exit_code =
      end_by(SIGHUP, {"torture", "--kills", "1000", "--store", "sqlite:" + folder_.file("stores/s.db")},
             [&] { return !is_empty("tmp") && !is_empty("stores"); });
  EXPECT_EQ(exit_code, cli::kNegative) << errors();
  EXPECT_TRUE(is_empty("tmp"));
  EXPECT_TRUE(is_empty("stores"));
}

TEST_F(Signals, TortureDropsItsSchemaOnPostgres) {
  PostgresSession session(shared_postgres_url());
  const int exit_code = end_by(SIGHUP, {"torture", "--kills", "1000", "--store", shared_postgres_url()},
                               [&] { return session.value(kTortureSchemas) != "0"; });
  EXPECT_EQ(exit_code, cli::kNegative) << errors();
  EXPECT_EQ(session.value(kTortureSchemas), "0");
  EXPECT_TRUE(is_empty("tmp"));
}

// It makes nothing, so the signal ends it as it ends any program.
TEST_F(Signals, WaitEndsAtOnce) {
  const std::string store = folder_.file("stores/s.db");
  ASSERT_EQ(run_script("\"$PERDURE\" start a Order --create --store sqlite:" + store).exit_code, 0);
  for (const int signal : {SIGHUP, SIGTERM, SIGINT}) {
    // The store's side files show that it has opened it.
    const int exit_code = end_by(signal, {"wait", "a", "--timeout", "1h", "--store", "sqlite:" + store},
                                 [&] { return std::filesystem::exists(store + "-shm"); });
    EXPECT_EQ(exit_code, 128 + signal);
  }
}

// nohup means that the command shall survive its terminal.
TEST_F(Signals, AnIgnoredHangupStaysIgnored) {
  const ProcessRun run = run_script(
      "trap '' HUP; \"$PERDURE\" validate --only wait. --store sqlite::memory: & p=$!\nkill -HUP $p; wait $p");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_THAT(run.out, HasSubstr(" passed, 0 failed; "));
}

}  // namespace
}  // namespace perdure::test
