#include "tutti/launch/agent.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/core/log.h"
#include "tutti/launch/frames.h"
#include "tutti/launch/network.h"
#include "tutti/launch/rank_identity.h"
#include "tutti/launch/watched_program.h"
#include "tutti/topo/number_list.h"

namespace tutti::launch {
namespace {

using Json = nlohmann::json;

constexpr double kConnectSeconds = 5;

// TUTTI_WATCH is "<port> <address> ...": the addresses of ddlrun's host, the likeliest first.
File call_home(const char* watch) {
  std::istringstream words(watch);
  int port = 0;
  words >> port;
  for (std::string address; words >> address;) {
    File socket = connect_to(address, port, kConnectSeconds, nullptr);
    if (socket.is_open()) return socket;
  }
  return File();
}

void pin(const std::string& cpus) {
  if (cpus.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : topo::parse_list(cpus)) CPU_SET(cpu, &set);
  if (::sched_setaffinity(0, sizeof set, &set) != 0) {
    log::warning("DDL-3-49 cannot pin this rank to {}: {}.", cpus, std::strerror(errno));
  }
}

// Some MPIs kill what they have started without a warning, and with it whoever could still end what
// that has started. So the agent works in a child with a session of its own, and this process only
// stands for it: passes signals on and ends with its code. When it is killed, the agent is told.
int stand_for(pid_t agent, const sigset_t& signals) {
  for (;;) {
    int signal = 0, status = 0;
    ::sigwait(&signals, &signal);
    if (signal != SIGCHLD) ::kill(agent, signal);
    if (::waitpid(agent, &status, WNOHANG) == agent) {
      return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
  }
}

int watch_over(File home, const std::vector<std::string>& words) {
  sigset_t signals, old_signals;
  ::sigemptyset(&signals);
  for (const int signal : kWatchedSignals) ::sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, &old_signals);
  const pid_t parent = ::getpid();
  const pid_t agent = ::fork();
  if (agent > 0) {
    home.close();
    return stand_for(agent, signals);
  }
  if (agent == 0) {
    ::setsid();
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::raise(SIGTERM);
  }
  return run_watched(std::move(home), words, old_signals);
}

// Says who we are; the answer tells where to run. False: this is not our ddlrun.
bool introduce(const File& home, const char* key, int rank) {
  const std::string hello =
      encode(kHello, Json{{"key", key ? key : ""}, {"rank", rank}, {"process", ::getpid()}}.dump());
  if (!send_all(home.get(), hello.data(), hello.size())) return false;
  FrameReader heard;
  std::array<char, 4096> piece{};
  for (const Stopwatch watch; watch.seconds() < kConnectSeconds;) {
    pollfd file{home.get(), POLLIN, 0};
    ::poll(&file, 1, 1000);
    const auto bytes = file.revents ? ::recv(home.get(), piece.data(), 1, 0) : -1;
    if (file.revents && bytes <= 0) return false;
    if (bytes > 0) heard.add(piece.data(), static_cast<std::size_t>(bytes));
    if (const auto frame = heard.next()) {
      if (frame->kind == kWelcome) pin(frame->body);
      return frame->kind == kWelcome;
    }
  }
  return false;
}

}  // namespace

int run_agent(const std::vector<std::string>& words) {
  if (words.empty()) throw ConfigError("DDL-3-01", "--agent needs a program to run.");
  const auto identity =
      find_rank([](const char* name) -> const char* { return std::getenv(name); });
  if (identity) {
    for (const auto& [name, value] : torch_variables(*identity)) {
      ::setenv(name.c_str(), value.c_str(), 1);
    }
  }
  const char* const watch = std::getenv("TUTTI_WATCH");
  if (!watch || !identity) become_program(words);
  const std::string place = watch;
  const char* const key = std::getenv("TUTTI_WATCH_KEY");
  File home = call_home(place.c_str());
  if (home.is_open()) {
    keep_alive(home);
    send_at_once(home);
  }
  const bool is_known = home.is_open() && introduce(home, key, identity->rank);
  ::unsetenv("TUTTI_WATCH");
  ::unsetenv("TUTTI_WATCH_KEY");
  if (!is_known) {
    log::warning("DDL-3-48 rank {} on {} cannot reach ddlrun at {}; it runs unwatched.",
                 identity->rank, host_name(), place);
    become_program(words);
  }
  return watch_over(std::move(home), words);
}

}  // namespace tutti::launch
