#include "tutti/learn/glm/internal/dense_design.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tutti/learn/internal/vector_kernels.h"

namespace tutti::learn {
namespace {

std::int64_t parts_for(std::int64_t rows) {
  return static_cast<std::int64_t>(std::bit_floor(
      static_cast<std::uint64_t>(std::clamp<std::int64_t>(rows / (4 * kBlockRows), 1, 64))));
}

}  // namespace

template <class T>
DenseDesign<T>::DenseDesign(Matrix row_major, Threads& threads, comm::Communicator* ranks)
    : Design<T>(row_major.rows, row_major.columns, parts_for(row_major.rows), threads, ranks),
      matrix_(std::move(row_major)),
      values_(static_cast<const T*>(matrix_.values)),
      stride_of_rows_(matrix_.row_stride) {}

template <class T>
void DenseDesign<T>::multiply(const T* vector, T constant, T* products) const {
  this->for_blocks([&](std::int64_t, std::int64_t begin, std::int64_t end) {
    multiply_rows(row(begin), stride_of_rows_, end - begin, this->columns_, vector, constant,
                  products + begin);
  });
}

template <class T>
void DenseDesign<T>::sum_vectors(std::int64_t count,
                                 const std::function<void(std::int64_t, std::int64_t, T*)>& body,
                                 double* target) {
  std::vector<std::vector<double>> sums(this->parts_);
  std::vector<std::vector<T>> block_sums(this->parts_);
  this->for_blocks([&](std::int64_t part, std::int64_t begin, std::int64_t end) {
    if (sums[part].empty()) {
      sums[part].assign(count, 0);
      block_sums[part].resize(count);
    }
    std::fill(block_sums[part].begin(), block_sums[part].end(), T{0});
    body(begin, end, block_sums[part].data());
    add_to_double(block_sums[part].data(), count, sums[part].data());
  });
  std::fill(target, target + count, 0.0);
  for (const auto& part : sums)
    if (!part.empty()) add_to_double(part.data(), count, target);
  this->sum_over_ranks(target, count);
}

template <class T>
void DenseDesign<T>::transpose_multiply(const T* factors, T* target) {
  std::vector<double> sums(this->columns_);
  sum_vectors(
      this->columns_,
      [&](std::int64_t begin, std::int64_t end, T* block) {
        add_rows(row(begin), stride_of_rows_, end - begin, this->columns_, factors + begin, block);
      },
      sums.data());
  std::copy(sums.begin(), sums.end(), target);
}

template <class T>
void DenseDesign<T>::gradient_and_diagonal(const T* first, const T* second, T* gradient,
                                           T* diagonal) {
  const std::int64_t columns = this->columns_;
  std::vector<double> sums(2 * columns);
  sum_vectors(
      2 * columns,
      [&](std::int64_t begin, std::int64_t end, T* block) {
        add_rows(row(begin), stride_of_rows_, end - begin, columns, first + begin, block);
        for (std::int64_t r = begin; r < end; ++r) {
          const T* values = row(r);
          for (std::int64_t j = 0; j < columns; ++j)
            block[columns + j] += second[r] * values[j] * values[j];
        }
      },
      sums.data());
  std::copy(sums.begin(), sums.begin() + columns, gradient);
  std::copy(sums.begin() + columns, sums.end(), diagonal);
}

template <class T>
double DenseDesign<T>::curvature_multiply(const T* vector, T constant, const T* curvature,
                                          T* products, T* target) {
  const std::int64_t columns = this->columns_;
  constexpr std::int64_t kAtOnce = 8;  // rows that are still in the first cache when added
  std::vector<double> sums(columns + 1);
  sum_vectors(
      columns + 1,
      [&](std::int64_t begin, std::int64_t end, T* block) {
        for (std::int64_t r = begin; r < end; r += kAtOnce) {
          const std::int64_t count = std::min(kAtOnce, end - r);
          multiply_rows(row(r), stride_of_rows_, count, columns, vector, constant, products + r);
          T factors[kAtOnce];
          for (std::int64_t i = 0; i < count; ++i) {
            factors[i] = curvature[r + i] * products[r + i];
            block[columns] += factors[i];
          }
          add_rows(row(r), stride_of_rows_, count, columns, factors, block);
        }
      },
      sums.data());
  std::copy(sums.begin(), sums.end() - 1, target);
  return sums.back();
}

template <class T>
void DenseDesign<T>::block_gram(const T* curvature, std::int64_t block, std::int64_t stride,
                                std::vector<double>& gram) {
  const std::int64_t width = (block + 1 + kPadding - 1) / kPadding * kPadding;
  const std::int64_t before = this->stride_;
  this->stride_ = stride;
  std::vector<std::vector<double>> grams(this->parts_);
  std::vector<std::vector<T>> tiles(this->parts_);
  this->for_blocks([&](std::int64_t part, std::int64_t begin, std::int64_t end) {
    grams[part].resize(width * width);
    tiles[part].resize(kBlockRows * width);
    T* tile = tiles[part].data();
    fill_rows<T>(row(begin), stride_of_rows_, end - begin, block, nullptr, width, tile);
    scale_rows_by_root(curvature + begin, end - begin, width, tile);
    add_gram(tile, end - begin, width, grams[part].data());
  });
  this->stride_ = before;
  gram.assign((block + 1) * (block + 1), 0);
  for (const auto& part : grams) {
    if (part.empty()) continue;
    for (std::int64_t i = 0; i <= block; ++i)
      for (std::int64_t j = i; j <= block; ++j) gram[i * (block + 1) + j] += part[i * width + j];
  }
  this->sum_over_ranks(gram.data(), static_cast<std::int64_t>(gram.size()));
  for (std::int64_t i = 0; i <= block; ++i)
    for (std::int64_t j = 0; j < i; ++j) gram[i * (block + 1) + j] = gram[j * (block + 1) + i];
}

template class DenseDesign<float>;
template class DenseDesign<double>;

}  // namespace tutti::learn
