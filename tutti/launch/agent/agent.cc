#include "tutti/launch/agent/agent.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <sstream>

#include "tutti/auth/handshake.h"
#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/core/log.h"
#include "tutti/launch/agent/supervisor.h"
#include "tutti/launch/net/frames.h"
#include "tutti/launch/net/network.h"
#include "tutti/launch/placement/rank_identity.h"
#include "tutti/os/cpus.h"
#include "tutti/os/environment.h"
#include "tutti/os/process_tree.h"
#include "tutti/runs/job_folder.h"
#include "tutti/topo/number_list.h"

namespace tutti::launch {
namespace {

constexpr double kConnectSeconds = 5;

constexpr int kAttempts = 3;  // a flood of other connections may displace this one

// `watch` is "<address> <port> ...", the listening sockets of ddlrun, most likely first.
os::UniqueFd connect_to_launcher(const std::string& watch, const auth::Secret& secret) {
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    std::istringstream fields(watch);
    int port = 0;
    for (std::string address; fields >> address >> port;) {
      os::UniqueFd socket = connect_to(address, port, kConnectSeconds, nullptr);
      if (socket.is_open() && auth::authenticate(socket.get(), secret, auth::Role::kConnector,
                                                 kAgentPurpose, kConnectSeconds)) {
        return socket;
      }
    }
  }
  return os::UniqueFd();
}

void pin(const std::string& cpus) {
  if (cpus.empty()) return;
  if (!os::set_affinity(os::cpu_set_of(topo::parse_list(cpus)))) {
    log::warning("DDL-3-49 cannot pin this rank to {}: {}.", cpus, std::strerror(errno));
  }
}

// Redirects standard input to /dev/null. Ranks that share one pipe or file would each get a part of it, and some MPI
// implementations never close theirs.
void read_nothing() {
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::close(nothing);
}

// Some MPI implementations kill the process that they have started without warning, and an administrator may kill any.
// The agent therefore runs in a child with a separate session, and this process guards it: it forwards signals and
// exits with the agent's code. If this process is killed, the agent gets SIGTERM. If the agent is killed, its
// descendants become children of this process, which kills them.
int guard(pid_t agent, const sigset_t& signals) {
  for (;;) {
    int signal = 0, status = 0;
    ::sigwait(&signals, &signal);
    if (signal != SIGCHLD) ::kill(agent, signal);
    if (::waitpid(agent, &status, WNOHANG) != agent) continue;
    os::kill_descendants(1);
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
}

int watch_over(os::UniqueFd connection, const Welcome& welcome,
               const std::vector<std::string>& arguments) {
  sigset_t signals, old_signals;
  ::sigemptyset(&signals);
  for (const int signal : kWatchedSignals) ::sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, &old_signals);
  os::become_subreaper();
  const pid_t parent = ::getpid();
  const pid_t agent = ::fork();
  if (agent > 0) {
    connection.close();
    return guard(agent, signals);
  }
  if (agent == 0) {
    ::setsid();
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (::getppid() != parent) ::raise(SIGTERM);
  }
  return supervise(std::move(connection), welcome, arguments, old_signals);
}

// Sends the rank and receives the instructions. Returns nullopt if ddlrun does not accept this rank.
std::optional<Welcome> introduce(const os::UniqueFd& connection, int rank) {
  const std::string hello = encode(Hello{rank, ::getpid(), now_ns(), boot_id()});
  if (!send_all(connection.get(), hello.data(), hello.size())) return std::nullopt;
  std::optional<Welcome> welcome;
  FrameReader reader;
  char byte = 0;  // one byte at a time: the data after the reply has another reader
  for (const Stopwatch watch; watch.seconds() < kConnectSeconds && !welcome;) {
    pollfd file{connection.get(), POLLIN, 0};
    if (::poll(&file, 1, 1000) <= 0) continue;
    if (::recv(connection.get(), &byte, 1, 0) <= 0) break;
    const bool is_valid = reader.read({&byte, 1}, [&](char kind, auto body) {
      if (kind == kWelcome) welcome = decode_welcome(body);
      return welcome.has_value();
    });
    if (!is_valid) break;
  }
  return welcome;
}

// The communication library writes to the run directory on every host, also where ddlrun has not created it. If no
// private directory can be created, nothing is written.
void prepare_run_folder() {
  const char* const name = std::getenv("TUTTI_RUN_FOLDER");
  std::error_code ignored;
  if (!name || std::filesystem::path(name).is_relative()) return;
  const std::filesystem::path folder = name;
  if (std::filesystem::exists(std::filesystem::symlink_status(folder, ignored))) return;
  const auto parent = folder.parent_path();
  if (!parent.filename().string().starts_with("DDLRUN-")) return;  // not in a temporary directory
  try {
    runs::make_private_folder(parent);
    runs::make_private_folder(folder);
  } catch (const Error& error) {
    log::warning("{}", error.what());
    ::unsetenv("TUTTI_RUN_FOLDER");
  }
}

}  // namespace

int run_agent(const std::vector<std::string>& arguments) {
  if (arguments.empty()) throw ConfigError("DDL-3-01", "--agent needs a program to run.");
  const auto identity = find_rank();
  if (identity) {
    for (const auto& [name, value] : os::torch_variables(*identity)) {
      ::setenv(name.c_str(), value.c_str(), 1);
    }
  }
  if (identity && identity->rank > 0) read_nothing();
  const char* const watch = std::getenv("TUTTI_WATCH");
  const auto secret = auth::Secret::from_environment();
  if (!watch || !identity || !secret) exec_program(arguments);
  const std::string address = watch;
  ::unsetenv("TUTTI_WATCH");
  os::UniqueFd connection = connect_to_launcher(address, *secret);
  std::optional<Welcome> welcome;
  if (connection.is_open()) {
    enable_keepalive(connection);
    set_tcp_nodelay(connection);
    welcome = introduce(connection, identity->rank);
  }
  if (!welcome) {
    log::warning("DDL-3-48 rank {} on {} cannot reach ddlrun at {}; it runs unmonitored.",
                 identity->rank, os::host_name(), address);
    exec_program(arguments);
  }
  pin(welcome->cpus);
  prepare_run_folder();
  return watch_over(std::move(connection), *welcome, arguments);
}

}  // namespace tutti::launch
