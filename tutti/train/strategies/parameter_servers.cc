// Hybrid and asynchronous training with parameter servers. Ranks form groups that are synchronous inside and
// asynchronous to each other; in `async`, every group is one rank. The last `servers` ranks hold the weights and update
// them. Tensors are distributed over them round-robin, so with as many servers as layers each holds one.
//
// A step of a group: the gradients are averaged inside the group. Its first rank sends the gradient of each tensor to
// the server of that tensor. The server updates the weights and returns them, and they are broadcast in the group. A
// server handles requests in the order of arrival, from any group. Each reply has the number of updates by other groups
// since this group last fetched the tensor: the staleness.
//
// Steps are assigned dynamically: the reply for the first tensor has the number of the step after the one that the
// group is already prefetching. A slow group thus takes fewer steps. Other groups wait for it only at the end of an
// epoch, for at most the two steps it holds.
//
// G groups act like additional momentum of about 1 - 1/G. Servers therefore use (m - (1 - 1/G)) / (1/G), the explicit
// momentum for which the sum is m, and not less than 0.
#include <fmt/format.h>
#include <torch/types.h>

#include <algorithm>
#include <optional>

#include "tutti/core/clock.h"
#include "tutti/core/error.h"
#include "tutti/train/strategies/nonfinite_check.h"
#include "tutti/train/strategy.h"

namespace tutti::train {
namespace {

// Header of every gradient and every reply.
struct RequestHeader {
  std::int64_t tensor, step = 0, version = 0;
  std::int64_t next_step = 0;  // in the reply for the first tensor
  double rate = 0;
};
constexpr std::int64_t kLeft = -1;  // instead of a tensor: the group has finished
constexpr std::int64_t kOnlyStep =
    -2;  // the group's gradients were not finite; it requests a step only
constexpr int kHeaderTag = 1, kGradientTag = 2, kReplyTag = 3;
constexpr int kHeaderFloats = sizeof(RequestHeader) / sizeof(float);

Buffer buffer_of(RequestHeader& header) {
  return {&header, kHeaderFloats, DType::kF32};
}

// Messages between the first rank of each group and the servers, for both sides.
class ServerMessages {
 public:
  // `servers`: the last ranks of `world`. The references must outlive this object.
  ServerMessages(comm::Communicator& world, FlatParameters& parameters, Optimizer& optimizer,
                 int servers, int groups)
      : world_(world),
        parameters_(parameters),
        optimizer_(optimizer),
        servers_(servers),
        groups_(groups),
        versions_(parameters.segments().size()) {}

  // Sends all gradients and receives the weights. All gradients are sent before the first reply is awaited, so servers
  // work concurrently. Returns the staleness.
  double exchange(std::int64_t step, double rate) {
    const std::size_t count = parameters_.segments().size();
    std::vector<RequestHeader> headers(count, RequestHeader{kLeft}), replies = headers;
    std::vector<comm::Work> works;
    for (std::size_t i = count; i-- > 0;) {
      headers[i] = {static_cast<std::int64_t>(i), step, versions_[i], 0, rate};
      works.push_back(world_.send_async(buffer_of(headers[i]), server_of(i), kHeaderTag));
      works.push_back(
          world_.send_async(part(parameters_.gradients(), i), server_of(i), kGradientTag));
      works.push_back(world_.receive_async(buffer_of(replies[i]), server_of(i), kReplyTag));
      works.push_back(
          world_.receive_async(part(parameters_.weights(), i), server_of(i), kReplyTag));
    }
    for (const comm::Work& work : works) work.wait();
    next_step_ = replies.at(0).next_step;
    double staleness = 0;
    for (std::size_t i = 0; i < count; ++i) {
      staleness +=
          static_cast<double>(replies[i].version - versions_[i] - 1) / static_cast<double>(count);
      versions_[i] = replies[i].version;
    }
    return staleness;
  }

  // Requests a step without gradients.
  void ask_for_step() {
    RequestHeader header{kOnlyStep};
    world_.send(buffer_of(header), server_of(0), kHeaderTag);
    world_.receive(buffer_of(header), server_of(0), kReplyTag);
    next_step_ = header.next_step;
  }

  void leave() {
    for (int server = 0; server < servers_; ++server) {
      RequestHeader header{kLeft};
      world_.send(buffer_of(header), rank_of(server), kHeaderTag);
    }
  }

  // On a server: updates weights until all groups have left.
  void serve(std::int64_t start) {
    next_step_ = start + 2 * groups_;  // each group starts with two
    for (int left = 0; left < groups_;) {
      RequestHeader header{kLeft};
      int peer = 0;
      world_.receive_any_async(buffer_of(header), &peer, kHeaderTag).wait();
      if (header.tensor == kLeft)
        ++left;
      else if (header.tensor == kOnlyStep)
        reply_with_step(header, peer);
      else
        reply(header, peer);
    }
  }

  // Of this group; on a server: the next to assign.
  std::int64_t& next_step() { return next_step_; }

 private:
  int rank_of(int server) const { return world_.size() - servers_ + server; }
  int server_of(std::size_t tensor) const { return rank_of(static_cast<int>(tensor) % servers_); }
  Buffer part(std::span<float> all, std::size_t tensor) const {
    const Segment& segment = parameters_.segments()[tensor];
    return Buffer::of(all.subspan(static_cast<std::size_t>(segment.begin),
                                  static_cast<std::size_t>(segment.count)));
  }

  void reply_with_step(RequestHeader header, int peer) {
    header.next_step = next_step_++;
    world_.send(buffer_of(header), peer, kReplyTag);
  }

