#include "tutti/comm/transport/routes.h"

#include <algorithm>
#include <cstring>
#include <filesystem>

namespace tutti::comm {
namespace {

constexpr std::int64_t kPollSleep = 50'000;  // ns between polls of the pipes

// True if there is a network on which MPI is faster than TCP: InfiniBand, Omni-Path, RoCE or Slingshot.
bool has_fabric() {
  for (const char* folder : {"/sys/class/infiniband", "/sys/class/cxi"}) {
    std::error_code error;
    const std::filesystem::directory_iterator devices(folder, error);
    if (!error && devices != std::filesystem::directory_iterator()) return true;
  }
  return false;
}

std::vector<int> ranks_beside(const topo::Layout& layout, int rank) {
  for (const topo::Host& host : layout.hosts) {
    if (std::find(host.ranks.begin(), host.ranks.end(), rank) != host.ranks.end())
      return host.ranks;
  }
  return {rank};
}

// Fixed-size part of the contact information that ranks exchange; the TCP contact string follows it.
struct Offer {
  MemoryHandle pipes = {};
  bool has_fabric = false;
};

}  // namespace

void Routes::improve(const topo::Layout& layout, const Options& options,
                     const std::optional<auth::Secret>& secret) {
  const std::string& wish = options.text("wire");
  const int rank = transport_.rank();
  std::vector<int> beside = ranks_beside(layout, rank);
  std::sort(beside.begin(), beside.end());
  is_local_.resize(static_cast<std::size_t>(transport_.size()));
  for (const int peer : beside) is_local_[peer] = true;

  if (!transport_.has_pipes()) pipes_ = std::make_unique<PipeSet>(rank, beside);
  const bool may_be_tcp = secret && layout.hosts.size() > 1 &&
                          (wish == "tcp" || (wish == "auto" && transport_.yields_to_tcp()));
  if (may_be_tcp) tcp_ = std::make_unique<TcpWire>(rank, *secret, options.text("interface"));
  if (!pipes_ && !tcp_) return;
  const Offer mine{pipes_ ? pipes_->handle() : MemoryHandle{}, wish == "auto" && has_fabric()};
  std::string text(sizeof mine, ' ');
  std::memcpy(text.data(), &mine, sizeof mine);
  const auto texts = transport_.exchange(text + (tcp_ ? tcp_->offer() : ""));

  std::vector<MemoryHandle> handles;
  std::vector<std::string> doors;
  bool leaves_it_to_transport = false;
  for (int peer = 0; peer < transport_.size(); ++peer) {
    Offer offer;
    std::memcpy(&offer, texts[peer].data(), sizeof offer);
    leaves_it_to_transport |= offer.has_fabric;
    if (is_local_[peer]) handles.push_back(offer.pipes);
    doors.push_back(texts[peer].substr(sizeof offer));
  }
  if (pipes_) pipes_->connect(handles).throw_if_error();
  if (tcp_ && leaves_it_to_transport) tcp_.reset();
  if (tcp_) tcp_->connect(doors);
}

Wire& Routes::wire_to(int peer) const {
  const bool is_local = is_local_.empty() || is_local_[peer];
  if (is_local) return pipes_ ? static_cast<Wire&>(*pipes_) : transport_;
  return tcp_ ? static_cast<Wire&>(*tcp_) : transport_;
}

bool Routes::wait(std::uint64_t seen, std::int64_t nanoseconds) {
  const std::int64_t longest =
      pipes_ && pipes_->is_busy() ? std::min(nanoseconds, kPollSleep) : nanoseconds;
  return tcp_ ? tcp_->wait(seen, longest) : transport_.wait(seen, longest);
}

}  // namespace tutti::comm
