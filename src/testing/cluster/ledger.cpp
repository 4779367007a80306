#include "testing/cluster/ledger.h"

#include <cerrno>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace perdure::testing::cluster {

std::string to_string(const Step& step) {
  return "'" + step.instance + "', execution " + std::to_string(step.execution) + ", activity " +
         std::to_string(step.activity);
}

std::string to_line(const LedgerEntry& entry) {
  const auto word = [](const std::string& text) { return text.empty() ? std::string("-") : text; };
  std::string line = std::string(1, static_cast<char>(entry.kind)) + " " + word(entry.node) + " " +
                     word(entry.step.instance) + " " + std::to_string(entry.step.execution) + " " +
                     std::to_string(entry.step.activity) + " " + std::to_string(entry.attempt) + " " + word(entry.what);
  if (line.size() >= kLedgerLineBytes) throw std::length_error("too long for a line of a ledger: '" + line + "'");
  line.resize(kLedgerLineBytes - 1, ' ');
  return line + "\n";
}

LedgerEntry parse_ledger_line(const std::string& line) {
  LedgerEntry entry;
  std::istringstream words(line);
  std::string kind;
  std::string rest;
  words >> kind >> entry.node >> entry.step.instance >> entry.step.execution >> entry.step.activity >> entry.attempt >>
      entry.what;
  if (!words || (words >> rest) || kind.size() != 1 || std::string("BERDd").find(kind) == std::string::npos) {
    throw std::runtime_error("not a line of a ledger: '" + line + "'");
  }
  entry.kind = static_cast<LedgerKind>(kind.front());
  for (std::string* text : {&entry.node, &entry.step.instance, &entry.what}) {
    if (*text == "-") text->clear();
  }
  return entry;
}

Ledger::Ledger(const std::string& path)
    : path_(path), file_(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600)) {
  if (file_ < 0) throw std::system_error(errno, std::generic_category(), path);
}

Ledger::~Ledger() {
  ::close(file_);
}

void Ledger::append(const LedgerEntry& entry) const {
  const std::string line = to_line(entry);
  const ssize_t written = ::write(file_, line.data(), line.size());
  if (written != static_cast<ssize_t>(line.size())) throw std::system_error(errno, std::generic_category(), path_);
}

std::vector<LedgerEntry> Ledger::read(std::size_t first) const {
  const std::size_t last = size();  // what is being written meanwhile is for the next time
  std::vector<LedgerEntry> entries;
  if (first >= last) return entries;
  entries.reserve(last - first);
  std::ifstream file(path_);
  file.seekg(static_cast<std::streamoff>(first * kLedgerLineBytes));
  std::string line;
  while (entries.size() < last - first && std::getline(file, line)) entries.push_back(parse_ledger_line(line));
  return entries;
}

std::size_t Ledger::size() const {
  struct stat about{};
  if (::fstat(file_, &about) != 0) throw std::system_error(errno, std::generic_category(), path_);
  return static_cast<std::size_t>(about.st_size) / kLedgerLineBytes;
}

}  // namespace perdure::testing::cluster
