#include "tutti/learn/glm/design/design.h"

#include <algorithm>

#include "tutti/learn/glm/design/dense_design.h"
#include "tutti/learn/glm/design/sparse_design.h"

namespace tutti::learn {

template <class T>
DesignMatrix<T>::DesignMatrix(std::int64_t rows, std::int64_t columns, std::int64_t parts,
                              Threads& threads, comm::Communicator* ranks, RowStream* stream)
    : rows_(rows),
      columns_(columns),
      all_columns_(columns),
      parts_(parts),
      total_rows_(rows),
      threads_(threads),
      ranks_(ranks),
      stream_(stream) {
  sum_over_ranks(&total_rows_, 1);
}

template <class T>
std::unique_ptr<DesignMatrix<T>> DesignMatrix<T>::create(const Matrix& matrix, Threads& threads,
                                                         comm::Communicator* ranks) {
  if (matrix.is_sparse())
    return std::make_unique<SparseDesign<T>>(to_storage(matrix, Storage::kCsr, threads), threads,
                                             ranks);
  return std::make_unique<DenseDesign<T>>(to_storage(matrix, Storage::kDense, threads), threads,
                                          ranks);
}

template <class T>
std::unique_ptr<DesignMatrix<T>> DesignMatrix<T>::create(RowStream& stream, Threads& threads,
                                                         comm::Communicator* ranks) {
  if (stream.file().schema().storage == Storage::kDense)
    return std::make_unique<DenseDesign<T>>(stream, threads, ranks);
  return std::make_unique<SparseDesign<T>>(stream, threads, ranks);
}

template <class T>
void DesignMatrix<T>::select(std::int64_t stride) {
  stride_ = stride;
  selected_fraction_ = 1 / static_cast<double>(stride);
  chunks_ = Chunks::kAll;
  blocks_.clear();
}

template <class T>
void DesignMatrix<T>::select_residents() {
  select_chunks(Chunks::kResidents, 0, stream_->file().chunks());
}

template <class T>
void DesignMatrix<T>::select_others(std::int64_t part, std::int64_t parts) {
  const std::int64_t chunks = stream_->file().chunks();
  select_chunks(Chunks::kOthers, chunks * part / parts, chunks * (part + 1) / parts);
}

template <class T>
void DesignMatrix<T>::select_chunks(Chunks which, std::int64_t begin_chunk,
                                    std::int64_t end_chunk) {
  select(1);
  chunks_ = which;
  begin_chunk_ = begin_chunk;
  end_chunk_ = end_chunk;
  std::int64_t first = 0, rows = 0;
  const DataFile& file = stream_->file();
  for (std::int64_t chunk = 0; chunk < end_chunk; first += file.rows_of(chunk++)) {
    const bool counts = stream_->is_resident(chunk) == (which == Chunks::kResidents);
    if (chunk < begin_chunk || !counts) continue;
    const std::int64_t end = first + file.rows_of(chunk);
    for (std::int64_t begin = first; begin < end; begin += kBlockRows)
      blocks_.emplace_back(begin, std::min(end, begin + kBlockRows));
    rows += end - first;
  }
  sum_over_ranks(&rows, 1);
  selected_fraction_ =
      static_cast<double>(rows) / static_cast<double>(std::max<std::int64_t>(1, total_rows_));
}

// Streams only.
template <class T>
std::vector<std::int64_t> DesignMatrix<T>::selected_chunks() const {
  const bool has_range = chunks_ != Chunks::kAll;
  const std::int64_t end = has_range ? end_chunk_ : stream_->file().chunks();
  std::vector<std::int64_t> chunks;
  for (std::int64_t chunk = has_range ? begin_chunk_ : 0; chunk < end; ++chunk)
    if (!has_range || stream_->is_resident(chunk) == (chunks_ == Chunks::kResidents))
      chunks.push_back(chunk);
  return chunks;
}

template <class T>
void DesignMatrix<T>::for_ranges(
    const std::function<void(std::int64_t, std::int64_t)>& body) const {
  if (stream_ == nullptr) return body(0, rows_);
  stream_->for_chunks(threads_, [&](const Matrix& rows, std::int64_t first) {
    show(rows, first);
    body(first, first + rows.rows);
  });
}

template <class T>
void DesignMatrix<T>::for_data_blocks(const BlockBody& body) const {
  if (stream_ == nullptr) return for_blocks(body);
  const auto visit = [&](const Matrix& rows, std::int64_t first) {
    show(rows, first);
    const std::int64_t blocks = (rows.rows + kBlockRows - 1) / kBlockRows;
    const std::int64_t selected = (blocks + stride_ - 1) / stride_;
    threads_.run(parts_, [&](std::int64_t part) {
      for (std::int64_t i = selected * part / parts_; i < selected * (part + 1) / parts_; ++i) {
        const std::int64_t begin = i * stride_ * kBlockRows;
        body(part, first + begin, first + std::min(rows.rows, begin + kBlockRows));
      }
    });
  };
  if (chunks_ == Chunks::kOthers) {
    stream_->for_others(threads_, begin_chunk_, end_chunk_, visit);
  } else if (chunks_ == Chunks::kAll && stride_ == 1) {
    stream_->for_chunks(threads_, visit);
  } else {
    stream_->for_residents(threads_, visit);
  }
}

template <class T>
void DesignMatrix<T>::for_blocks(const BlockBody& body) const {
  if (chunks_ != Chunks::kAll) {
    const auto count = static_cast<std::int64_t>(blocks_.size());
    return threads_.run(parts_, [&](std::int64_t part) {
      for (std::int64_t i = count * part / parts_; i < count * (part + 1) / parts_; ++i)
        body(part, blocks_[i].first, blocks_[i].second);
    });
  }
  const std::int64_t blocks = (rows_ + kBlockRows - 1) / kBlockRows;
  const std::int64_t selected = (blocks + stride_ - 1) / stride_;
  threads_.run(parts_, [&](std::int64_t part) {
    for (std::int64_t i = selected * part / parts_; i < selected * (part + 1) / parts_; ++i) {
      const std::int64_t begin = i * stride_ * kBlockRows;
      body(part, begin, std::min(rows_, begin + kBlockRows));
    }
  });
}

template <class T>
double DesignMatrix<T>::sum_blocks(
    const std::function<double(std::int64_t, std::int64_t)>& body) const {
  std::vector<double> sums(parts_);
  for_blocks([&](std::int64_t part, std::int64_t begin, std::int64_t end) {
    sums[part] += body(begin, end);
  });
  double total = 0;
  for (const double sum : sums) total += sum;
  sum_over_ranks(&total, 1);
  return total;
}

template <class T>
void DesignMatrix<T>::add_parts(const std::vector<std::vector<T>>& parts, std::int64_t count,
                                T* target) const {
  threads_.for_range(count, 16384, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t j = begin; j < end; ++j) {
      double sum = 0;
      for (const auto& part : parts) sum += static_cast<double>(part[j]);
      target[j] = static_cast<T>(sum);
    }
  });
}

template class DesignMatrix<float>;
template class DesignMatrix<double>;

}  // namespace tutti::learn
