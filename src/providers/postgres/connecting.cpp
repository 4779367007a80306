// Connecting to a server, and what its refusals mean.
#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <libpq-fe.h>
#include <poll.h>
#include <unistd.h>

#include "providers/postgres/connection.h"
#include "providers/server_address.h"

namespace perdure::postgres {

namespace {

using OptionsPtr = std::unique_ptr<PQconninfoOption, decltype(&PQconninfoFree)>;

std::string_view value_of(const OptionsPtr& options, std::string_view name) {
  for (const PQconninfoOption* option = options.get(); option != nullptr && option->keyword != nullptr; ++option) {
    if (option->keyword == name && option->val != nullptr) return option->val;
  }
  return {};
}

// The only text about a URL, because no part of one is repeated: whatever is wrong with it may be a part of a password.
[[noreturn]] void refuse_url(const std::string& why) {
  throw PostgresError("22023", "the URL of the server cannot be used: " + why +
                                   "; write postgresql://USER@HOST:PORT/DATABASE, with special characters of user and "
                                   "password as %XX (% as %25, / as %2F, @ as %40, : as %3A), or leave the password to "
                                   "PGPASSWORD or the password file");
}

// One port for each host; an empty one is the default. libpq quotes a port that cannot be one.
bool is_port_list(std::string_view text) {
  for (;;) {
    const std::string_view port = text.substr(0, text.find(','));
    std::uint16_t number = 0;
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
    const bool is_port = error == std::errc() && end == port.data() + port.size() && number > 0;
    if (!port.empty() && !is_port) return false;
    if (port.size() == text.size()) return true;
    text.remove_prefix(port.size() + 1);
  }
}

bool is_password(std::string_view name) {
  return name == "password" || name == "sslpassword";
}

// Settings of the server, texts and names of files may have a ';', '&' or '='. Those of users and databases are refused
// with one.
bool may_have_separators(std::string_view name) {
  constexpr std::array<std::string_view, 9> kFreeTexts{"options",     "application_name", "fallback_application_name",
                                                       "passfile",    "sslcert",          "sslkey",
                                                       "sslrootcert", "sslcrl",           "sslcrldir"};
  return std::find(kFreeTexts.begin(), kFreeTexts.end(), name) != kFreeTexts.end();
}

// A password with a '/' or '@' that is not encoded, or with a wrong separator before it, becomes a part of the host,
// the port, the name of the database or another setting. libpq and the server quote those in errors.
void refuse_misplaced_password(std::string_view url, const OptionsPtr& parsed) {
  if (url.starts_with("postgresql://") || url.starts_with("postgres://")) {
    const std::size_t user_end = url.find_first_of("@/", url.find("://") + 3);
    if (user_end != std::string_view::npos && url.find('@', user_end + 1) != std::string_view::npos) {
      refuse_url("it has an '@' that does not end the user and the password");
    }
  }
  if (!is_port_list(value_of(parsed, "port"))) refuse_url("its port is not a number from 1 to 65535");
  for (const PQconninfoOption* option = parsed.get(); option->keyword != nullptr; ++option) {
    if (option->val == nullptr || is_password(option->keyword)) continue;
    const std::string_view value = option->val;
    if (has_password_setting(value) || value.find("://") != std::string_view::npos ||
        (!may_have_separators(option->keyword) && value.find_first_of(";&=") != std::string_view::npos)) {
      refuse_url(std::string("its value of '") + option->keyword + "' contains another setting");
    }
  }
}

// Throws PostgresError for a URL that libpq does not understand. libpq's own complaint quotes the URL.
OptionsPtr parse_url(const std::string& url) {
  const auto is_of_name = [](unsigned char letter) {
    return std::isalnum(letter) != 0 || letter == '_' || letter == '-';
  };
  const bool is_name = std::all_of(url.begin(), url.end(), is_of_name);
  char* complaint = nullptr;
  OptionsPtr options(PQconninfoParse(is_name ? "" : url.c_str(), &complaint), &PQconninfoFree);
  PQfreemem(complaint);
  if (!options) refuse_url("it is not well formed");
  refuse_misplaced_password(url, options);
  return options;
}

// The server's settings are 32-bit integers.
std::string setting_of(Milliseconds time) {
  return std::to_string(std::min<Milliseconds::rep>(time.count(), std::numeric_limits<std::int32_t>::max()));
}

// A limit that the URL names counts, except "none".
Milliseconds connect_limit(const OptionsPtr& url, Milliseconds otherwise) {
  const std::string_view text = value_of(url, "connect_timeout");
  std::int32_t seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return seconds > 0 ? Milliseconds(std::int64_t{seconds} * 1'000) : otherwise;
}

// A name may have several addresses, and the next may respond. Numbers and paths are one.
bool may_have_other_addresses(const OptionsPtr& url) {
  if (!value_of(url, "hostaddr").empty()) return value_of(url, "hostaddr").find(',') != std::string_view::npos;
  const std::string_view host = value_of(url, "host");
  if (host.find(',') != std::string_view::npos) return true;
  if (host.empty() || host.front() == '/' || host.front() == '@') return false;
  return host.find_first_not_of("0123456789.") != std::string_view::npos && host.find(':') == std::string_view::npos;
}

struct ServerError {
  std::string state;
  std::string message;
};

// libpq shows the code of an error at a connection only as a part of its text: "FATAL:  3D000: database ...". Several
// servers may have refused; the last counts.
std::optional<ServerError> find_server_error(std::string_view text) {
  constexpr std::size_t kStateSize = 5;
  const auto is_of_state = [](unsigned char letter) { return std::isdigit(letter) != 0 || std::isupper(letter) != 0; };
  for (std::size_t found = text.rfind(":  "); found != std::string_view::npos && found > 0;
       found = text.rfind(":  ", found - 1)) {
    const std::string_view rest = text.substr(found + 3);
    if (rest.size() < kStateSize + 2 || rest.substr(kStateSize, 2) != ": ") continue;
    const std::string_view state = rest.substr(0, kStateSize);
    if (!std::all_of(state.begin(), state.end(), is_of_state)) continue;
    const std::string_view message = rest.substr(kStateSize + 2);
    return ServerError{std::string(state), std::string(message.substr(0, message.find('\n')))};
  }
  return std::nullopt;
}

// libpq shows the error of a system call only as a part of its text, and that of a resolver not at all.
bool lacked_descriptors(std::string_view text) {
  for (const int error : {EMFILE, ENFILE}) {
    if (text.find(std::generic_category().message(error)) != std::string_view::npos) return true;
  }
  const int probe = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (probe < 0) return errno == EMFILE || errno == ENFILE;
  ::close(probe);
  return false;
}

// libpq separates what it tried by line feeds.
std::string in_one_line(std::string_view text) {
  std::string line;
  for (const char letter : text) line += letter == '\n' ? ' ' : letter;
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

}  // namespace

void Connection::open(const ConnectionOptions& options, Deadline deadline) {
  const OptionsPtr url = parse_url(options.url);
  const Milliseconds limit = connect_limit(url, options.connect_timeout);
  // libpq's own limit is for each address, in seconds, and at least two of them.
  const std::string seconds = std::to_string(std::clamp<Milliseconds::rep>(limit.count() / 1'000, 2, 86'400));
  const std::string patience = setting_of(options.answer_timeout);
  // Values of the URL override those before it, and are overridden by those after it.
  const std::array names = {"tcp_user_timeout", "fallback_application_name", "dbname",
                            "client_encoding",  "connect_timeout",           static_cast<const char*>(nullptr)};
  const std::array values = {patience.c_str(), "perdure",       options.url.c_str(),
                             "UTF8",           seconds.c_str(), static_cast<const char*>(nullptr)};
  handle_.reset(PQconnectStartParams(names.data(), values.data(), 1));
  if (!handle_) throw PostgresError("53200", "out of memory");
  // Notices are for people at a terminal. A server may send them before the connection is made.
  PQsetNoticeProcessor(handle_.get(), [](void*, const char*) {}, nullptr);
  PQsetErrorVerbosity(handle_.get(), PQERRORS_VERBOSE);  // with the code
  if (!connects_until(std::min(deadline, deadline_after(limit)))) {
    if (!may_have_other_addresses(url) || std::chrono::steady_clock::now() >= deadline) {
      throw PostgresError("08001", "the server at " + std::string(PQhost(handle_.get())) + ", port " +
                                       PQport(handle_.get()) + ", did not respond in time");
    }
    PQreset(handle_.get());  // waits for each address in turn, which only libpq can
  }
  if (PQstatus(handle_.get()) != CONNECTION_OK) throw connect_error();
  PQsetErrorVerbosity(handle_.get(), PQERRORS_DEFAULT);
  if (PQsetnonblocking(handle_.get(), 1) != 0 || PQenterPipelineMode(handle_.get()) != 1) {
    fail_lost(in_one_line(PQerrorMessage(handle_.get())));
  }
}

// Returns false if the server does not respond by then.
bool Connection::connects_until(Deadline deadline) {
  PostgresPollingStatusType state = PGRES_POLLING_WRITING;
  while (PQstatus(handle_.get()) != CONNECTION_BAD) {
    if (!is_ready(state == PGRES_POLLING_READING ? POLLIN : POLLOUT, deadline)) return false;
    state = PQconnectPoll(handle_.get());
    if (state == PGRES_POLLING_OK || state == PGRES_POLLING_FAILED) break;
  }
  return true;
}

PostgresError Connection::connect_error() const {
  const std::string text = PQerrorMessage(handle_.get());
  if (std::optional<ServerError> error = find_server_error(text)) {
    return {std::move(error->state), "cannot connect to the server: " + error->message};
  }
  if (lacked_descriptors(text)) return {std::string(kOutOfDescriptors), in_one_line(text)};
  return {PQconnectionNeedsPassword(handle_.get()) != 0 ? "28P01" : "08001", in_one_line(text)};
}

// Every statement that matters has an index to go by, and tables that grow and shrink all day leave no statistics that
// could tell the planner so. Timeouts that an administrator has set for the role are for other programs: a migration
// may have to wait for another one.
void Connection::set_up(const std::string& schema, Deadline deadline) {
  const std::string patience = setting_of(answer_timeout_);
  const std::string standby = execute(
      "SELECT pg_is_in_recovery(); SET search_path TO " + quoted_name(schema) +
          "; SET plan_cache_mode TO force_generic_plan; SET jit TO off; SET enable_seqscan TO off;"
          " SET enable_hashjoin TO off; SET enable_mergejoin TO off; SET enable_bitmapscan TO off;"
          " SET default_transaction_isolation TO 'read committed'; SET lock_timeout TO 0; SET statement_timeout TO " +
          patience + "; SET idle_in_transaction_session_timeout TO " + patience +
          (server_version() >= 140'000 ? "; SET idle_session_timeout TO 0" : ""),
      deadline);
  if (standby == "t") throw PostgresError("25006", "the server is a standby, which can only be read");
}

}  // namespace perdure::postgres
