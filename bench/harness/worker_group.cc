#include "bench/harness/worker_group.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <exception>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

constexpr int kLogLines = 12;
constexpr double kQuitSeconds = 3;
constexpr double kAbortSeconds = 0.2;

int open_pipe(const std::filesystem::path& path, int flags) {
  int fd = mkfifo(path.c_str(), 0600) == 0 ? open(path.c_str(), flags | O_CLOEXEC) : -1;
  if (fd < 0)
    throw IoError(
        "DDL-8-21",
        fmt::format("Cannot create the pipe {}: {}. Set TMPDIR to a directory with free space.",
                    path.string(), strerror(errno)));
  return fd;
}

bool write_all(int fd, std::string_view text) {
  return write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

}  // namespace

WorkerGroup::WorkerGroup(std::string name, int ranks, std::filesystem::path folder,
                         const std::vector<ProcessSpec>& processes, const InterruptScope& interrupt)
    : name_(std::move(name)), folder_(std::move(folder)), interrupt_(interrupt) {
  std::filesystem::create_directories(folder_);
  for (int rank = 0; rank < ranks; ++rank) {
    // A pipe opened for both directions does not wait for its reader, and keeps what is written before the reader opens
    // it.
    pipes_.push_back({open_pipe(folder_ / fmt::format("command-{}", rank), O_RDWR),
                      open_pipe(folder_ / fmt::format("reply-{}", rank), O_RDONLY | O_NONBLOCK),
                      {}});
  }
  for (const ProcessSpec& spec : processes)
    processes_.push_back(std::make_unique<Process>(spec, folder_ / "log"));
}

// Idle workers are asked to exit. After a failure or an interrupt there is no waiting: workers exit because their pipe
// closes, launchers because they receive a signal.
WorkerGroup::~WorkerGroup() {
  const bool is_orderly = !has_failed_ && std::uncaught_exceptions() == 0;
  for (Pipe& pipe : pipes_) {
    if (is_orderly) write_all(pipe.command, "quit\n");
    close(pipe.command);
    close(pipe.reply);
  }
  for (auto& process : processes_) process->stop(is_orderly ? kQuitSeconds : kAbortSeconds);
}

void WorkerGroup::wait_until_ready(double timeout_seconds) {
  collect(timeout_seconds);
}

std::vector<std::string> WorkerGroup::ask(std::string_view command, double timeout_seconds) {
  std::string line = fmt::format("{}\n", command);
  for (Pipe& pipe : pipes_)
    if (!write_all(pipe.command, line))
      throw CommError("DDL-8-22", fmt::format("{} has closed its command pipe.", name_));
  return collect(timeout_seconds);
}

std::vector<std::string> WorkerGroup::collect(double timeout_seconds) {
  std::vector<std::string> answers(pipes_.size());
  Stopwatch watch;
  has_failed_ = true;  // until all have replied
  while (true) {
    std::vector<int> missing = take_answers(answers);
    for (const std::string& answer : answers)
      if (answer.starts_with("error "))
        throw CommError("DDL-8-23", fmt::format("{}: {}\n{}", name_, answer.substr(6), log_tail()));
    if (missing.empty()) break;
    fail_if_ended(answers);
    double left = timeout_seconds - watch.seconds();
    if (left <= 0)
      throw TimeoutError("DDL-8-24",
                         fmt::format("{}: no answer from rank {} within {:g} s.\n{}", name_,
                                     fmt::join(missing, ", "), timeout_seconds, log_tail()));
    wait_for_events(left);
  }
  has_failed_ = false;
  return answers;
}

// Stores the replies that have arrived; returns the ranks whose reply is still missing.
std::vector<int> WorkerGroup::take_answers(std::vector<std::string>& answers) {
  std::vector<int> missing;
  for (std::size_t rank = 0; rank < pipes_.size(); ++rank)
    if (answers[rank].empty() && !take_line(pipes_[rank], answers[rank]))
      missing.push_back(static_cast<int>(rank));
  return missing;
}

// Sleeps until a rank replies or exits, a launcher exits, the user interrupts, or `seconds` pass.
void WorkerGroup::wait_for_events(double seconds) {
  std::vector<pollfd> events = {{interrupt_.fd(), POLLIN, 0}};
  for (const Pipe& pipe : pipes_) events.push_back({pipe.reply, POLLIN, 0});
  for (auto& process : processes_)
    if (!process->has_ended()) events.push_back({process->end_fd(), POLLIN, 0});
  poll(events.data(), events.size(), static_cast<int>(seconds * 1000) + 1);
  interrupt_.check();
}

bool WorkerGroup::take_line(Pipe& pipe, std::string& line) {
  char bytes[4096];
  for (ssize_t got; (got = read(pipe.reply, bytes, sizeof bytes)) > 0;)
    pipe.received.append(bytes, static_cast<std::size_t>(got));
  std::size_t end = pipe.received.find('\n');
  if (end == std::string::npos) return false;
  line = pipe.received.substr(0, end);
  pipe.received.erase(0, end + 1);
  return true;
}

// A rank with a pending reply has exited if its pipe was closed or a launcher has exited.
void WorkerGroup::fail_if_ended(const std::vector<std::string>& answers) {
  std::string who;
  for (std::size_t rank = 0; rank < pipes_.size(); ++rank) {
    pollfd reply{pipes_[rank].reply, POLLIN, 0};
    bool has_hung_up =
        poll(&reply, 1, 0) == 1 && (reply.revents & POLLHUP) && !(reply.revents & POLLIN);
    if (answers[rank].empty() && has_hung_up) who = fmt::format("rank {} ended", rank);
  }
  for (auto& process : processes_)
    if (process->has_ended()) who = "its process " + process->how_it_ended();
  if (!who.empty())
    throw CommError("DDL-8-25",
                    fmt::format("{}: {} before it answered.\n{}", name_, who, log_tail()));
}

std::string WorkerGroup::log_tail() const {
  std::string lines = last_lines(folder_ / "log", kLogLines);
  return lines.empty() ? "    (it wrote nothing)" : lines;
}

}  // namespace tutti::bench
