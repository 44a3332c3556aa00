#include "tutti/learn/glm/design/dense_design.h"

#include <algorithm>
#include <bit>

#include "tutti/learn/base/vector_kernels.h"
#include "tutti/learn/glm/design/narrow_rows.h"

namespace tutti::learn {
namespace {

constexpr std::int64_t kTilesAtOnce = 8;  // blocks of rows added to the Gram matrix together
constexpr std::int64_t kGramRows = 2 * kPadding;
// Rows that stay in the L1 or L2 cache until they are used again.
constexpr std::int64_t kAtOnce = 8;
static_assert(kBlockRows <= kMaxNarrowRows);

std::int64_t parts_for(std::int64_t rows) {
  return static_cast<std::int64_t>(std::bit_floor(
      static_cast<std::uint64_t>(std::clamp<std::int64_t>(rows / (4 * kBlockRows), 1, 64))));
}

}  // namespace

template <class T>
DenseDesign<T>::DenseDesign(Matrix row_major, Threads& threads, comm::Communicator* ranks)
    : DesignMatrix<T>(row_major.rows, row_major.columns, parts_for(row_major.rows), threads, ranks),
      matrix_(std::move(row_major)),
      values_(static_cast<const T*>(matrix_.values)),
      stride_of_rows_(matrix_.row_stride) {}

template <class T>
DenseDesign<T>::DenseDesign(RowStream& stream, Threads& threads, comm::Communicator* ranks)
    : DesignMatrix<T>(stream.file().rows(), stream.file().schema().columns,
                      std::min(kMaxPartsOfStream, parts_for(stream.file().rows())), threads, ranks,
                      &stream),
      stride_of_rows_(stream.file().schema().columns) {}

template <class T>
void DenseDesign<T>::show(const Matrix& rows, std::int64_t first) const {
  values_ = static_cast<const T*>(rows.values);
  first_ = first;
}

template <class T>
void DenseDesign<T>::for_row_blocks(const RowsBody& body) const {
  if (!this->is_streamed() || this->stride_ > 1)
    return this->for_data_blocks([&](std::int64_t part, std::int64_t begin, std::int64_t end) {
      body(part, begin, end, row(begin));
    });
  this->stream_->for_parts(this->threads_, this->selected_chunks(), {this->parts_, kBlockRows},
                           [&](std::int64_t part, const Matrix& rows, std::int64_t first,
                               std::int64_t begin, std::int64_t end) {
                             const T* values = static_cast<const T*>(rows.values);
                             for (std::int64_t at = begin; at < end; at += kBlockRows)
                               body(part, first + at, first + std::min(end, at + kBlockRows),
                                    values + at * stride_of_rows_);
                           });
}

template <class T>
void DenseDesign<T>::multiply(const T* vector, T constant, T* products) const {
  for_row_blocks([&](std::int64_t, std::int64_t begin, std::int64_t end, const T* rows) {
    multiply_rows(rows, stride_of_rows_, end - begin, this->columns_, vector, constant,
                  products + begin);
  });
}

template <class T>
typename DenseDesign<T>::Block DenseDesign<T>::sub_block(const Block& block,
                                                         std::int64_t begin) const {
  return {begin, std::min(block.end, begin + kAtOnce),
          block.rows + (begin - block.begin) * stride_of_rows_};
}

template <class T>
void DenseDesign<T>::sum_vectors(std::int64_t count,
                                 const std::function<void(const Block&, T*)>& body,
                                 double* target) {
  std::vector<std::vector<double>> sums(this->parts_);
  std::vector<std::vector<T>> block_sums(this->parts_);
  for_row_blocks([&](std::int64_t part, std::int64_t begin, std::int64_t end, const T* rows) {
    if (sums[part].empty()) {
      sums[part].assign(count, 0);
      block_sums[part].resize(count);
    }
    std::fill(block_sums[part].begin(), block_sums[part].end(), T{0});
    body({begin, end, rows}, block_sums[part].data());
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
      [&](const Block& block, T* into) {
        add_rows(block.rows, stride_of_rows_, block.end - block.begin, this->columns_,
                 factors + block.begin, into);
      },
      sums.data());
  std::copy(sums.begin(), sums.end(), target);
}

// `sums` contains the gradient, then the diagonal.
template <class T>
void DenseDesign<T>::add_gradient(const Block& block, const T* first, const T* second,
                                  T* sums) const {
  const std::int64_t columns = this->columns_, count = block.end - block.begin;
  add_rows(block.rows, stride_of_rows_, count, columns, first + block.begin, sums);
  add_squares(block.rows, stride_of_rows_, count, columns, second + block.begin, sums + columns);
}

template <class T>
void DenseDesign<T>::gradient_and_diagonal(const T* first, const T* second, T* gradient,
                                           T* diagonal) {
  const std::int64_t columns = this->columns_;
  std::vector<double> sums(2 * columns);
  sum_vectors(
      2 * columns,
      [&](const Block& block, T* into) {
        for (std::int64_t r = block.begin; r < block.end; r += kAtOnce)
          add_gradient(sub_block(block, r), first, second, into);
      },
      sums.data());
  std::copy(sums.begin(), sums.begin() + columns, gradient);
  std::copy(sums.begin() + columns, sums.end(), diagonal);
}

template <class T>
void DenseDesign<T>::multiply_and_gradient(const T* vector, T constant, const FillBody& fill,
                                           T* products, const T* first, const T* second,
                                           T* gradient, T* diagonal) {
  const std::int64_t columns = this->columns_;
  std::vector<double> sums(2 * columns);
  sum_vectors(
      2 * columns,
      [&](const Block& block, T* into) {
        for (std::int64_t r = block.begin; r < block.end; r += kAtOnce) {
          const Block near = sub_block(block, r);
          multiply_rows(near.rows, stride_of_rows_, near.end - r, columns, vector, constant,
                        products + r);
          fill(r, near.end);
          add_gradient(near, first, second, into);
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
  std::vector<double> sums(columns + 1);
  sum_vectors(
      columns + 1,
      [&](const Block& block, T* into) {
        for (std::int64_t r = block.begin; r < block.end; r += kAtOnce) {
          const Block near = sub_block(block, r);
          const std::int64_t count = near.end - r;
          multiply_rows(near.rows, stride_of_rows_, count, columns, vector, constant, products + r);
          T factors[kAtOnce];
          for (std::int64_t i = 0; i < count; ++i) {
            factors[i] = curvature[r + i] * products[r + i];
            into[columns] += factors[i];
          }
          add_rows(near.rows, stride_of_rows_, count, columns, factors, into);
        }
      },
      sums.data());
  std::copy(sums.begin(), sums.end() - 1, target);
  return sums.back();
}

template <class T>
double DenseDesign<T>::step(const T* vector, T constant, const T* curvature, const FirstBody& fill,
                            T* products, T* curved, T* gradient, T* curvature_columns) {
  const std::int64_t columns = this->columns_;
  const std::int64_t vectors = curvature_columns != nullptr ? 3 : 2;
  std::vector<double> sums(vectors * columns + 1);
  sum_vectors(
      vectors * columns + 1,
      [&](const Block& block, T* into) {
        for (std::int64_t r = block.begin; r < block.end; r += kAtOnce) {
          const Block near = sub_block(block, r);
          const std::int64_t count = near.end - r;
          multiply_rows(near.rows, stride_of_rows_, count, columns, vector, constant, products + r);
          T factors[kAtOnce], first[kAtOnce];
          for (std::int64_t i = 0; i < count; ++i) {
            factors[i] = curvature[r + i] * products[r + i];
            into[vectors * columns] += factors[i];
          }
          fill(r, r + count, first);
          add_rows(near.rows, stride_of_rows_, count, columns, factors, into);
          add_rows(near.rows, stride_of_rows_, count, columns, first, into + columns);
          if (vectors == 3)
            add_rows(near.rows, stride_of_rows_, count, columns, curvature + r, into + 2 * columns);
        }
      },
      sums.data());
  std::copy_n(sums.begin(), columns, curved);
  std::copy_n(sums.begin() + columns, columns, gradient);
  if (vectors == 3) std::copy_n(sums.begin() + 2 * columns, columns, curvature_columns);
  return sums.back();
}

template <class T>
void DenseDesign<T>::narrow_gram(const T* curvature, std::int64_t columns,
                                 std::vector<double>& gram) {
  const std::int64_t size = columns + 1;
  std::vector<std::vector<double>> sums(this->parts(), std::vector<double>(size * size));
  std::vector<std::vector<T>> tiles(this->parts());
  for_row_blocks([&](std::int64_t part, std::int64_t begin, std::int64_t end, const T* rows) {
    tiles[part].resize(size * kMaxNarrowRows);
    T* const tile = tiles[part].data();
    fill_columns<T>(rows, stride_of_rows_, end - begin, columns, nullptr, tile);
    add_narrow_gram(tile, end - begin, size, curvature + begin, size, sums[part].data());
  });
  gram.assign(size * size, 0);
  for (const std::vector<double>& part : sums) add_to_double(part.data(), size * size, gram.data());
  for (std::int64_t j = 0; j < size; ++j)
    for (std::int64_t k = j; k < size; ++k) gram[k * size + j] = gram[j * size + k];
  this->sum_over_ranks(gram.data(), size * size);
}

// Threads share the Gram matrix by its rows, so there is one copy for any number of threads. Blocks are added in order.
template <class T>
void DenseDesign<T>::block_gram(const T* curvature, std::int64_t block, std::int64_t stride,
                                std::vector<double>& gram) {
  if (block <= kMaxNarrowColumns && stride == 1 && !this->is_streamed())
    return narrow_gram(curvature, block, gram);
  const std::int64_t width = (block + 1 + kPadding - 1) / kPadding * kPadding;
  std::vector<double> padded(width * width);
  std::vector<T> tiles(kTilesAtOnce * kBlockRows * width);
  std::vector<std::int64_t> rows_of;  // rows of each full tile
  const auto tile = [&](std::int64_t i) { return tiles.data() + i * kBlockRows * width; };
  const auto add_tiles = [&] {
    this->threads_.for_range(width, kGramRows, [&](std::int64_t begin, std::int64_t end) {
      for (std::size_t i = 0; i < rows_of.size(); ++i)
        add_gram(tile(static_cast<std::int64_t>(i)), rows_of[i], width, begin, end, padded.data());
    });
    rows_of.clear();
  };
  const auto take = [&](std::int64_t first, std::int64_t rows) {
    const std::int64_t step = stride * kBlockRows;
    for (std::int64_t begin = 0; begin < rows;) {
      const auto full = static_cast<std::int64_t>(rows_of.size());
      const std::int64_t count = std::min(kTilesAtOnce - full, (rows - begin + step - 1) / step);
      for (std::int64_t i = 0; i < count; ++i)
        rows_of.push_back(std::min(kBlockRows, rows - begin - i * step));
      this->threads_.run(count, [&](std::int64_t i) {
        const std::int64_t from = first + begin + i * step;
        pack_rows(row(from), stride_of_rows_, rows_of[full + i], block, curvature + from, width,
                  tile(full + i));
      });
      begin += count * step;
      if (full + count == kTilesAtOnce) add_tiles();
    }
  };
  if (this->is_streamed()) {
    this->stream_->for_residents(this->threads_, [&](const Matrix& rows, std::int64_t first) {
      show(rows, first);
      take(first, rows.rows);
    });
  } else {
    take(0, matrix_.rows);
  }
  add_tiles();
  const std::int64_t size = block + 1;
  gram.resize(size * size);
  for (std::int64_t i = 0; i < size; ++i)
    for (std::int64_t j = i; j < size; ++j)
      gram[i * size + j] = gram[j * size + i] = padded[i * width + j];
  this->sum_over_ranks(gram.data(), size * size);
}

template class DenseDesign<float>;
template class DenseDesign<double>;

}  // namespace tutti::learn
