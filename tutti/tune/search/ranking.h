// Order of trials from best to worst.
#pragma once

#include <cstdint>
#include <vector>

#include "tutti/tune/history.h"

namespace tutti::tune {

// Fronts of non-dominated trials: the front of each of `numbers`, 0 for the best. With one objective, equal losses
// share a front.
std::vector<int> front_ranks(const History& history, const std::vector<std::int64_t>& numbers);

// Crowding distances of NSGA-II of trials of one front: large where a trial has few neighbours.
std::vector<double> crowding_distances(const History& history,
                                       const std::vector<std::int64_t>& numbers);

// Moves the best `count` of the finished trials `numbers` to its beginning; both parts keep their order. Best
// first: complete by loss (front and crowding distance if there are several objectives), pruned by last step and then
// report, infeasible by violation.
void split_best(const History& history, std::vector<std::int64_t>& numbers, std::size_t count);

}  // namespace tutti::tune
