#include "tutti/launch/job/job_ranks.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/launch/net/network.h"

// A connection passes through these states:
//
//   unauthenticated   accepted; the AcceptQueue checks the secret
//   arrival           authenticated; waiting for Hello with the rank
//   connected         welcomed: output, errors and Exit of the rank arrive as frames (net/frames.h)
//   exited            Exit has arrived; the rest of the output follows, then Done
//   ended             Done has arrived, or the connection was closed after Exit
//
// A connection that breaks before Exit makes the rank lost. The agent exits when ddlrun closes its connection.
// Connections of failed ranks stay open until stop_all(), because mpirun would end the other ranks when their agent
// exits.
//
// Flow control: an agent may send at most a window of output that has not been consumed. grant_credit() returns the
// credit of consumed bytes in steps of at least a quarter of the window.
namespace tutti::launch {
namespace {

constexpr int kReceiveBuffer = 1 << 20;
constexpr std::uint32_t kMostWindow = 512 << 10, kLeastWindow = 4 << 10;
constexpr std::uint32_t kWindowOfAllRanks = 64 << 20;  // limits the memory of ddlrun
constexpr std::size_t kReadBytes = 256 << 10;

// Credit of one stream of one rank. Both streams fit into the receive buffer of the socket, half of which is overhead,
// so the kernel accepts everything that an agent may send even while ddlrun is stopped (Ctrl-Z).
std::uint32_t window_for(int ranks, int receive_buffer) {
  const auto share = kWindowOfAllRanks / static_cast<std::uint32_t>(std::max(ranks, 1));
  return std::clamp(std::min(share, static_cast<std::uint32_t>(receive_buffer) / 4), kLeastWindow,
                    kMostWindow);
}

// All agents of a large job connect at the same moment and must not displace each other.
std::size_t max_pending(int ranks) {
  return 128 + 2 * static_cast<std::size_t>(ranks);
}

// Control frames are few and small: they always fit into the send buffer.
void send_frame(const os::UniqueFd& socket, const std::string& frame) {
  ::send(socket.get(), frame.data(), frame.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

std::string log_name(int rank) {
  return fmt::format("rank-{}.log", rank);
}

std::size_t stream_index(char kind) {
  return kind == kOutput ? 0 : 1;
}

}  // namespace

JobRanks::Rank::Rank(const std::string& tag, JobRanks& ranks,
                     std::shared_ptr<runs::LogFile> log_file)
    : output(tag, [&ranks](std::string_view text) { ranks.print(STDOUT_FILENO, text); }),
      errors(tag, [&ranks](std::string_view text) { ranks.print(STDERR_FILENO, text); }),
      log(std::move(log_file)) {}

JobRanks::JobRanks(const JobSpec& spec, runs::JobFolder& folder, JobOutput& output, Events events)
    : spec_(spec),
      folder_(folder),
      output_(output),
      events_(std::move(events)),
      queue_(spec.secret, kAgentPurpose, {.max_pending = max_pending(spec.rankfile.size())}),
      pool_(kReadBytes) {
  for (const std::string& address : spec.addresses) {
    os::UniqueFd listener = listen_at(address, kReceiveBuffer);
    if (listener.is_open()) listeners_.emplace_back(address, std::move(listener));
  }
  if (listeners_.empty()) {
    throw IoError("DDL-3-32", fmt::format("Cannot listen on {}: {}. Check the network interfaces "
                                          "of this host and its free ports: ss -tan",
                                          fmt::join(spec.addresses, ", "), std::strerror(errno)));
  }
  window_ = window_for(spec.rankfile.size(), receive_buffer_of(listeners_.front().second));
  for (int rank = 0; rank < spec.rankfile.size(); ++rank) {
    const std::string tag = spec.tag_output ? fmt::format("[{} {}] ", rank, host_of(rank)) : "";
    ranks_.push_back(std::make_unique<Rank>(tag, *this, folder.log(log_name(rank))));
  }
}

std::string JobRanks::listen_addresses() const {
  std::string text;
  for (const auto& [address, listener] : listeners_) {
    text += fmt::format("{}{} {}", text.empty() ? "" : " ", address, port_of(listener));
  }
  return text;
}

void JobRanks::add_files(std::vector<pollfd>* files) {
  for (const auto& rank : ranks_) files->push_back({rank->socket.get(), POLLIN, 0});
  for (const auto& arrival : arrivals_) files->push_back({arrival->socket.get(), POLLIN, 0});
  polled_arrivals_ = arrivals_.size();
  for (const auto& [address, listener] : listeners_) files->push_back({listener.get(), POLLIN, 0});
  queue_.add_files(files);
}

void JobRanks::handle(std::span<const pollfd> files) {
  for (int rank = 0; rank < size(); ++rank) {
    if (files[rank].revents) read_rank(rank);
  }
  for (std::size_t i = 0; i < polled_arrivals_; ++i) {
    if (files[ranks_.size() + i].revents) read_arrival(*arrivals_[i]);
  }
  std::erase_if(arrivals_, [](const auto& arrival) { return !arrival->socket.is_open(); });
  const auto waiting = files.subspan(ranks_.size() + polled_arrivals_);
  const bool has_events = std::ranges::any_of(waiting, [](auto& file) { return file.revents; });
  if (has_events || has_pending_handshakes()) accept_agents();
}

// Passes received bytes to `take`. Returns false if the peer has closed the connection or violated the protocol.
template <class Take>
bool JobRanks::read_frames(const os::UniqueFd& socket, FrameReader& reader, Take take) {
  buffer_.reset();  // back to the pool, unless it is still being written
  buffer_ = pool_.get();
  const auto bytes = ::recv(socket.get(), buffer_->data(), buffer_->size(), MSG_DONTWAIT);
  if (bytes < 0) return errno == EAGAIN || errno == EINTR;
  return bytes > 0 && reader.read({buffer_->data(), static_cast<std::size_t>(bytes)}, take);
}

// Large pieces share the buffer instead of being copied; small ones must not keep a whole buffer alive.
bool JobRanks::is_shared(std::string_view text) const {
  return text.size() >= kReadBytes / 8 && text.data() >= buffer_->data() &&
         text.data() < buffer_->data() + buffer_->size();
}

void JobRanks::print(int file, std::string_view text) {
  if (is_shared(text)) return output_.print(file, text, buffer_);
  output_.print(file, std::string(text));
}

void JobRanks::accept_agents() {
  for (const auto& [address, listener] : listeners_) {
    for (const int accepted : queue_.accept_from(listener.get())) {
      os::UniqueFd socket(accepted);
      enable_keepalive(socket);
      set_tcp_nodelay(socket);
      arrivals_.push_back(std::make_unique<Arrival>(std::move(socket)));
    }
  }
}

void JobRanks::read_arrival(Arrival& arrival) {
  std::optional<Hello> hello;
  const bool is_valid = read_frames(arrival.socket, arrival.reader, [&](char kind, auto body) {
    if (kind == kHello && !hello) hello = decode_hello(body);
    return hello.has_value();
  });
  const bool is_rank =
      hello && hello->rank >= 0 && hello->rank < size() && !has_connected(hello->rank);
  if (is_rank && is_valid) {
    welcome(*hello, arrival);
  } else if (hello || !is_valid) {
    arrival.socket.close();
  }
}

void JobRanks::welcome(const Hello& hello, Arrival& arrival) {
  Rank& rank = *ranks_[hello.rank];
  rank.socket = std::move(arrival.socket);
  rank.reader = std::move(arrival.reader);
  rank.has_connected = true;
  // All processes of a host share one clock; the clocks of other hosts are converted.
  if (hello.boot_id != boot_id()) rank.clock_offset_ns = now_ns() - hello.clock_ns;
  output_.event([hello, host = host_of(hello.rank)](runs::EventLog& log) {
    log.write("rank_start", {{"number", std::int64_t{hello.rank}},
                             {"on", host},
                             {"process", std::int64_t{hello.process}}});
  });
  Welcome answer{.is_terminal = ::isatty(STDOUT_FILENO) != 0, .window = window_};
  winsize size{};
  if (answer.is_terminal && ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) {
    answer.rows = size.ws_row;
    answer.columns = size.ws_col;
  }
  if (!spec_.cpus.empty()) answer.cpus = spec_.cpus[hello.rank];
  send_frame(rank.socket, encode(answer));
  if (stops_all_) send_frame(rank.socket, encode(kStop));
}

void JobRanks::read_rank(int number) {
  Rank& rank = *ranks_[number];
  const bool is_valid = read_frames(rank.socket, rank.reader, [&](char kind, auto body) {
    return take_frame(number, kind, body);
  });
  if (is_valid || !rank.socket.is_open()) return;
  rank.socket.close();
  if (rank.has_exited) return end_rank(number);
  if (std::exchange(rank.has_ended, true)) return;
  output_.event([number](runs::EventLog& log) {
    log.write("rank_lost", {{"number", std::int64_t{number}}});
  });
  events_.lost(number);
}

bool JobRanks::take_frame(int number, char kind, std::string_view body) {
  Rank& rank = *ranks_[number];
  if (kind == kOutput || kind == kErrors) {
    take_output(rank, kind, body);
    return true;
  }
  const auto exit = kind == kExit && !rank.has_exited ? decode_exit(body) : std::nullopt;
  if (exit) take_exit(number, *exit);
  if (kind == kDone && rank.has_exited) end_rank(number);
  return exit.has_value();
}

void JobRanks::take_output(Rank& rank, char kind, std::string_view text) {
  if (is_shared(text)) {
    output_.log(rank.log, text, buffer_);
  } else {
    output_.log(rank.log, std::string(text));
  }
  rank.last_lines.add(text);
  (kind == kOutput ? rank.output : rank.errors).add(text);
  rank.owed[stream_index(kind)] += static_cast<std::uint32_t>(text.size());
}

void JobRanks::grant_credit() {
  for (const char kind : {kOutput, kErrors}) {
    if (!output_.has_room(kind == kOutput ? STDOUT_FILENO : STDERR_FILENO)) continue;
    for (const auto& rank : ranks_) {
      std::uint32_t& owed = rank->owed[stream_index(kind)];
      if (owed < window_ / 4 || !rank->socket.is_open()) continue;
      send_frame(rank->socket, encode(Credit{kind, std::exchange(owed, 0)}));
    }
  }
}

void JobRanks::take_exit(int number, const Exit& exit) {
  Rank& rank = *ranks_[number];
  rank.has_exited = true;
  rank.has_failed = exit.code != 0 || exit.signal != 0;
  for (const char kind : {kOutput, kErrors}) {
    send_frame(rank.socket, encode(Credit{kind, kPipeBytes}));
  }
  output_.event([number, exit](runs::EventLog& log) {
    log.write("rank_end", {{"number", std::int64_t{number}},
                           {"code", std::int64_t{exit.code}},
                           {"signal", std::int64_t{exit.signal}}});
  });
  events_.exited({.rank = number,
                  .code = exit.code,
                  .signal = exit.signal,
                  .when_ns = exit.clock_ns + rank.clock_offset_ns,
                  .was_stopped = exit.was_stopped});
}

void JobRanks::end_rank(int number) {
  Rank& rank = *ranks_[number];
  rank.has_ended = true;
  rank.output.flush(true);
  rank.errors.flush(true);
  if (rank.has_failed && !stops_all_) failed_.push_back(std::move(rank.socket));
  rank.socket.close();
  events_.ended(number);
}

void JobRanks::stop_all() {
  stops_all_ = true;
  failed_.clear();
  for (const auto& rank : ranks_) {
    if (rank->socket.is_open()) send_frame(rank->socket, encode(kStop));
  }
}

void JobRanks::flush(bool everything) {
  for (const auto& rank : ranks_) {
    rank->output.flush(everything);
    rank->errors.flush(everything);
  }
}

bool JobRanks::has_waiting_output() const {
  return std::ranges::any_of(ranks_, [](const auto& rank) {
    return rank->output.is_waiting() || rank->errors.is_waiting();
  });
}

int JobRanks::connected() const {
  return static_cast<int>(
      std::ranges::count_if(ranks_, [](const auto& rank) { return rank->socket.is_open(); }));
}

bool JobRanks::all_have_ended() const {
  return std::ranges::all_of(ranks_, [](const auto& rank) { return rank->has_ended; });
}

const std::string& JobRanks::host_of(int rank) const {
  return spec_.rankfile.ranks[rank].host;
}

std::string JobRanks::final_output(int rank) const {
  const std::string lines = ranks_[rank]->last_lines.text();
  if (lines.empty()) return " It printed nothing.";
  return fmt::format(" Its last lines ({}):\n{}", (folder_.path() / log_name(rank)).string(),
                     lines);
}

}  // namespace tutti::launch
