// export and import: what may stand for a file.
#include <array>
#include <filesystem>
#include <sstream>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/exit_code.h"
#include "cli/input_run.h"
#include "cli/program_run.h"
#include "support/temporary_folder.h"

namespace perdure::test {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> split_lines(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

class TransferFiles : public ::testing::Test {
 protected:
  static const SqliteFile& source() { return sample_store(); }
  TemporaryFolder folder_;
};

TEST_F(TransferFiles, ThroughAPipeThatHasAName) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const std::string text = source().run({"export", "order-1"}).out;
  ASSERT_EQ(::write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ::close(ends[1]);
  const SqliteFile target;
  const ProgramRun imported = target.run({"import", "/proc/self/fd/" + std::to_string(ends[0])});
  ::close(ends[0]);
  EXPECT_EQ(imported.out, "imported 1 instances\n") << imported.err;
}

TEST_F(TransferFiles, WhatIsNoFileIsNotReplacedByOne) {
  EXPECT_EQ(source().run({"export", "order-1", "-o", folder_.path()}).exit_code, cli::kUsage);
  EXPECT_EQ(source().run({"export", "order-1", "-o", ""}).exit_code, cli::kUsage);
  const std::string pipe = folder_.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  EXPECT_EQ(source().run({"export", "order-1", "-o", pipe}).exit_code, cli::kSuccess);
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  ::close(reader);
}

TEST_F(TransferFiles, WhatIsNamedTwiceIsExportedOnce) {
  EXPECT_EQ(source().run({"export", "order-1", "order-1"}).out, source().run({"export", "order-1"}).out);
}

TEST_F(TransferFiles, ADamagedFileMakesNoStore) {
  const std::string path = folder_.file("never.db");
  const ProgramRun refused =
      run_with_input({"import", "-", "--create", "--store", "sqlite:" + path}, "{\"format\":\"something\"}\n");
  EXPECT_EQ(refused.exit_code, cli::kUsage) << refused.err;
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(TransferFiles, AnInstanceThatIsThereTwiceIsRefusedBeforeAnythingIsWritten) {
  const std::vector<std::string> once = split_lines(source().run({"export", "order-1"}).out);
  std::string twice = once.front() + '\n';
  for (int i = 0; i < 2; ++i) {
    for (std::size_t line = 1; line + 1 < once.size(); ++line) twice += once[line] + '\n';
  }
  twice += "{\"instances\":2}\n";
  const SqliteFile target;
  const ProgramRun refused = run_with_input({"import", "-", "--store", target.argument()}, twice);
  EXPECT_EQ(refused.exit_code, cli::kUsage);
  EXPECT_THAT(refused.err, HasSubstr("instance 'order-1' occurs twice"));
  EXPECT_EQ(target.run({"list", "--ids"}).out, "");
}

}  // namespace
}  // namespace perdure::test
