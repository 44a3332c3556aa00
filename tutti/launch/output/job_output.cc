#include "tutti/launch/output/job_output.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "tutti/core/clock.h"

namespace tutti::launch {
namespace {

constexpr std::size_t kMostPending = 4 << 20;  // bytes per queue above which it has no room

bool is_same_file(int one, int other) {
  struct stat a{}, b{};
  if (::fstat(one, &a) != 0 || ::fstat(other, &b) != 0) return false;
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

}  // namespace

void JobOutput::Shared::wake_up() const {
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(wake.get(), &one, sizeof one);
}

// Does not wake the poll loop for every write: that would cost more than the write.
void JobOutput::Shared::progressed(std::size_t before, std::size_t after) const {
  const bool has_room_again = before >= kMostPending && after < kMostPending;
  if (has_room_again || (after == 0 && is_draining)) wake_up();
}

JobOutput::JobOutput(runs::JobFolder& folder)
    : shared_(std::make_shared<Shared>(os::UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)))),
      folder_(folder),
      standard_output_([s = shared_](auto before, auto after) { s->progressed(before, after); }),
      logs_([s = shared_](auto before, auto after) { s->progressed(before, after); }) {
  if (is_same_file(STDOUT_FILENO, STDERR_FILENO)) return;
  standard_error_.emplace([s = shared_](auto before, auto after) { s->progressed(before, after); });
}

WriteThread& JobOutput::queue_of(int file) {
  return file == STDERR_FILENO && standard_error_ ? *standard_error_ : standard_output_;
}

void JobOutput::print(int file, std::string text) {
  const auto owner = std::make_shared<const std::string>(std::move(text));
  print(file, *owner, owner);
}

void JobOutput::print(int file, std::string_view text, Owner owner) {
  if (text.empty()) return;
  queue_of(file).post(text.size(), [shared = shared_, file, text, owner = std::move(owner)] {
    std::atomic<int>& error = shared->errors[file];
    if (error == EPIPE) return;
    const int failed = os::write_all(file, text.data(), text.size());
    if (failed == 0) return;
    error = failed;
    shared->wake_up();
  });
}

void JobOutput::log(const std::shared_ptr<runs::LogFile>& file, std::string text) {
  const auto owner = std::make_shared<const std::string>(std::move(text));
  log(file, *owner, owner);
}

void JobOutput::log(const std::shared_ptr<runs::LogFile>& file, std::string_view text,
                    Owner owner) {
  logs_.post(text.size(), [shared = shared_, file, text, owner = std::move(owner)] {
    const int failed = file->append(text);
    if (failed == 0 || shared->log_error != 0) return;
    shared->log_path = file->path();
    shared->log_error = failed;
    shared->wake_up();
  });
}

void JobOutput::event(std::function<void(runs::EventLog&)> write) {
  logs_.post(1, [log = folder_.events(), write = std::move(write)] { write(*log); });
}

bool JobOutput::has_room(int file) const {
  const WriteThread& queue =
      file == STDERR_FILENO && standard_error_ ? *standard_error_ : standard_output_;
  return std::max(queue.pending(), logs_.pending()) < kMostPending;
}

void JobOutput::clear_wake() const {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto bytes = ::read(wake_file(), &count, sizeof count);
}

bool JobOutput::has_lost_reader() const {
  return std::ranges::any_of(shared_->errors, [](int error) { return error == EPIPE; });
}

bool JobOutput::has_lost_output() const {
  return std::ranges::any_of(shared_->errors, [](int error) { return error != 0; });
}

void JobOutput::report_failures() {
  for (const int file : {STDOUT_FILENO, STDERR_FILENO}) {
    const auto at = static_cast<std::size_t>(file);
    const int error = shared_->errors[at];
    if (error == 0 || error == EPIPE || std::exchange(is_reported_[at], true)) continue;
    print(STDERR_FILENO,
          fmt::format("ddlrun: DDL-3-51 Standard {} cannot be written: {}. The job continues; "
                      "what it prints is in {}.\n",
                      file == STDOUT_FILENO ? "output" : "error", std::strerror(error),
                      folder_.path().string()));
  }
  if (shared_->log_error == 0 || std::exchange(is_reported_[0], true)) return;
  print(STDERR_FILENO,
        fmt::format("ddlrun: DDL-3-50 Cannot write {}: {}. The job continues, but its logs are "
                    "incomplete. Free some space, or choose another directory with --log-dir.\n",
                    shared_->log_path, std::strerror(shared_->log_error)));
}

bool JobOutput::is_drained() const {
  return standard_output_.pending() == 0 && logs_.pending() == 0 &&
         (!standard_error_ || standard_error_->pending() == 0);
}

JobOutput::DrainEnd JobOutput::drain(const os::SignalFd& signals, double seconds) {
  const Stopwatch watch;
  shared_->is_draining = true;
  for (;;) {
    report_failures();
    if (is_drained()) return {.is_drained = true};
    const double left = seconds - watch.seconds();
    if (seconds > 0 && left <= 0) return {};
    std::array<pollfd, 2> files = {{{signals.get(), POLLIN, 0}, {wake_file(), POLLIN, 0}}};
    ::poll(files.data(), files.size(), seconds > 0 ? static_cast<int>(left * 1000) + 1 : -1);
    clear_wake();
    if (const int signal = signals.take()) return {.signal = signal};
  }
}

}  // namespace tutti::launch
