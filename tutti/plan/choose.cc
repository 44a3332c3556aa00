#include "tutti/plan/choose.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "tutti/plan/algorithms/table.h"
#include "tutti/plan/candidates.h"
#include "tutti/plan/cost.h"

namespace tutti::plan {
namespace {

// Size class of a message: one class per power of two.
int size_class_of(double bytes) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(bytes)));
}

// Returns the fastest measurement of one size class, excluding `winner` if it is given.
const Measurement* fastest(std::span<const Measurement> measured, Collective collective,
                           int size_class, const Measurement* winner = nullptr) {
  const Measurement* best = nullptr;
  for (const Measurement& m : measured) {
    const bool is_of_class = size_class_of(static_cast<double>(m.bytes)) == size_class;
    if (m.collective != collective || !is_of_class || &m == winner) continue;
    if (best == nullptr || m.choice.seconds < best->choice.seconds) best = &m;
  }
  return best;
}

// Returns the fastest measured choice of this size class. If the class was not measured, compares the winners of the
// nearest classes below and above with the cost model.
std::optional<Choice> by_measurement(const topo::Grid& grid, const Request& request,
                                     std::span<const Measurement> measured) {
  const int size_class = size_class_of(bytes_of(request));
  const Measurement* exact = fastest(measured, request.collective, size_class);
  if (exact != nullptr && try_predict(grid, request, exact->choice)) {
    Choice choice = exact->choice;
    choice.reason =
        fmt::format("fastest measured at {} bytes, {:.1f} us", exact->bytes, 1e6 * choice.seconds);
    if (const auto* next = fastest(measured, request.collective, size_class, exact)) {
      choice.reason +=
          fmt::format(", next {} {:.1f} us", next->choice.text(), 1e6 * next->choice.seconds);
    }
    return choice;
  }
  std::optional<Choice> best;
  for (const int direction : {-1, 1}) {
    const Measurement* found = nullptr;
    for (int c = size_class + direction; c >= 0 && c <= 64 && found == nullptr; c += direction) {
      found = fastest(measured, request.collective, c);
    }
    if (found == nullptr) continue;
    Choice choice = with_defaults(grid, request, found->choice);
    const auto seconds = try_predict(grid, request, choice);
    if (!seconds) continue;
    choice.seconds = *seconds;
    choice.reason =
        fmt::format("fastest measured at {} bytes, predicted for this size", found->bytes);
    if (!best || choice.seconds < best->seconds) best = choice;
  }
  return best;
}

// Returns the algorithms of the mode: one per dimension, or the last one over all remaining dimensions. Returns nullopt
// if they do not support this collective.
std::optional<Choice> by_mode(const topo::Grid& grid, const Request& request, const Mode& mode) {
  auto each = mode.algorithms_on(grid);
  const bool fits_slot = bytes_of(request) <= static_cast<double>(kMaxSlotBytes);
  const auto is_by_size = [&](const std::string& name) {
    return name == "direct" || (name == "host_eager" && !fits_slot);
  };
  if (reduces_on_host(grid, request) && std::all_of(each.begin(), each.end(), is_by_size)) {
    each = {row_on_host(grid, request)};
  }
  auto as_one = each;
  while (as_one.size() > 1 && as_one[as_one.size() - 2] != "direct") as_one.pop_back();
  as_one.back() = each.back();
  for (const auto& names : {each, as_one}) {
    Choice choice = with_defaults(grid, request, {names});
    const auto seconds = try_predict(grid, request, choice);
    if (!seconds) continue;
    choice.seconds = *seconds;
    choice.reason = "by option";
    return choice;
  }
  if (request.collective == Collective::kAllReduce && !request.reproducible) {
    predict(grid, request, {each});  // throws with the reason
  }
  return std::nullopt;
}

// All ranks on one host: the message size decides. host_direct uses its fallback protocol for caller-allocated memory.
Choice by_size(const topo::Grid& grid, const Request& request,
               std::span<const Measurement> measured) {
  Choice choice = candidates(grid, request).front();
  const auto* known = fastest(measured, request.collective, size_class_of(bytes_of(request)));
  const bool is_measured = known && known->choice.algorithms == choice.algorithms;
  if (is_measured) choice.seconds = known->choice.seconds;
  choice.reason =
      fmt::format("{} {:.1f} us", is_measured ? "measured" : "predicted", 1e6 * choice.seconds);
  if (choice.algorithms[0] == "host_direct") {
    const Choice staged = with_defaults(grid, request, {{"host_staged"}});
    choice.reason += fmt::format(" in library memory; other memory {}, predicted {:.1f} us",
                                 staged.text(), 1e6 * predict(grid, request, staged));
  } else {
    choice.reason += fmt::format("; vectors up to {} bytes", request.eager_bytes);
  }
  return choice;
}

Choice by_model(const topo::Grid& grid, const Request& request) {
  const auto all = candidates(grid, request);
  Choice choice = all.front();
  choice.reason = all.size() == 1
                      ? "the only one that can"
                      : fmt::format("predicted {:.1f} us, next {} {:.1f} us", 1e6 * choice.seconds,
                                    all[1].text(), 1e6 * all[1].seconds);
  return choice;
}

Choice with_override(Choice choice, const Request& request, const Override& override) {
  if (override.lanes > 0 && is_on_vector(request.collective)) choice.lanes = override.lanes;
  if (find_algorithm(choice.algorithms.back())->is_one_step) choice.lanes = 1;
  return choice;
}

}  // namespace

Choice choose(const topo::Grid& grid, const Request& request, std::span<const Measurement> measured,
              const Override& override) {
  std::optional<Choice> choice;
  const bool has_mode = !override.mode.algorithms.empty();
  if (has_mode) choice = by_mode(grid, request, override.mode);
  if (!choice && reduces_on_host(grid, request)) choice = by_size(grid, request, measured);
  if (!choice && !has_mode && !request.reproducible)
    choice = by_measurement(grid, request, measured);
  if (!choice) {
    choice = by_model(grid, request);
    if (has_mode) {
      choice->reason =
          fmt::format("the mode's algorithms do not support {}{}: {}", name_of(request.collective),
                      request.reproducible ? " reproducibly" : "", choice->reason);
    }
  }
  return with_override(*std::move(choice), request, override);
}

}  // namespace tutti::plan
