// Fast prediction with packed trees: 16 or 24 bytes per node, adjacent siblings, several rows traversed together.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tutti/learn/tree/model/model.h"

namespace tutti::learn::tree {

// Holds a packed copy of the model. Thread-safe.
class Predictor {
 public:
  explicit Predictor(const Model& model);
  ~Predictor();
  Predictor(Predictor&&) noexcept;

  int columns() const { return columns_; }
  int outputs() const { return outputs_; }

  // Raw outputs of one row, before the link. Uses no threads and does not allocate.
  void predict_row(std::span<const float> row, std::span<double> out) const;
  void predict_row(std::span<const double> row, std::span<double> out) const;
  // Raw outputs, rows x outputs, row-major. Throws ConfigError (DDL-9-21) if the number of columns differs from the
  // model.
  void predict(const Matrix& matrix, std::span<double> out, Threads& threads) const;
  // Leaf of each row in each tree, as indices in Tree::nodes; rows x trees.
  void leaves(const Matrix& matrix, std::span<std::int32_t> out, Threads& threads) const;

 private:
  template <class T>
  struct Packed;
  struct Common;
  template <class T>
  const Packed<T>& packed() const;
  template <class T, class Job>
  void for_blocks(const Matrix& matrix, Threads& threads, const Job& job) const;
  template <class T, class Job>
  void for_sparse_blocks(const Matrix& matrix, Threads& threads, const Job& job) const;
  template <class T, class RowAt, class Job>
  void walk_trees(std::int64_t begin, std::int64_t end, const RowAt& row_at, const Job& job) const;
  template <class T>
  void predict_as(const Matrix& matrix, std::span<double> out, Threads& threads) const;
  template <class T>
  void leaves_as(const Matrix& matrix, std::span<std::int32_t> out, Threads& threads) const;
  template <class T>
  void predict_one(std::span<const T> row, std::span<double> out) const;

  template <class T>
  void add_fourier_features(const T* row, double* out) const;

  int columns_, outputs_;
  std::unique_ptr<Common> common_;
  std::unique_ptr<Packed<float>> single_;  // only if all thresholds are representable in f32
  std::unique_ptr<Packed<double>> double_;
};

}  // namespace tutti::learn::tree
