#include "tutti/os/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/os/cpus.h"

namespace tutti::os {
namespace {

constexpr double kGraceSeconds = 2;

[[noreturn]] void cannot_start(const std::string& program) {
  throw IoError("DDL-3-17", fmt::format("Cannot start {}: {}.", program, std::strerror(errno)));
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

std::vector<std::string> merged(const std::vector<std::string>& added) {
  Environment all = own_environment();
  for (const std::string& entry : added) {
    const std::size_t equals = entry.find('=');
    if (equals != entry.npos) all[entry.substr(0, equals)] = entry.substr(equals + 1);
  }
  return entries_of(all);
}

struct Pipe {
  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw IoError("DDL-3-17", fmt::format("Cannot create a pipe: {}.", std::strerror(errno)));
    }
    reading = UniqueFd(ends[0]);
    writing = UniqueFd(ends[1]);
  }
  UniqueFd reading, writing;
};

// Limit before raise_file_limit(); rlim_cur is 0 if that was not called.
rlimit old_file_limit{};

struct Child {
  const ProcessSpec& spec;
  char** arguments;
  char** environment;
  int input, output, errors;  // -1: inherited
  const cpu_set_t* cpus;
};

// Runs between fork and exec. The parent may have other threads, so only calls that are safe after a fork are allowed.
[[noreturn]] void exec_child(const Child& child) {
  if (child.spec.is_group) ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  if (old_file_limit.rlim_cur > 0) ::setrlimit(RLIMIT_NOFILE, &old_file_limit);
  if (child.cpus) ::sched_setaffinity(0, sizeof *child.cpus, child.cpus);
  if (child.input >= 0) ::dup2(child.input, STDIN_FILENO);
  if (child.output >= 0) ::dup2(child.output, STDOUT_FILENO);
  if (child.errors >= 0) ::dup2(child.errors, STDERR_FILENO);
  const std::string& directory = child.spec.directory;
  if (directory.empty() || ::chdir(directory.c_str()) == 0) {
    ::execvpe(child.arguments[0], child.arguments, child.environment);
  }
  ::dprintf(STDERR_FILENO, "cannot start %s: %s\n", child.arguments[0], ::strerror(errno));
  ::_exit(127);
}

}  // namespace

void raise_file_limit() {
  rlimit limit{};
  if (old_file_limit.rlim_cur > 0 || ::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  old_file_limit = limit;
  limit.rlim_cur = limit.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

Process::Process(const ProcessSpec& spec) {
  if (spec.output == ProcessSpec::Output::kInherit) {
    start(spec, -1, -1, -1);
    return;
  }
  Pipe output, errors;
  if (spec.input == ProcessSpec::Input::kPipe) {
    Pipe input;
    start(spec, input.reading.get(), output.writing.get(), errors.writing.get());
    input_ = std::move(input.writing);
  } else {
    start(spec, -1, output.writing.get(), errors.writing.get());
  }
  output_ = std::move(output.reading);
  errors_ = std::move(errors.reading);
}

Process::Process(const ProcessSpec& spec, const std::filesystem::path& log)
    : grace_seconds_(kGraceSeconds) {
  const UniqueFd file(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file.is_open()) cannot_start(spec.arguments.front());
  start(spec, -1, file.get(), file.get());
}

void Process::start(const ProcessSpec& spec, int input, int output, int errors) {
  std::vector<std::string> arguments = spec.arguments, entries = merged(spec.environment);
  std::vector<char*> argv = pointers(arguments), envp = pointers(entries);
  const cpu_set_t cpus = cpu_set_of(spec.cpus);
  UniqueFd nothing;
  if (spec.input == ProcessSpec::Input::kNone) {
    nothing = UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    input = nothing.get();
  }
  const Child child{
      spec, argv.data(), envp.data(), input, output, errors, spec.cpus.empty() ? nullptr : &cpus};
  id_ = ::fork();
  if (id_ == 0) exec_child(child);
  if (id_ < 0) cannot_start(arguments.front());
  if (spec.is_group) ::setpgid(id_, id_);  // parent and child both call it; either may run first
  end_ = UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, id_, 0)));
}

