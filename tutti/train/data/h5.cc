#include "tutti/train/data/h5.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "tutti/core/error.h"
#include "tutti/io/hdf5.h"
#include "tutti/os/atomic_file.h"
#include "tutti/train/optim/finite.h"

namespace tutti::train {
namespace {

namespace fs = std::filesystem;

using Handle = io::Hdf5Handle;

std::int64_t product(std::span<const std::int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

std::vector<hsize_t> row_dimensions(std::int64_t rows, std::span<const std::int64_t> row_shape) {
  std::vector<hsize_t> dimensions = {static_cast<hsize_t>(rows)};
  for (std::int64_t extent : row_shape) dimensions.push_back(static_cast<hsize_t>(extent));
  return dimensions;
}

// The system's error if a file cannot be opened; empty: it can.
std::string open_error(const fs::path& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
  if (file < 0) return strerror(errno);
  ::close(file);
  return "";
}

// Integers, floating-point numbers and the booleans of h5py.
bool holds_numbers(hid_t set) {
  const Handle type(H5Dget_type(set), H5Tclose);
  const H5T_class_t kind = H5Tget_class(type);
  return kind == H5T_INTEGER || kind == H5T_FLOAT || kind == H5T_ENUM;
}

herr_t add_name(hid_t, const char* name, const H5L_info_t*, void* names) {
  static_cast<std::vector<std::string>*>(names)->emplace_back(name);
  return 0;
}

}  // namespace

struct H5File::State {
  fs::path path;
  std::optional<os::AtomicFile> made;  // until it is complete
  Mode mode;
  hid_t file = -1;
  mutable std::map<std::string, Handle> sets;

