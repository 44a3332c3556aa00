// Wire of one communicator: maps its ranks and channels to those of the job.
#pragma once

#include <memory>
#include <vector>

#include "tutti/comm/transport/transport.h"

namespace tutti::comm {

class Router : public Wire {
 public:
  static constexpr int kChannels = 256;      // per communicator
  static constexpr int kFirstTag = 128;      // lower channels: operation headers and lanes
  static constexpr int kTags = 120;          // channels of point-to-point messages
  static constexpr int kGroupChannel = 255;  // set-up of a new group
  static constexpr int kMaxCommunicators = (Transport::kMaxChannel + 1) / kChannels;

  // `ranks[r]`: rank in the job of rank r of communicator `id`.
  Router(Wire& wire, std::vector<int> ranks, int id)
      : wire_(wire), ranks_(std::move(ranks)), base_(id * kChannels) {}

  int size() const { return static_cast<int>(ranks_.size()); }

  std::unique_ptr<Transfer> send(int peer, int channel, const void* data,
                                 std::size_t bytes) override {
    return wire_.send(ranks_[peer], base_ + channel, data, bytes);
  }
  std::unique_ptr<Transfer> receive(int peer, int channel, void* data, std::size_t bytes) override {
    return wire_.receive(ranks_[peer], base_ + channel, data, bytes);
  }
  std::uint64_t events() const override { return wire_.events(); }
  bool wait(std::uint64_t seen, std::int64_t nanoseconds) override {
    return wire_.wait(seen, nanoseconds);
  }

 private:
  Wire& wire_;
  const std::vector<int> ranks_;
  const int base_;
};

}  // namespace tutti::comm
