// Trees packed for answering: 16 or 24 bytes a node, children side by side, several walks at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tutti/learn/tree/model/model.h"

namespace tutti::learn::tree {

// Keeps what it needs of the model. Safe from several threads.
class Predictor {
 public:
  explicit Predictor(const Model& model);
  ~Predictor();
  Predictor(Predictor&&) noexcept;

  int columns() const { return columns_; }
  int outputs() const { return outputs_; }

  // Raw outputs, before the link. One row: no thread, no allocation.
  void predict_row(std::span<const float> row, std::span<double> out) const;
  void predict_row(std::span<const double> row, std::span<double> out) const;
  // Rows x outputs, row by row. Throws ConfigError (DDL-9-21) on other columns than the model's.
  void predict(const Matrix& matrix, std::span<double> out, Threads& threads) const;
  // The leaf of each row in each tree, as places in Tree::nodes; rows x trees.
  void leaves(const Matrix& matrix, std::span<std::int32_t> out, Threads& threads) const;

 private:
  template <class T>
  struct Packed;
  struct Common;
  template <class T>
  const Packed<T>& packed() const;
  template <class T, class Job>
  void for_blocks(const Matrix& matrix, Threads& threads, const Job& job) const;
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
  std::unique_ptr<Packed<float>> single_;  // only when every threshold is a value of f32
  std::unique_ptr<Packed<double>> double_;
};

}  // namespace tutti::learn::tree
