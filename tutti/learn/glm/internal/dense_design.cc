#include "tutti/learn/glm/internal/dense_design.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "tutti/learn/internal/vector_kernels.h"

namespace tutti::learn {
namespace {

constexpr std::int64_t kTilesAtOnce = 8;  // blocks of rows that are added to the Gram matrix
constexpr std::int64_t kGramRows = 2 * kPadding;

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
DenseDesign<T>::DenseDesign(RowStream& stream, Threads& threads, comm::Communicator* ranks)
    : Design<T>(stream.file().rows(), stream.file().schema().columns,
                std::min(kMostPartsOfStream, parts_for(stream.file().rows())), threads, ranks,
                &stream),
      stride_of_rows_(stream.file().schema().columns) {}

template <class T>
void DenseDesign<T>::show(const Matrix& rows, std::int64_t first) const {
  values_ = static_cast<const T*>(rows.values);
  first_ = first;
}

template <class T>
void DenseDesign<T>::multiply(const T* vector, T constant, T* products) const {
  this->for_data_blocks([&](std::int64_t, std::int64_t begin, std::int64_t end) {
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
  this->for_data_blocks([&](std::int64_t part, std::int64_t begin, std::int64_t end) {
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

// The Gram matrix is shared out by its rows, so that there is one of it, whatever the number of
// threads; what is added to it comes in the order of the blocks.
template <class T>
void DenseDesign<T>::block_gram(const T* curvature, std::int64_t block, std::int64_t stride,
                                std::vector<double>& gram) {
  const std::int64_t width = (block + 1 + kPadding - 1) / kPadding * kPadding;
  std::vector<double> padded(width * width);
  std::vector<T> tiles(kTilesAtOnce * kBlockRows * width);
  const auto add_tiles = [&](const Matrix& rows, std::int64_t first) {
    const std::int64_t blocks = (rows.rows + kBlockRows - 1) / kBlockRows;
    const std::int64_t selected = (blocks + stride - 1) / stride;
    for (std::int64_t next = 0; next < selected; next += kTilesAtOnce) {
      const std::int64_t count = std::min(kTilesAtOnce, selected - next);
      const auto begin_of = [&](std::int64_t i) {
        return first + (next + i) * stride * kBlockRows;
      };
      const auto rows_of = [&](std::int64_t i) {
        return std::min(kBlockRows, first + rows.rows - begin_of(i));
      };
      this->threads_.run(count, [&](std::int64_t i) {
        T* tile = tiles.data() + i * kBlockRows * width;
        fill_rows<T>(row(begin_of(i)), stride_of_rows_, rows_of(i), block, nullptr, width, tile);
        scale_rows_by_root(curvature + begin_of(i), rows_of(i), width, tile);
      });
      this->threads_.for_range(width, kGramRows, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = 0; i < count; ++i)
          add_gram(tiles.data() + i * kBlockRows * width, rows_of(i), width, begin, end,
                   padded.data());
      });
    }
  };
  if (this->is_streamed()) {
    this->stream_->for_residents(this->threads_, [&](const Matrix& rows, std::int64_t first) {
      show(rows, first);
      add_tiles(rows, first);
    });
  } else {
    add_tiles(matrix_, 0);
  }
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