  void reply(RequestHeader header, int peer) {
    const auto tensor = static_cast<std::size_t>(header.tensor);
    world_.receive(part(parameters_.gradients(), tensor), peer, kGradientTag);
    optimizer_.begin(++versions_[tensor], header.rate);
    optimizer_.update(parameters_.weights(), parameters_.gradients(), tensor, tensor + 1);
    header.version = versions_[tensor];
    if (tensor == 0) header.next_step = next_step_++;
    world_.send(buffer_of(header), peer, kReplyTag);
    world_.send(part(parameters_.weights(), tensor), peer, kReplyTag);
  }

  comm::Communicator& world_;
  FlatParameters& parameters_;
  Optimizer& optimizer_;
  const int servers_, groups_;
  std::int64_t next_step_ = 0;
  std::vector<std::int64_t> versions_;  // updates of each tensor made or seen by this rank
};

// The option `groups`, or the number of ranks that train. Throws ConfigError if there are too few ranks.
int groups_of(const StrategyContext& context, bool is_async) {
  const int ranks = context.communicator.size();
  const int servers = static_cast<int>(context.options.integer("servers")),
            workers = ranks - servers;
  const int groups = is_async ? workers : static_cast<int>(context.options.integer("groups"));
  if (workers < 1 || groups > workers)
    throw ConfigError(
        "DDL-1-84",
        fmt::format("{} ranks are too few for {} servers and {} groups. Start at least {} ranks.",
                    ranks, servers, std::max(groups, 1), servers + std::max(groups, 1)));
  return groups;
}

class ParameterServers : public Strategy {
 public:
  ParameterServers(const StrategyContext& context, bool is_async)
      : parameters_(context.parameters),
        clip_norm_(context.options.number("clip_norm")),
        groups_(groups_of(context, is_async)),
        messages_(context.communicator, context.parameters, context.optimizer,
                  static_cast<int>(context.options.integer("servers")), groups_) {
    comm::Communicator& world = context.communicator;
    const int workers = world.size() - static_cast<int>(context.options.integer("servers"));
    const bool trains = world.rank() < workers;
    group_number_ = trains ? world.rank() * groups_ / workers : -1;
    group_size_ = (workers + groups_ - 1) / groups_;
    group_ = world.split(group_number_);
    workers_ = world.split(trains ? 0 : -1);
    if (trains) nonfinite_check_.emplace(*group_, parameters_);
    lower_momentum(context.optimizer);
  }

  void begin() override {
    parameters_.begin();
    nonfinite_check_->begin();
  }

  Reduced reduce(bool is_loss_finite) override {
    nonfinite_check_->check(0, 0, parameters_.segments().size());
    nonfinite_check_->start_reduction();
    const Stopwatch watch;
    if (group_->size() > 1)
      group_->all_reduce(Buffer::of(parameters_.gradients()), ReduceOp::kAverage,
                         {.name = "gradients"});
    const bool is_finite = nonfinite_check_->is_finite();
    return {is_loss_finite && is_finite, is_loss_finite && !is_finite, watch.seconds()};
  }
  std::string nonfinite_layer() const override { return nonfinite_check_->layer(); }

  StepTimes finish(std::int64_t step, double rate, float scale, bool is_finite) override {
    StepTimes times;
    const Stopwatch watch;
    scale *= clip_factor(parameters_.gradients(), clip_norm_, scale);
    if (scale != 1)
      for (float& g : parameters_.gradients()) g *= scale;
    if (group_->rank() == 0) {
      if (is_finite)
        times.staleness = messages_.exchange(step, rate);
      else
        messages_.ask_for_step();
    }
    if (group_->size() > 1) {
      group_->broadcast(Buffer::of(parameters_.weights()), 0, {.name = "weights"});
      group_->broadcast(Buffer::of(std::span(&messages_.next_step(), 1)), 0, {.name = "next step"});
    }
    times.waited = watch.seconds();
    return times;
  }

  // All ranks take the weights that the first group fetched last.
  void agree() override {
    workers_->broadcast(Buffer::of(parameters_.weights()), 0, {.name = "weights"});
  }

  bool trains() const override { return workers_ != nullptr; }
  comm::Communicator& workers() override { return *workers_; }
  comm::Communicator& group() override { return *group_; }
  int group_size() override { return group_size_; }
  int groups() const override { return groups_; }
  int group_number() const override { return group_number_; }
  std::int64_t first_step(std::int64_t start) override {
    messages_.next_step() = start + groups_ + group_number_;
    return start + group_number_;
  }
  std::int64_t next_step(std::int64_t) override { return messages_.next_step(); }

  void leave() override {
    if (group_->rank() == 0) messages_.leave();
  }
  void serve(std::int64_t start) override { messages_.serve(start); }

 private:
  void lower_momentum(Optimizer& optimizer) const {
    UpdateSettings settings = optimizer.settings();
    const double share = 1.0 / groups_;
    settings.momentum = std::max(0.0, (settings.momentum - (1 - share)) / share);
    optimizer = Optimizer(settings, optimizer.segments());
  }

  FlatParameters& parameters_;
  const double clip_norm_;
  const int groups_;
  int group_number_ = 0, group_size_ = 1;
  ServerMessages messages_;
  std::unique_ptr<comm::Communicator> group_, workers_;
  std::optional<NonFiniteCheck> nonfinite_check_;  // on ranks that train
};

}  // namespace

std::unique_ptr<Strategy> make_parameter_servers(const StrategyContext& context, bool is_async) {
  return std::make_unique<ParameterServers>(context, is_async);
}

}  // namespace tutti::train
