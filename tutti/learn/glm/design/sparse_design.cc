#include "tutti/learn/glm/design/sparse_design.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

#include "tutti/learn/base/huge_pages.h"

namespace tutti::learn {
namespace {

// With fewer columns the whole vector fits into the cache.
constexpr std::int64_t kManyColumns = 16384;
// Columns whose f32 sums are flushed into f64 sums regularly, because they have hundreds of thousands of terms. Rarer
// columns have few terms.
constexpr std::int64_t kFrequentColumns = 4096;
constexpr std::int64_t kBlocksPerEmptying = 8;

// Each part has a vector of all columns. With more parts, adding them up would cost more than the rows.
std::int64_t parts_for(std::int64_t rows, std::int64_t columns, std::int64_t entries) {
  const std::int64_t most = entries / (4 * std::max<std::int64_t>(1, columns));
  const std::int64_t by_rows = rows / (4 * kBlockRows);
  return static_cast<std::int64_t>(std::bit_floor(
      static_cast<std::uint64_t>(std::clamp<std::int64_t>(std::min(most, by_rows), 1, 64))));
}

// Returns the non-empty columns by descending frequency; ties keep their order.
std::vector<std::int32_t> most_frequent_first(const std::vector<std::int32_t>& counts) {
  const std::int32_t most = counts.empty() ? 0 : *std::max_element(counts.begin(), counts.end());
  std::vector<std::int64_t> next(most + 2);  // next[c]: columns with more than c entries
  for (const std::int32_t count : counts) ++next[count];
  std::int64_t before = 0;
  for (std::int64_t c = most + 1; c >= 0; --c) before += std::exchange(next[c], before);
  std::vector<std::int32_t> order(next[0]);
  for (std::size_t j = 0; j < counts.size(); ++j)
    if (counts[j] > 0) order[next[counts[j]]++] = static_cast<std::int32_t>(j);
  return order;
}

}  // namespace

template <class T>
SparseDesign<T>::SparseDesign(Matrix by_rows, Threads& threads, comm::Communicator* ranks)
    : DesignMatrix<T>(by_rows.rows, by_rows.columns,
                      parts_for(by_rows.rows, by_rows.columns, by_rows.entries()), threads, ranks),
      matrix_(std::move(by_rows)),
      view_{matrix_.offsets, matrix_.indices, static_cast<const T*>(matrix_.values),
            matrix_.implicit == Implicit::kUnitNorm} {
  if (this->columns_ > kManyColumns) reorder();
  sums_.resize(this->parts_);
  frequent_.resize(this->parts_);
}

template <class T>
SparseDesign<T>::SparseDesign(RowStream& stream, Threads& threads, comm::Communicator* ranks)
    : DesignMatrix<T>(stream.file().rows(), stream.file().schema().columns,
                      std::min(kMaxPartsOfStream,
                               parts_for(stream.file().rows(), stream.file().schema().columns,
                                         stream.file().entries())),
                      threads, ranks, &stream),
      view_{} {
  if (this->columns_ > kManyColumns) reorder();
  sums_.resize(this->parts_);
  frequent_.resize(this->parts_);
}

// Row indices and offsets are relative to the first row of the chunk.
template <class T>
void SparseDesign<T>::show(const Matrix& rows, std::int64_t first) const {
  view_ = {rows.offsets - first, rows.indices, static_cast<const T*>(rows.values),
           rows.implicit == Implicit::kUnitNorm};
}

// Returns the number of entries of each column.
template <class T>
std::vector<std::int32_t> SparseDesign<T>::count_columns() const {
  std::vector<std::vector<std::int32_t>> counts(this->parts_);
  this->for_data_blocks([&](std::int64_t part, std::int64_t begin, std::int64_t end) {
    if (counts[part].empty()) counts[part].assign(this->columns_, 0);
    for (std::int64_t i = view_.offsets[begin]; i < view_.offsets[end]; ++i)
      ++counts[part][view_.indices[i]];
  });
  counts[0].resize(this->columns_);
  for (std::int64_t part = 1; part < this->parts_; ++part)
    for (std::size_t j = 0; j < counts[part].size(); ++j) counts[0][j] += counts[part][j];
  return counts[0];
}

template <class T>
void SparseDesign<T>::reorder() {
  const std::int64_t columns = this->columns_;
  std::vector<std::int32_t> count = count_columns();
  this->sum_over_ranks(count.data(), columns);
  order_ = most_frequent_first(count);
  std::vector<std::int32_t> new_index(columns);
  for (std::size_t j = 0; j < order_.size(); ++j)
    new_index[order_[j]] = static_cast<std::int32_t>(j);
  this->columns_ = static_cast<std::int64_t>(order_.size());
  if (this->is_streamed()) {
    new_index_ = std::move(new_index);
    return this->stream_->remap_columns(new_index_, this->threads_);
  }
  const std::int64_t entries = matrix_.entries();
  indices_ = std::make_unique_for_overwrite<std::int32_t[]>(entries);
  prefer_huge_pages(indices_.get(), static_cast<std::size_t>(entries) * sizeof(std::int32_t));
  this->threads_.for_range(entries, 1 << 18, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) indices_[i] = new_index[matrix_.indices[i]];
  });
  view_.indices = indices_.get();
}

template <class T>
void SparseDesign<T>::multiply(const T* vector, T constant, T* products) const {
  this->for_data_blocks([&](std::int64_t, std::int64_t begin, std::int64_t end) {
    multiply_sparse(view_, begin, end, vector, constant, products);
  });
}

