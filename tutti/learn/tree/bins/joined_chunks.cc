#include "tutti/learn/tree/bins/joined_chunks.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "tutti/learn/tree/bins/residency.h"

namespace tutti::learn::tree {
namespace {

constexpr std::size_t kAlignment = 4096;

// Offsets of the arrays of the matrix in the file.
struct JoinedLayout {
  std::size_t offsets = 0, indices = 0, values = 0, end = 0;

  explicit JoinedLayout(const DataFile& file) {
    const DataSchema& schema = file.schema();
    const auto entries = static_cast<std::size_t>(file.entries());
    const auto rounded = [](std::size_t bytes) {
      return (bytes + kAlignment - 1) / kAlignment * kAlignment;
    };
    if (schema.storage != Storage::kDense) {
      indices = rounded((static_cast<std::size_t>(file.rows()) + 1) * sizeof(std::int64_t));
      values = indices + rounded(entries * sizeof(std::int32_t));
    }
    end = values + (schema.has_values ? entries * size_of(schema.dtype) : 0);
  }
};

}  // namespace

Matrix join_chunks(const DataFile& file, const std::filesystem::path& folder, Threads& threads) {
  if (file.chunks() == 1) return file.read(0).features;
  const JoinedLayout layout(file);
  const std::size_t size = std::max<std::size_t>(1, layout.end);
  auto* const start = static_cast<std::byte*>(map_unnamed_file(folder, size));
  const std::shared_ptr<void> owner(start, [size](void* memory) { munmap(memory, size); });
  auto* const offsets = reinterpret_cast<std::int64_t*>(start + layout.offsets);
  const std::size_t value_bytes = file.schema().has_values ? size_of(file.schema().dtype) : 0;
  std::int64_t row = 0;
  std::size_t entry = 0;
  const auto put = [&](std::size_t offset, const void* from, std::size_t count, std::size_t width) {
    std::byte* const to = start + offset + entry * width;
    std::memcpy(to, from, count * width);
    advise(start, to, static_cast<std::int64_t>(count * width), Advice::kRelease);
  };
  for (std::int64_t chunk = 0; chunk < file.chunks(); ++chunk) {
    file.check_chunk(chunk, file.mapped(chunk), threads);
    const Matrix rows = file.view(chunk, file.mapped(chunk));
    const auto count = static_cast<std::size_t>(rows.entries());
    if (rows.is_sparse()) {
      for (std::int64_t i = 0; i <= rows.rows; ++i)
        offsets[row + i] = rows.offsets[i] + static_cast<std::int64_t>(entry);
      put(layout.indices, rows.indices, count, sizeof(std::int32_t));
    }
    if (rows.values != nullptr) put(layout.values, rows.values, count, value_bytes);
    row += rows.rows;
    entry += count;
    file.drop_pages(chunk);
  }
  Matrix all{.storage = file.schema().storage,
             .dtype = file.schema().dtype,
             .rows = file.rows(),
             .columns = file.schema().columns};
  all.implicit = file.schema().implicit;
  all.row_stride = all.columns;
  if (file.schema().has_values) all.values = start + layout.values;
  if (all.is_sparse()) {
    all.offsets = offsets;
    all.indices = reinterpret_cast<const std::int32_t*>(start + layout.indices);
  }
  all.owner = owner;
  return all;
}

}  // namespace tutti::learn::tree
