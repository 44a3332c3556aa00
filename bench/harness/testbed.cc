#include "bench/harness/testbed.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/harness/process.h"
#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

// A separate testbed, so that one that the user has started is not affected.
const std::string kName = "bench";
constexpr double kDownSeconds = 20;

}  // namespace

std::filesystem::path testbed_script() {
  const auto program = std::filesystem::read_symlink("/proc/self/exe");
  return program.parent_path().parent_path().parent_path() / "scripts" / "testbed";
}

int free_port() {
  const int file = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t length = sizeof address;
  bind(file, reinterpret_cast<sockaddr*>(&address), length);
  getsockname(file, reinterpret_cast<sockaddr*>(&address), &length);
  close(file);
  return ntohs(address.sin_port);
}

Testbed::Testbed(const std::filesystem::path& script, int hosts, double link_gigabits,
                 const std::filesystem::path& log, const InterruptScope& interrupt)
    : script_(script), log_(log) {
  Process up({{script.string(), "up", "--name", kName, "--hosts", std::to_string(hosts), "--rate",
               fmt::format("{:g}gbit", link_gigabits)},
              {}},
             log);
  pollfd events[] = {{up.end_fd(), POLLIN, 0}, {interrupt.fd(), POLLIN, 0}};
  while (!up.has_ended()) {
    poll(events, 2, -1);
    interrupt.check();
  }
  if (!up.succeeded())
    throw IoError("DDL-8-26",
                  fmt::format("The testbed could not be started:\n{}", last_lines(log, 12)));
}

Testbed::~Testbed() {
  Process({{script_.string(), "down", "--name", kName}, {}}, log_).stop(kDownSeconds);
}

std::vector<std::string> Testbed::prefix(const std::filesystem::path& script,
                                         const std::string& host) {
  return {script.string(), "exec", "--name", kName, host, "--"};
}

}  // namespace tutti::bench
