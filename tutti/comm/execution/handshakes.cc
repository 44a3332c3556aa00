#include "tutti/comm/execution/handshakes.h"

#include <fmt/format.h>

#include <algorithm>

namespace tutti::comm {

int Handshakes::neighbour(const std::vector<int>& group, int distance) const {
  const auto size = static_cast<std::ptrdiff_t>(group.size());
  const auto at = std::find(group.begin(), group.end(), rank_) - group.begin();
  return group[static_cast<std::size_t>((at + distance + size) % size)];
}

// Sends the header to each peer that this rank will send data to, and to its neighbour in each group that runs a native
// collective.
void Handshakes::start(const plan::Plan& plan, const OpRecord& record) {
  record_ = &record;
  std::vector<int> receivers;
  const auto add = [&](int receiver, int sender) {
    const bool is_new =
        receiver >= 0 && std::find(receivers.begin(), receivers.end(), receiver) == receivers.end();
    if (is_new) receivers.push_back(receiver);
    if (sender < 0 || find(sender)) return;
    expected_.push_back(std::make_unique<Expected>());
    expected_.back()->peer = sender;
  };
  for (const plan::Lane& lane : plan.lanes) {
    for (const plan::Step& step : lane.steps) {
      if (step.kind == plan::StepKind::kVendor && plan.groups[step.group].size() > 1) {
        const auto& group = plan.groups[step.group];
        add(neighbour(group, 1), neighbour(group, -1));
      }
      if (step.kind != plan::StepKind::kExchange) continue;
      add(step.source.count > 0 ? step.send_to : -1,
          step.target.count > 0 ? step.receive_from : -1);
    }
  }
  for (const int peer : receivers) {
    sending_.push_back(wire_.send(peer, 0, &record, sizeof record));
  }
  for (auto& header : expected_) {
    header->receiving = wire_.receive(header->peer, 0, &header->record, sizeof header->record);
  }
}

Handshakes::Expected* Handshakes::find(int peer) {
  for (auto& header : expected_) {
    if (header->peer == peer) return header.get();
  }
  return nullptr;
}

Result Handshakes::check(int peer, bool* agreed) {
  Expected& header = *find(peer);
  if (header.receiving) {
    Result outcome = header.receiving->test(agreed);
    if (!outcome) return std::move(outcome).with_context(fmt::format("waiting for rank {}", peer));
    if (!*agreed) return outcome;
    header.receiving.reset();
    if (!header.record.agrees_with(*record_)) {
      return disagreement(rank_, *record_, peer, header.record);
    }
  }
  *agreed = true;
  return Result::ok();
}

Result Handshakes::finish(bool* finished) {
  while (!sending_.empty()) {
    bool sent = false;
    Result outcome = sending_.back()->test(&sent);
    if (!outcome) return outcome;
    if (!sent) break;
    sending_.pop_back();
  }
  *finished = sending_.empty();
  return Result::ok();
}

void Handshakes::clear() {
  sending_.clear();
  expected_.clear();
}

}  // namespace tutti::comm
