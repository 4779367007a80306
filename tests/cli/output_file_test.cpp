// export -o: what stands at the path decides how it is written, and a failure leaves everything as it was.
#include "cli/output_file.h"

#include <array>
#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/exit_code.h"
#include "cli/program_run.h"
#include "cli/script_run.h"
#include "support/temporary_folder.h"

namespace perdure::test {
namespace {

using ::testing::HasSubstr;

class OutputFileTest : public ::testing::Test {
 protected:
  [[nodiscard]] static ProgramRun export_to(const std::string& path) {
    return sample_store().run({"export", "order-1", "-o", path});
  }
  [[nodiscard]] static std::string exported() { return sample_store().run({"export", "order-1"}).out; }
  [[nodiscard]] static struct stat state_of(const std::string& path) {
    struct stat state = {};
    EXPECT_EQ(::lstat(path.c_str(), &state), 0) << path;
    return state;
  }
  // Files of the directory, hidden ones too.
  [[nodiscard]] std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_.path()), {}));
  }

  TemporaryFolder folder_;
};

TEST_F(OutputFileTest, ANewFileHasTheRightsThatTheUmaskLeaves) {
  for (const mode_t mask : {022U, 077U, 002U, 0U}) {
    const std::string path = folder_.file("new");
    const mode_t before = ::umask(mask);
    EXPECT_EQ(export_to(path).exit_code, cli::kSuccess);
    ::umask(before);
    EXPECT_EQ(state_of(path).st_mode & 07777U, 0666U & ~mask);
    EXPECT_EQ(file_text(path), exported());
    std::filesystem::remove(path);
  }
  EXPECT_EQ(files(), 0U);
}