  [[noreturn]] void fail(const std::string& why) const {
    throw IoError("DDL-7-65", fmt::format("{}: {}.", path.string(), why));
  }
  void check(bool is_good, const char* what) const {
    if (!is_good) fail(fmt::format("HDF5 could not {}", what));
  }
  const Handle& open(const std::string& name) const {
    if (const auto found = sets.find(name); found != sets.end()) return found->second;
    Handle set(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose);
    if (set < 0)
      fail(fmt::format("has no data set '{}'; it has: {}", name, fmt::join(names(), ", ")));
    if (!holds_numbers(set))
      throw IoError(
          "DDL-7-95",
          fmt::format(
              "{}: data set '{}' contains text or records instead of numbers. Store labels as "
              "class numbers from 0, as returned by numpy.unique(labels, return_inverse=True)[1].",
              path.string(), name));
    return sets.emplace(name, std::move(set)).first->second;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    H5Literate(file, H5_INDEX_NAME, H5_ITER_NATIVE, nullptr, add_name, &all);
    return all;
  }
  void create() {
    const fs::path& draft = made.emplace(path).draft();
    const std::string error = open_error(draft, O_WRONLY | O_CREAT);
    if (error.empty()) file = H5Fcreate(draft.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    if (file < 0) fail(fmt::format("cannot be created: {}", error.empty() ? "HDF5 error" : error));
  }
  void open_to_read() {
    if (const std::string error = open_error(path, O_RDONLY); !error.empty())
      fail(fmt::format("cannot be opened: {}", error));
    file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    if (file < 0) fail("is not a complete HDF5 file");
  }
  // Throws if a value is NaN or infinite: every result computed from it would be, too.
  void check_finite(const std::string& name, std::int64_t first, std::int64_t row,
                    std::span<const float> values) const {
    if (all_finite(values)) return;
    const auto bad = std::find_if(values.begin(), values.end(),
                                  [](float value) { return !std::isfinite(value); });
    throw IoError(
        kNotFinite,
        fmt::format("{}: row {} (from 0) of data set '{}' has a value that is not finite: {}. "
                    "Remove the row, or fill in the value.",
                    path.string(), first + (bad - values.begin()) / row, name, *bad));
  }
  // Chunks of one large row or many small ones, compressed, because rows are read one by one in any order.
  const Handle& make(const std::string& name, std::span<const std::int64_t> row_shape) {
    const std::int64_t row = std::max<std::int64_t>(1, product(row_shape));
    const auto rows = std::max<std::int64_t>(1, 1024 / row);
    const std::vector<hsize_t> none = row_dimensions(0, row_shape),
                               chunk = row_dimensions(rows, row_shape);
    std::vector<hsize_t> limit = none;
    limit[0] = H5S_UNLIMITED;
    Handle space(H5Screate_simple(static_cast<int>(none.size()), none.data(), limit.data()),
                 H5Sclose);
    Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_chunk(creation, static_cast<int>(chunk.size()), chunk.data());
    if (row >= 1024) {
      H5Pset_shuffle(creation);
      H5Pset_deflate(creation, 1);
    }
    Handle link(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
    H5Pset_create_intermediate_group(link, 1);  // for names like group/data
    Handle set(H5Dcreate2(file, name.c_str(), H5T_IEEE_F32LE, space, link, creation, H5P_DEFAULT),
               H5Dclose);
    check(set >= 0, "create a data set");
    return sets.emplace(name, std::move(set)).first->second;
  }
};

H5File::H5File(fs::path path, Mode mode) : state_(std::make_unique<State>()) {
  const io::Hdf5Lock lock;
  state_->path = std::move(path);
  state_->mode = mode;
  if (mode == Mode::kRead)
    state_->open_to_read();
  else
    state_->create();
}

H5File::~H5File() {
  if (!state_) return;
  const io::Hdf5Lock lock;
  state_->sets.clear();
  if (state_->file >= 0) H5Fclose(state_->file);
}
H5File::H5File(H5File&& other) noexcept = default;

void H5File::append(const std::string& name, std::span<const std::int64_t> row_shape,
                    std::span<const float> values) {
  const io::Hdf5Lock lock;
  const Handle& set =
      state_->sets.contains(name) ? state_->open(name) : state_->make(name, row_shape);
  Handle before(H5Dget_space(set), H5Sclose);
  std::vector<hsize_t> extent(static_cast<std::size_t>(H5Sget_simple_extent_ndims(before)));
  H5Sget_simple_extent_dims(before, extent.data(), nullptr);
  const std::int64_t row = std::max<std::int64_t>(1, product(row_shape));
  const std::vector<hsize_t> added =
      row_dimensions(static_cast<std::int64_t>(values.size()) / row, row_shape);
  std::vector<hsize_t> start(extent.size());
  start[0] = extent[0];
  extent[0] += added[0];
  state_->check(H5Dset_extent(set, extent.data()) >= 0, "extend a data set");
  Handle space(H5Dget_space(set), H5Sclose);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, added.data(), nullptr);
  Handle memory(H5Screate_simple(static_cast<int>(added.size()), added.data(), nullptr), H5Sclose);
  state_->check(H5Dwrite(set, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, values.data()) >= 0,
                "write rows; check the free space");
}

void H5File::close() {
  const io::Hdf5Lock lock;
  state_->sets.clear();
  state_->check(H5Fclose(std::exchange(state_->file, -1)) >= 0, "close the file");
  if (state_->mode == Mode::kCreate) {
    if (const std::error_code error = state_->made->commit())
      throw fs::filesystem_error("rename", state_->path, error);
  }
}

bool H5File::has(const std::string& name) const {
  const io::Hdf5Lock lock;
  return H5Lexists(state_->file, name.c_str(), H5P_DEFAULT) > 0;
}

std::vector<std::int64_t> H5File::shape(const std::string& name) const {
  const io::Hdf5Lock lock;
  Handle space(H5Dget_space(state_->open(name)), H5Sclose);
  std::vector<hsize_t> extent(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
  if (extent.empty())
    state_->fail(fmt::format("data set '{}' is a single value, and rows are needed", name));
  H5Sget_simple_extent_dims(space, extent.data(), nullptr);
  return {extent.begin(), extent.end()};
}

void H5File::read(const std::string& name, std::int64_t first, std::int64_t count,
                  std::span<float> values) const {
  std::vector<std::int64_t> whole = shape(name);
  const io::Hdf5Lock lock;
  const std::int64_t row = product(std::span(whole).subspan(1));
  if (first < 0 || count < 0 || first + count > whole[0] ||
      static_cast<std::int64_t>(values.size()) != count * row)
    state_->fail(fmt::format("rows {} to {} of '{}' were requested, it has {}", first,
                             first + count, name, whole[0]));
  if (count == 0) return;
  std::vector<hsize_t> start(whole.size()), extent(whole.begin(), whole.end());
  start[0] = static_cast<hsize_t>(first);
  extent[0] = static_cast<hsize_t>(count);
  const Handle& set = state_->open(name);
  Handle space(H5Dget_space(set), H5Sclose);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr);
  Handle memory(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr),
                H5Sclose);
  state_->check(H5Dread(set, H5T_NATIVE_FLOAT, memory, space, H5P_DEFAULT, values.data()) >= 0,
                "read rows; the file is damaged");
  state_->check_finite(name, first, row, values);
}

std::vector<fs::path> h5_files(const fs::path& folder, const std::string& prefix) {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if ((entry.path().extension() == ".h5" || entry.path().extension() == ".hdf5") &&
        entry.path().filename().string().starts_with(prefix))
      files.push_back(entry.path());
  if (error && error != std::errc::no_such_file_or_directory)
    throw IoError("DDL-7-65",
                  fmt::format("{}: cannot be listed: {}.", folder.string(), error.message()));
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace tutti::train