Process::Process(Process&& other) noexcept
    : id_(std::exchange(other.id_, -1)),
      status_(other.status_),
      ended_(other.ended_),
      grace_seconds_(other.grace_seconds_),
      input_(std::move(other.input_)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)),
      end_(std::move(other.end_)) {}

bool Process::has_ended() {
  if (!ended_ && id_ > 0 && ::waitpid(id_, &status_, WNOHANG) == id_) ended_ = true;
  return ended_;
}

int Process::exit_code() const {
  return exit_code_of(status_);
}

int Process::end_signal() const {
  return WIFSIGNALED(status_) ? WTERMSIG(status_) : 0;
}

std::string Process::how_it_ended() {
  return has_ended() ? describe_end(WEXITSTATUS(status_), end_signal()) : "runs";
}

void Process::signal_group(int signal) const {
  if (::kill(-id_, signal) != 0 && !ended_) ::kill(id_, signal);
}

bool Process::wait_for_end(double seconds) {
  pollfd end{end_.get(), POLLIN, 0};
  if (!has_ended() && seconds > 0) ::poll(&end, 1, static_cast<int>(seconds * 1000));
  return has_ended();
}

void Process::stop(double seconds) {
  if (id_ < 0) return;
  if (!wait_for_end(seconds) && grace_seconds_ > 0) {
    signal_group(SIGTERM);
    wait_for_end(grace_seconds_);
  }
  signal_group(SIGKILL);  // also when the program has ended: its children may still be in the group
  if (!ended_) {
    ::kill(id_, SIGKILL);
    ::waitpid(id_, &status_, 0);
    ended_ = true;
  }
  id_ = -1;
}

Outcome run(const ProcessSpec& spec, double seconds) {
  Outcome outcome;
  Process process(spec);
  const Stopwatch watch;
  std::array<char, 4096> piece{};
  while (process.output().is_open() || process.errors().is_open() || !process.has_ended()) {
    const double left = seconds - watch.seconds();
    if (left <= 0) {
      outcome.timed_out = true;
      return outcome;
    }
    std::array<pollfd, 3> files = {{{process.output().get(), POLLIN, 0},
                                    {process.errors().get(), POLLIN, 0},
                                    {process.end_fd(), POLLIN, 0}}};
    ::poll(files.data(), files.size(), static_cast<int>(left * 1000) + 1);
    for (std::size_t i = 0; i < 2; ++i) {
      if (files[i].fd < 0 || files[i].revents == 0) continue;
      const auto bytes = ::read(files[i].fd, piece.data(), piece.size());
      std::string& text = i == 0 ? outcome.output : outcome.errors;
      if (bytes > 0) {
        text.append(piece.data(), static_cast<std::size_t>(bytes));
      } else {
        (i == 0 ? process.output() : process.errors()).close();
      }
    }
    // Do not wait for descendants that keep the pipes open.
    if (process.has_ended() && files[0].revents == 0 && files[1].revents == 0) break;
  }
  outcome.exit_code = process.exit_code();
  return outcome;
}

void exec_program(const std::vector<std::string>& arguments) {
  std::vector<std::string> copy = arguments;
  ::execvp(copy.front().c_str(), pointers(copy).data());
}

std::string describe_end(int exit_code, int signal) {
  if (signal == 0) return fmt::format("ended with exit code {}", exit_code);
  return fmt::format("was killed by signal {} ({})", signal, ::strsignal(signal));
}

int exit_code_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::vector<std::string> entries_of(const Environment& environment) {
  std::vector<std::string> entries;
  for (const auto& [name, value] : environment) entries.push_back(name + "=" + value);
  return entries;
}

}  // namespace tutti::os