TEST_F(OutputFileTest, AReplacedFileKeepsModeAndGroup) {
  const std::string path = folder_.file("old");
  const mode_t before = ::umask(0);
  for (const mode_t mode : {0600U, 0640U, 0400U, 0755U}) {
    std::ofstream(path) << "old";
    const bool other_group = ::chown(path.c_str(), static_cast<uid_t>(-1), 12'345) == 0;  // as root only
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    const auto old = state_of(path);
    EXPECT_EQ(export_to(path).exit_code, cli::kSuccess);
    const auto now = state_of(path);
    EXPECT_EQ(now.st_mode & 07777U, mode);
    EXPECT_EQ(now.st_gid, old.st_gid) << "another group: " << other_group;
    EXPECT_EQ(now.st_uid, old.st_uid);
    EXPECT_NE(now.st_ino, old.st_ino) << "replaced, not written over";
    EXPECT_EQ(file_text(path), exported());
    std::filesystem::remove(path);
  }
  ::umask(before);
}

TEST_F(OutputFileTest, ALinkIsRefusedWithItsDestination) {
  const std::string link = folder_.file("link");
  const std::string target = folder_.file("target");
  std::filesystem::create_symlink(target, link);
  for (const bool dangling : {true, false}) {
    if (!dangling) std::ofstream(target) << "old";
    const ProgramRun refused = export_to(link);
    EXPECT_EQ(refused.exit_code, cli::kUsage);
    EXPECT_THAT(refused.err, HasSubstr("'" + link + "' is a symbolic link to '" + target + "'; name the target file"));
    EXPECT_EQ(std::filesystem::exists(target), !dangling);
  }
  EXPECT_EQ(file_text(target), "old");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
}

// One that was there is the user's, whatever its name.
TEST_F(OutputFileTest, NoOtherFileIsTouched) {
  const std::string path = folder_.file("file");
  std::ofstream(path + ".unfinished") << "mine";
  std::filesystem::create_symlink(folder_.file("elsewhere"), folder_.file("file.tmp"));
  EXPECT_EQ(export_to(path).exit_code, cli::kSuccess);
  EXPECT_EQ(file_text(path + ".unfinished"), "mine");
  EXPECT_FALSE(std::filesystem::exists(folder_.file("elsewhere")));
  EXPECT_EQ(sample_store().run({"export", "waiting", "-o", path}).exit_code, cli::kConflict) << "it runs";
  EXPECT_EQ(file_text(path), exported()) << "a failure leaves the old file";
  EXPECT_EQ(files(), 3U);
}

TEST_F(OutputFileTest, TwoAtATimeAreBothWhole) {
  const std::string path = folder_.file("file");
  {
    cli::OutputFile first("-o", path);
    cli::OutputFile second("-o", path);
    first.stream() << "first";
    second.stream() << "second";
    second.finish();
    EXPECT_EQ(file_text(path), "second");
    first.finish();
    EXPECT_EQ(file_text(path), "first");
    cli::OutputFile third("-o", path);
    third.stream() << "never finished";
  }
  EXPECT_EQ(file_text(path), "first");
  EXPECT_EQ(files(), 1U);
}

TEST_F(OutputFileTest, StreamsAndDevicesAreWrittenDirectly) {
  const std::string store = "--store '" + sample_store().argument() + "'";
  const ProcessRun piped = run_script("\"$PERDURE\" export order-1 -o /dev/stdout " + store + " | cat");
  EXPECT_EQ(piped.out, exported()) << piped.err;
  const std::string file = folder_.file("redirected");
  const ProcessRun redirected = run_script("\"$PERDURE\" export order-1 -o /dev/fd/3 " + store + " 3>'" + file + "'");
  EXPECT_EQ(redirected.exit_code, 0) << redirected.err;
  EXPECT_EQ(file_text(file), exported());
  EXPECT_EQ(export_to("/dev/null").exit_code, cli::kSuccess);
  EXPECT_TRUE(std::filesystem::is_character_file("/dev/null"));
  const ProgramRun full = export_to("/dev/full");
  EXPECT_EQ(full.exit_code, cli::kNegative);
  EXPECT_THAT(full.err, HasSubstr("'/dev/full' could not be written completely; is the disk full? (No space left on"));
}

TEST_F(OutputFileTest, ARedirectedFileIsContinuedWhereItStands) {
  const std::string file = folder_.file("redirected");
  const std::string command = "\"$PERDURE\" export order-1 --store '" + sample_store().argument() + "' -o ";
  const ProcessRun grouped = run_script("{ echo head; " + command + "/dev/stdout; echo tail; } >'" + file + "'");
  EXPECT_EQ(grouped.exit_code, 0) << grouped.err;
  EXPECT_EQ(file_text(file), "head\n" + exported() + "tail\n");
  std::ofstream(file) << "old\n";
  for (const std::string name : {"/dev/stdout", "/proc/self/fd/1", "/dev/fd/3"}) {
    const ProcessRun appended = run_script(command + name + " >>'" + file + "' 3>&1");
    EXPECT_EQ(appended.exit_code, 0) << appended.err;
  }
  EXPECT_EQ(file_text(file), "old\n" + exported() + exported() + exported());
}

// As the standard output of a command that ssh has started. A name of a socket cannot be opened.
TEST_F(OutputFileTest, ASocketIsWrittenThroughItsDescriptor) {
  std::array<int, 2> ends = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  cli::OutputFile file("-o", "/dev/fd/" + std::to_string(ends[0]));
  file.stream() << "exported";
  file.finish();
  std::array<char, 16> text = {};
  EXPECT_EQ(::read(ends[1], text.data(), text.size()), 8);
  EXPECT_STREQ(text.data(), "exported");
  for (const int end : ends) ::close(end);
}

TEST_F(OutputFileTest, ADescriptorForReadingIsRefused) {
  const ProcessRun refused =
      run_script("\"$PERDURE\" export order-1 --store '" + sample_store().argument() + "' -o /dev/fd/3 3</dev/null");
  EXPECT_EQ(refused.exit_code, cli::kUsage);
  EXPECT_THAT(refused.err, HasSubstr("cannot write to '/dev/fd/3': it is open for reading only"));
}

// A pipe that others share blocks, and must not keep a command that was told to end.
TEST_F(OutputFileTest, AFullPipeOfADescriptorEndsWhenItIsStopped) {
  std::array<int, 2> ends = {-1, -1};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const std::atomic<bool> stop = true;
  cli::OutputFile file("-o", "/dev/fd/" + std::to_string(ends[1]), &stop);
  file.stream() << std::string(1'000'000, 'x');
  EXPECT_THROW(file.finish(), cli::CommandError);
  EXPECT_EQ(::fcntl(ends[1], F_GETFL) & O_NONBLOCK, 0) << "the others would not expect it";
  for (const int end : ends) ::close(end);
}

TEST_F(OutputFileTest, JsonAndInstancesDoNotShareTheStandardOutput) {
  const ProcessRun mixed =
      run_script("\"$PERDURE\" export order-1 -o /dev/stdout --json --store '" + sample_store().argument() + "' | cat");
  EXPECT_EQ(mixed.out, "");
  EXPECT_THAT(mixed.err, HasSubstr(R"("error":"-o: '/dev/stdout' is standard output)"));
}

TEST_F(OutputFileTest, ADirectoryThatIsNotThereIsNamed) {
  const ProgramRun refused = export_to(folder_.file("no/file"));
  EXPECT_EQ(refused.exit_code, cli::kUsage);
  EXPECT_THAT(refused.err, HasSubstr("no/file': cannot create a file in its directory (No such file or directory)"));
  for (const std::string& path : {folder_.path().string(), folder_.file("new/"), std::string()}) {
    EXPECT_EQ(export_to(path).exit_code, cli::kUsage) << path;
  }
  EXPECT_EQ(files(), 0U);
}

// A file system that fills up under it: the old file stays, and no temporary one.
TEST_F(OutputFileTest, AFailureLeavesNoTemporaryFile) {
  const std::string small =
      "mount -t tmpfs -o size=4k none '" + folder_.path().string() + "' && cd '" + folder_.path().string() + "' && ";
  if (run_script("unshare -m bash -c \"" + small + "true\"").exit_code != 0) GTEST_SKIP() << "only root can mount";
  const ProcessRun full = run_script("export PERDURE; unshare -m bash -c \"" + small +
                                     "ln -s /dev/null link; \\$PERDURE export -o file --store '" +
                                     sample_store().argument() + "'; echo exit \\$?; ls -A\"");
  EXPECT_EQ(full.out, "exit 1\nlink\n");
  EXPECT_THAT(full.err, HasSubstr("the file 'file' could not be written completely; is the disk full? (No space left"));
}

}  // namespace
}  // namespace perdure::test
