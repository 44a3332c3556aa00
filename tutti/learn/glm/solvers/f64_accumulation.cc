#include "tutti/learn/glm/solvers/f64_accumulation.h"

#include "tutti/learn/base/vector_kernels.h"

namespace tutti::learn {
namespace {

// A block of shifted rows.
template <class T>
void widen(const T* rows, std::int64_t stride, std::int64_t count, std::int64_t columns,
           const std::vector<T>& shift, double* tile) {
  for (std::int64_t r = 0; r < count; ++r)
    for (std::int64_t j = 0; j < columns; ++j)
      tile[r * columns + j] = static_cast<double>(rows[r * stride + j]) -
                              (shift.empty() ? 0.0 : static_cast<double>(shift[j]));
}

}  // namespace

template <class T>
F64Sums f64_sums(const Problem<T>& problem, const DenseDesign<T>& design,
                 const std::vector<double>& weights, const std::vector<T>& shift) {
  const std::int64_t columns = design.columns();
  F64Sums sums;
  sums.first.resize(design.rows());
  sums.second.resize(design.rows());
  std::vector<std::vector<double>> parts(design.parts()), tiles(design.parts());
  design.for_row_blocks(
      [&](std::int64_t part, std::int64_t begin, std::int64_t end, const T* rows) {
        parts[part].resize(columns + 2);  // gradient, gradient of the intercept, loss
        tiles[part].resize(kBlockRows * columns);
        const std::int64_t count = end - begin;
        double* const tile = tiles[part].data();
        double* const total = parts[part].data();
        widen(rows, design.stride_of_rows(), count, columns, shift, tile);
        double margins[kBlockRows], labels[kBlockRows], row_weights[kBlockRows];
        multiply_rows(tile, columns, count, columns, weights.data(), weights[columns], margins);
        std::copy_n(problem.labels.begin() + begin, count, labels);
        if (!problem.weights.empty())
          std::copy_n(problem.weights.begin() + begin, count, row_weights);
        double* const first = sums.first.data() + begin;
        total[columns + 1] += loss_terms(problem.options.loss, margins, labels,
                                         problem.weights.empty() ? nullptr : row_weights, count,
                                         first, sums.second.data() + begin);
        add_rows(tile, columns, count, columns, first, total);
        for (std::int64_t r = 0; r < count; ++r) total[columns] += first[r];
      });
  std::vector<double> total(columns + 2);
  for (const auto& part : parts)
    if (!part.empty()) add_to_double(part.data(), columns + 2, total.data());
  if (design.ranks() != nullptr) design.ranks()->all_reduce(Buffer::of(std::span<double>(total)));
  sums.loss = total[columns + 1];
  sums.gradient.assign(total.begin(), total.end() - 1);
  return sums;
}

template F64Sums f64_sums(const Problem<float>&, const DenseDesign<float>&,
                          const std::vector<double>&, const std::vector<float>&);
template F64Sums f64_sums(const Problem<double>&, const DenseDesign<double>&,
                          const std::vector<double>&, const std::vector<double>&);

}  // namespace tutti::learn
