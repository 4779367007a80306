// OutputFile: a file that a command writes for the user, whole or not at all.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <ostream>
#include <streambuf>
#include <string>

#include <sys/types.h>

namespace perdure::cli {

// Buffered writes to a descriptor that it owns. Keeps the first error. `stop`, which may be null, ends a write to a
// reader that does not read; its error is EINTR then.
class DescriptorBuffer final : public std::streambuf {
 public:
  DescriptorBuffer(int descriptor, const std::atomic<bool>* stop);
  DescriptorBuffer(const DescriptorBuffer&) = delete;
  DescriptorBuffer& operator=(const DescriptorBuffer&) = delete;
  ~DescriptorBuffer() override;

  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  [[nodiscard]] int error() const noexcept { return error_; }  // errno; 0: none

 protected:
  int_type overflow(int_type character) override;
  int sync() override;

 private:
  [[nodiscard]] char* end() noexcept { return buffer_.data() + buffer_.size(); }

  // Returns false if it ends before something can be written.
  [[nodiscard]] bool waits_for_reader() const;

  int descriptor_;
  bool may_block_;  // each write waits first until it can be done
  const std::atomic<bool>* stop_;
  int error_ = 0;
  std::array<char, 65'536> buffer_{};
};

// The kind of file at the path decides how it is written:
//
//   nothing, a regular file   into a temporary file of the same directory, which replaces it when `finish` is called.
//                             The old file gives its mode and its group, the umask the mode of a new one
//   a symbolic link           refused. It may lead to a file that the user does not mean
//   a directory               refused
//   a name of a descriptor    through a duplicate of it: /dev/stdout, /dev/fd/3. It shares the position in a file
//   anything else             directly: a pipe, a terminal
//
// Every function throws CommandError. If `finish` is not called, the file stays as it was.
class OutputFile {
 public:
  // `stop` must outlive this object. Once it is set, no call waits for the reader of a pipe any more.
  OutputFile(const std::string& option, const std::string& path, const std::atomic<bool>* stop = nullptr);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  ~OutputFile();

  [[nodiscard]] std::ostream& stream() noexcept { return stream_; }
  [[nodiscard]] bool is_replacement() const noexcept { return !temporary_.empty(); }
  // True if the path is a name of a descriptor, such as /dev/stdout, and that is the same file as `descriptor`.
  [[nodiscard]] bool is_descriptor(int descriptor) const noexcept;
  // Throws if something could not be written.
  void check_written() const;
  // Writes what is buffered, syncs file and directory, and lets the file take its name.
  void finish();

 private:
  struct Target {
    int descriptor = -1;
    std::string temporary{};  // empty: written directly
    mode_t mode = 0;
    uid_t owner = 0;
    gid_t group = 0;
    bool replaces = false;   // a file is there, with mode, owner and group
    bool is_stream = false;  // the path is a name of a descriptor
  };
  OutputFile(std::string path, Target target, const std::atomic<bool>* stop);
  [[nodiscard]] static Target open_target(const std::string& option, const std::string& path,
                                          const std::atomic<bool>* stop);

  void give_rights() const;
  void sync_directory() const;
  [[noreturn]] void fail(const std::string& what, int error) const;

  std::string path_;
  Target target_;
  std::string temporary_;
  DescriptorBuffer buffer_;
  std::ostream stream_;
};

}  // namespace perdure::cli
