#include "bench/glm/cases.h"

#include <fmt/format.h>

#include <fstream>

#include "bench/glm/generate.h"
#include "tutti/core/error.h"

namespace tutti::bench {
namespace {

template <class T>
void write(const std::filesystem::path& path, const T* values, std::int64_t count) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(values),
             static_cast<std::streamsize>(sizeof(T)) * count);
  file.close();
  if (!file)
    throw IoError("DDL-8-70",
                  fmt::format("Cannot write {}. Set TMPDIR to a directory with enough space.",
                              path.string()));
}

}  // namespace

const std::vector<GlmCase>& glm_cases() {
  static const std::vector<GlmCase> cases = {
      {"clicks", "sparse 1M columns, 39 ones per row, logistic, l2", 400000,
       [](std::int64_t rows) { return make_clicks(rows, 1000000, 1); }, "l2", false},
      {"collisions", "dense 28 columns, logistic, l2, intercept", 5000000,
       [](std::int64_t rows) { return make_collisions(rows, 1); }, "l2", true},
      {"factors", "dense 2000 columns, logistic, l2", 400000,
       [](std::int64_t rows) { return make_factors(rows, 2000, 1); }, "l2", false},
      {"pages", "sparse 680k columns, long rows, logistic, l1", 17500,
       [](std::int64_t rows) { return make_pages(rows, 680715, 3728, 1); }, "l1", false},
  };
  return cases;
}

void write_arrays(const learn::DataSet& data, const std::filesystem::path& folder) {
  const learn::Matrix& m = data.features;
  write(folder / "labels", data.labels.data(), m.rows);
  if (m.values != nullptr)
    write(folder / "values", static_cast<const float*>(m.values), m.entries());
  if (m.is_sparse()) {
    write(folder / "offsets", m.offsets, m.rows + 1);
    write(folder / "indices", m.indices, m.entries());
  }
  std::ofstream(folder / "shape") << m.rows << ' ' << m.columns << ' ' << m.entries() << '\n';
}

}  // namespace tutti::bench
