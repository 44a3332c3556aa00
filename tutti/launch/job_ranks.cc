#include "tutti/launch/job_ranks.h"

#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <random>

#include "tutti/core/error.h"
#include "tutti/launch/network.h"

namespace tutti::launch {
namespace {

using Json = nlohmann::json;

std::string random_key() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}{:08x}{:08x}", random(), random(), random(), random());
}

// False: the other end is gone.
bool receive(const File& socket, FrameReader& heard) {
  std::array<char, 65536> piece{};
  const auto bytes = ::recv(socket.get(), piece.data(), piece.size(), MSG_DONTWAIT);
  if (bytes < 0) return errno == EAGAIN || errno == EINTR;
  heard.add(piece.data(), static_cast<std::size_t>(bytes));
  return bytes > 0;
}

bool is_readable(const File& socket) {
  pollfd file{socket.get(), POLLIN, 0};
  return socket.is_open() && ::poll(&file, 1, 0) > 0;
}

void tell(const File& socket, char kind, std::string_view body) {
  const std::string text = encode(kind, body);
  ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

std::filesystem::path log_name(int rank) {
  return fmt::format("rank-{}.log", rank);
}

}  // namespace

JobRanks::Rank::Rank(const std::string& tag, const Listener& listener,
                     const std::filesystem::path& log_path)
    : output(tag, [&listener](std::string_view text) { listener.put(STDOUT_FILENO, text); }),
      errors(tag, [&listener](std::string_view text) { listener.put(STDERR_FILENO, text); }),
      log(log_path, std::ios::app) {}

JobRanks::JobRanks(const JobSpec& spec, RunFolder& folder, Listener listener)
    : spec_(spec),
      folder_(folder),
      listener_(std::move(listener)),
      key_(random_key()),
      door_(listen_on(0)) {
  if (!door_.is_open()) throw IoError("DDL-3-32", "This host has no free port to listen on.");
  for (int rank = 0; rank < spec.rankfile.size(); ++rank) {
    const std::string tag = spec.tag_output ? fmt::format("[{} {}] ", rank, host_of(rank)) : "";
    ranks_.push_back(std::make_unique<Rank>(tag, listener_, folder.path() / log_name(rank)));
  }
}

std::string JobRanks::place() const {
  return fmt::format("{} {}", port_of(door_), fmt::join(spec_.addresses, " "));
}

void JobRanks::add_files(std::vector<pollfd>* files) const {
  files->push_back({door_.get(), POLLIN, 0});
  for (const auto& visitor : visitors_) files->push_back({visitor->socket.get(), POLLIN, 0});
  for (const auto& rank : ranks_) files->push_back({rank->socket.get(), POLLIN, 0});
}

void JobRanks::hear() {
  for (int rank = 0; rank < size(); ++rank) {
    if (is_readable(ranks_[static_cast<std::size_t>(rank)]->socket)) hear_rank(rank);
  }
  for (const auto& visitor : visitors_) {
    if (is_readable(visitor->socket)) hear_visitor(*visitor);
  }
  std::erase_if(visitors_, [](const auto& visitor) { return !visitor->socket.is_open(); });
  if (is_readable(door_)) admit();
}

void JobRanks::admit() {
  File socket(::accept4(door_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket.is_open()) return;
  keep_alive(socket);
  send_at_once(socket);
  visitors_.push_back(std::make_unique<Visitor>(Visitor{std::move(socket), {}}));
}

void JobRanks::hear_visitor(Visitor& visitor) {
  const bool is_there = receive(visitor.socket, visitor.heard);
  const auto frame = visitor.heard.next();
  if (!frame && is_there && !visitor.heard.is_broken()) return;
  const Json hello = frame ? Json::parse(frame->body, nullptr, false) : Json();
  const bool is_ours =
      frame && frame->kind == kHello && hello.is_object() && hello.value("key", "") == key_;
  const int number = is_ours ? hello.value("rank", -1) : -1;
  if (number < 0 || number >= size() || has_come(number)) return visitor.socket.close();
  folder_.events().write("rank_start", {{"number", std::int64_t{number}},
                                        {"on", host_of(number)},
                                        {"process", std::int64_t{hello.value("process", 0)}}});
  welcome(number, visitor);
}

void JobRanks::welcome(int number, Visitor& visitor) {
  Rank& rank = *ranks_[static_cast<std::size_t>(number)];
  rank.socket = std::move(visitor.socket);
  rank.heard = std::move(visitor.heard);
  rank.has_come = true;
  const bool has_cpus = !spec_.cpus.empty();
  tell(rank.socket, kWelcome, has_cpus ? spec_.cpus[static_cast<std::size_t>(number)] : "");
  if (stops_all_) tell(rank.socket, kStop, "");
}

void JobRanks::hear_rank(int number) {
  Rank& rank = *ranks_[static_cast<std::size_t>(number)];
  const bool is_there = receive(rank.socket, rank.heard);
  while (const auto frame = rank.heard.next()) {
    if (frame->kind == kOutput || frame->kind == kErrors) {
      rank.log << frame->body << std::flush;
      rank.last_lines.add(frame->body);
      (frame->kind == kOutput ? rank.output : rank.errors).add(frame->body);
    } else if (frame->kind == kEnd) {
      end_rank(number, frame->body);
    }
  }
  if (is_there && !rank.heard.is_broken()) return;
  rank.socket.close();
  if (std::exchange(rank.has_ended, true)) return;
  folder_.events().write("rank_lost", {{"number", std::int64_t{number}}});
  listener_.lost(number);
}

void JobRanks::end_rank(int number, const std::string& how) {
  Rank& rank = *ranks_[static_cast<std::size_t>(number)];
  rank.has_ended = true;
  rank.output.flush(true);
  rank.errors.flush(true);
  RankEnd end{.rank = number, .code = 1};
  const Json json = Json::parse(how, nullptr, false);
  if (json.is_object()) {
    end.code = json.value("code", 1);
    end.signal = json.value("signal", 0);
    end.ago = json.value("ago", 0.0);
    end.was_stopped = json.value("stopped", false);
  }
  if (end.code != 0 || end.signal != 0) failed_.push_back(std::move(rank.socket));
  if (stops_all_) failed_.clear();
  rank.socket.close();
  folder_.events().write("rank_end", {{"number", std::int64_t{number}},
                                      {"code", std::int64_t{end.code}},
                                      {"signal", std::int64_t{end.signal}}});
  listener_.ended(end);
}

void JobRanks::stop_all() {
  stops_all_ = true;
  failed_.clear();
  for (const auto& rank : ranks_) {
    if (rank->socket.is_open()) tell(rank->socket, kStop, "");
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
  return spec_.rankfile.ranks[static_cast<std::size_t>(rank)].host;
}

std::string JobRanks::last_words(int rank) const {
  const std::string lines = ranks_[static_cast<std::size_t>(rank)]->last_lines.text();
  if (lines.empty()) return " It printed nothing.";
  return fmt::format(" Its last lines ({}):\n{}", (folder_.path() / log_name(rank)).string(),
                     lines);
}

}  // namespace tutti::launch
