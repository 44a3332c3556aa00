// Vector kernel of the Parzen estimator.
#pragma once

#include <cstddef>

namespace tutti::tune {

// logs[k] -= ((x - positions[k]) * inverse_widths[k])^2 / 2 for k < count.
void subtract_half_squares(const float* positions, const float* inverse_widths, float x,
                           float* logs, std::size_t count);

// logs[k] += observed[k] == choice ? same : other for k < count.
void add_where_equal(const float* observed, float choice, float same, float other, float* logs,
                     std::size_t count);

// The logarithm of the sum of exp(logs[k]) for k < count; -infinity if `count` is 0.
double log_sum_exp(const float* logs, std::size_t count);

}  // namespace tutti::tune