template <class T>
void SparseDesign<T>::sum_scattered(std::int64_t width,
                                    const std::function<void(std::int64_t, std::int64_t, T*)>& body,
                                    T* target) {
  const std::int64_t count = width * this->columns_;
  const std::int64_t frequent = std::min(count, width * kFrequentColumns);
  std::vector<std::int64_t> blocks(this->parts_, -1);
  const auto empty_frequent = [&](std::int64_t part) {
    add_to_double(sums_[part].data(), frequent, frequent_[part].data());
    std::fill(sums_[part].begin(), sums_[part].begin() + frequent, T{0});
  };
  this->threads_.run(this->parts_, [&](std::int64_t part) {
    sums_[part].assign(count, T{0});
    frequent_[part].assign(frequent, 0.0);
  });
  this->for_data_blocks([&](std::int64_t part, std::int64_t begin, std::int64_t end) {
    if (sizeof(T) == 4 && ++blocks[part] % kBlocksPerEmptying == 0) empty_frequent(part);
    body(begin, end, sums_[part].data());
  });
  for (std::int64_t part = 0; part < this->parts_; ++part) empty_frequent(part);
  this->add_parts(sums_, count, target);
  for (std::int64_t j = 0; j < frequent; ++j) {
    double sum = 0;
    for (const auto& part : frequent_) sum += part[j];
    target[j] = static_cast<T>(sum);
  }
  this->sum_over_ranks(target, count);
}

template <class T>
void SparseDesign<T>::transpose_multiply(const T* factors, T* target) {
  sum_scattered(
      1,
      [&](std::int64_t begin, std::int64_t end, T* sums) {
        add_sparse(view_, begin, end, factors, sums);
      },
      target);
}

template <class T>
void SparseDesign<T>::gradient_and_diagonal(const T* first, const T* second, T* gradient,
                                            T* diagonal) {
  sum_pairs([&](std::int64_t begin, std::int64_t end,
                T* sums) { add_sparse_pairs(view_, begin, end, first, second, sums); },
            gradient, diagonal);
}

template <class T>
void SparseDesign<T>::multiply_and_gradient(const T* vector, T constant, const FillBody& fill,
                                            T* products, const T* first, const T* second,
                                            T* gradient, T* diagonal) {
  sum_pairs(
      [&](std::int64_t begin, std::int64_t end, T* sums) {
        multiply_sparse(view_, begin, end, vector, constant, products);
        fill(begin, end);
        add_sparse_pairs(view_, begin, end, first, second, sums);
      },
      gradient, diagonal);
}

template <class T>
void SparseDesign<T>::sum_pairs(const std::function<void(std::int64_t, std::int64_t, T*)>& body,
                                T* evens, T* odds) {
  std::vector<T> pairs(2 * this->columns_);
  sum_scattered(2, body, pairs.data());
  for (std::int64_t j = 0; j < this->columns_; ++j) {
    evens[j] = pairs[2 * j];
    odds[j] = pairs[2 * j + 1];
  }
}

template <class T>
double SparseDesign<T>::curvature_multiply(const T* vector, T constant, const T* curvature,
                                           T* products, T* target) {
  sum_scattered(
      1,
      [&](std::int64_t begin, std::int64_t end, T* sums) {
        add_sparse_curvature(view_, begin, end, vector, constant, curvature, products, sums);
      },
      target);
  return this->sum_blocks([&](std::int64_t begin, std::int64_t end) {
    double sum = 0;
    for (std::int64_t r = begin; r < end; ++r)
      sum += static_cast<double>(curvature[r] * products[r]);
    return sum;
  });
}

template <class T>
void SparseDesign<T>::block_gram(const T* curvature, std::int64_t block, std::int64_t stride,
                                 std::vector<double>& gram) {
  const std::int64_t before = this->stride_, width = block + 1;
  this->stride_ = stride;
  std::vector<std::vector<double>> grams(this->parts_);
  this->for_data_blocks([&](std::int64_t part, std::int64_t begin, std::int64_t end) {
    grams[part].resize(width * width);
    std::vector<std::pair<std::int64_t, double>> row;
    for (std::int64_t r = begin; r < end; ++r) {
      row.clear();
      const std::int64_t count = view_.offsets[r + 1] - view_.offsets[r];
      const T implicit = view_.has_unit_norm ? 1 / std::sqrt(static_cast<T>(count)) : T{1};
      for (std::int64_t i = view_.offsets[r]; i < view_.offsets[r + 1]; ++i)
        if (view_.indices[i] < block)
          row.emplace_back(view_.indices[i], view_.values != nullptr ? view_.values[i] : implicit);
      row.emplace_back(block, 1.0);
      for (std::size_t a = 0; a < row.size(); ++a) {
        const double factor = static_cast<double>(curvature[r]) * row[a].second;
        for (std::size_t b = 0; b <= a; ++b) {
          const auto [low, high] = std::minmax(row[a].first, row[b].first);
          grams[part][high * width + low] += factor * row[b].second;
        }
      }
    }
  });
  this->stride_ = before;
  gram.assign(width * width, 0);
  for (const auto& part : grams)
    for (std::size_t i = 0; i < part.size(); ++i) gram[i] += part[i];
  this->sum_over_ranks(gram.data(), width * width);
  for (std::int64_t i = 0; i < width; ++i)
    for (std::int64_t j = 0; j < i; ++j) gram[j * width + i] = gram[i * width + j];
}

template class SparseDesign<float>;
template class SparseDesign<double>;

}  // namespace tutti::learn
