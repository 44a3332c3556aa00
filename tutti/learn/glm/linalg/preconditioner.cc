#include "tutti/learn/glm/linalg/preconditioner.h"

#include <algorithm>

namespace tutti::learn {
namespace {

constexpr std::int64_t kFrequentBlock = 1024;  // columns of the dense block, for sparse data
constexpr std::int64_t kDenseBlock = 4096;
constexpr std::int64_t kSampledPerColumn = 5;
constexpr std::int64_t kMinRows = 16384;
constexpr std::int64_t kProductGrain = 16384;

}  // namespace

template <class T>
Preconditioner<T>::Preconditioner(DesignMatrix<T>& design) : design_(design) {
  const std::int64_t columns = design.columns();
  if (design.is_sparse()) {  // a large block is not worthwhile for few rows
    block_ = std::min({columns, kFrequentBlock, design.total_rows() / 16});
  } else {
    block_ = columns <= kDenseBlock ? columns : 0;
  }
}

template <class T>
std::int64_t Preconditioner<T>::sample_stride() const {
  const std::int64_t wanted = std::max<std::int64_t>(kMinRows, kSampledPerColumn * block_);
  const auto selected = static_cast<std::int64_t>(static_cast<double>(design_.total_rows()) *
                                                  design_.selected_fraction());
  return design_.stride() * std::max<std::int64_t>(1, selected / wanted);
}

template <class T>
void Preconditioner<T>::correlate(const T* curvature) {
  const std::int64_t size = block_ + 1;
  std::vector<double> gram;
  design_.block_gram(curvature, block_, sample_stride(), gram);
  // Damping: for columns that are rare in the sample, the sampled correlations are overestimated.
  const double average = gram[size * size - 1] / static_cast<double>(kMinRows);
  for (std::int64_t j = 0; j < block_; ++j)
    gram[j * size + j] = 1.001 * gram[j * size + j] + average;
  cholesky_ = std::make_unique<Cholesky>(std::move(gram), size, design_.threads());
}

template <class T>
void Preconditioner<T>::set_diagonal(const T* diagonal, double intercept_diagonal, double ridge) {
  has_intercept_ = intercept_diagonal > 0;
  std::vector<double> block(block_ + 1, intercept_diagonal);
  for (std::int64_t j = 0; j < block_; ++j) block[j] = static_cast<double>(diagonal[j]) + ridge;
  cholesky_->set_diagonal(block);
  inverse_diagonal_.resize(design_.columns());
  for (std::int64_t j = block_; j < design_.columns(); ++j) {
    const double value = static_cast<double>(diagonal[j]) + ridge;
    inverse_diagonal_[j] = value > 0 ? static_cast<T>(1 / value) : T{0};
  }
}

template <class T>
double Preconditioner<T>::apply(const T* source, T* target) const {
  const std::int64_t columns = design_.columns();
  solution_.assign(source, source + block_);
  solution_.push_back(has_intercept_ ? source[columns] : 0);
  cholesky_->solve(solution_.data());
  std::copy(solution_.begin(), solution_.end() - 1, target);
  target[columns] = static_cast<T>(solution_.back());
  const std::int64_t rest = columns - block_;
  std::vector<double> products(rest / kProductGrain + 1);
  design_.threads().for_range(rest, kProductGrain, [&](std::int64_t begin, std::int64_t end) {
    double sum = 0;
    for (std::int64_t j = block_ + begin; j < block_ + end; ++j) {
      target[j] = source[j] * inverse_diagonal_[j];
      sum += static_cast<double>(source[j]) * static_cast<double>(target[j]);
    }
    products[begin / kProductGrain] = sum;
  });
  double product = static_cast<double>(source[columns]) * static_cast<double>(target[columns]);
  for (std::int64_t j = 0; j < block_; ++j)
    product += static_cast<double>(source[j]) * static_cast<double>(target[j]);
  for (const double sum : products) product += sum;
  return product;
}

template class Preconditioner<float>;
template class Preconditioner<double>;

}  // namespace tutti::learn
