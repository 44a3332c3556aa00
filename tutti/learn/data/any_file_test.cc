#include "tutti/learn/data/any_file.h"

#include <gtest/gtest.h>
#include <hdf5.h>
#include <unistd.h>

#include <fstream>

#include "tutti/core/error.h"
#include "tutti/learn/data/hdf5_file.h"
#include "tutti/learn/data/numpy_file.h"
#include "tutti/learn/data/test_bytes.h"

namespace tutti::learn {
namespace {

class AnyFile : public testing::Test {
 protected:
  AnyFile() { std::filesystem::create_directory(folder_); }
  ~AnyFile() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path write(const std::string& name, const std::string& bytes) {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
    return folder_ / name;
  }
  std::filesystem::path write_hdf5(int dimensions, std::int64_t labels) {
    const auto path = folder_ / "a.h5";
    const hid_t file = ::H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    const auto add = [&](const char* name, std::vector<hsize_t> sizes, const void* from,
                         hid_t type) {
      const hid_t space = ::H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr);
      const hid_t set =
          ::H5Dcreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
      ::H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, from);
      ::H5Dclose(set);
      ::H5Sclose(space);
    };
    const std::vector<float> x = {1, 2, 3, 4, 5, 6};
    const std::vector<int> y = {7, 8, 9};
    std::vector<hsize_t> sizes = {3, 2};
    if (dimensions == 1) sizes = {6};
    add("X", sizes, x.data(), H5T_NATIVE_FLOAT);
    add("y", {static_cast<hsize_t>(labels)}, y.data(), H5T_NATIVE_INT);
    ::H5Fclose(file);
    return path;
  }
  static std::vector<double> numbers(const Matrix& matrix) {
    const Matrix m = to_storage(matrix, Storage::kDense, 1);
    std::vector<double> all;
    for (std::int64_t i = 0; i < m.entries(); ++i)
      all.push_back(m.dtype == DType::kF32 ? static_cast<const float*>(m.values)[i]
                                           : static_cast<const double*>(m.values)[i]);
    return all;
  }

  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("tutti-any-" + std::to_string(::getpid()));
};

using Doubles = std::vector<double>;

TEST_F(AnyFile, ReadsNumpyArraysInCAndFortranOrder) {
  const std::string data = bytes_of<float>({1, 2, 3, 4, 5, 6});
  const DataSet rows = read_any(write("a.npy", npy_bytes("<f4", "(3, 2)", data)));
  EXPECT_EQ(numbers(rows.features), (Doubles{1, 2, 3, 4, 5, 6}));
  const DataSet columns = read_any(write("b", npy_bytes("<f4", "(3, 2)", data, true)));
  EXPECT_EQ(numbers(columns.features), (Doubles{1, 4, 2, 5, 3, 6}));
  const DataSet whole = read_any(write("c.npy", npy_bytes("|u1", "(1, 3)", "\x01\x02\xff")));
  EXPECT_EQ(numbers(whole.features), (Doubles{1, 2, 255}));
}

TEST_F(AnyFile, RejectsArraysThatAreNotMatrices) {
  const std::string data = bytes_of<double>({1, 2});
  for (const std::string& wrong :
       {npy_bytes("<f8", "(2,)", data), npy_bytes(">f8", "(1, 2)", data),
        npy_bytes("<f8", "(2, 2)", data), npy_bytes("<c16", "(1, 1)", data),
        npy_bytes("<f8", "(-1, 2)", data), npy_bytes("<f8", "(1, 2", data),
        npy_bytes("<f8", "(9223372036854775807, 9223372036854775807)", data),
        std::string("\x93NUMPY")})
    EXPECT_THROW(read_npy(write("a.npy", wrong)), IoError);
}

TEST_F(AnyFile, ReadsCompressedAndUncompressedSparseArrays) {
  for (const bool is_packed : {false, true}) {
    const DataSet data = read_any(write("a.npz", sparse_npz_bytes(is_packed)));
    EXPECT_EQ(numbers(data.features), (Doubles{1, 0, 0, 2, 0, 0, 0, 0, 0, 3, 4, 0}));
    EXPECT_EQ(data.labels, (Doubles{1, -1, 1}));
  }
  const DataSet dense = read_any(
      write("b.npz",
            zip_bytes({{"X.npy", npy_bytes("<f8", "(2, 1)", bytes_of<double>({1, 2}))},
                       {"sample_weight.npy", npy_bytes("<f8", "(2,)", bytes_of<double>({3, 4}))}},
                      true)));
  EXPECT_EQ(dense.weights, (Doubles{3, 4}));
  EXPECT_THROW(
      read_any(
          write("c.npz",
                zip_bytes({{"Z.npy", npy_bytes("<f8", "(1, 1)", bytes_of<double>({1}))}}, false))),
      IoError);
}

TEST_F(AnyFile, ReadsHdf5) {
  const DataSet data = read_any(write_hdf5(2, 3));
  EXPECT_EQ(data.features.dtype, DType::kF32);
  EXPECT_EQ(numbers(data.features), (Doubles{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(data.labels, (Doubles{7, 8, 9}));
  EXPECT_THROW(read_hdf5(write_hdf5(1, 3)), IoError);
  EXPECT_THROW(read_hdf5(write_hdf5(2, 2)), IoError);
  EXPECT_THROW(read_hdf5(write_hdf5(2, 3), {.features = "Z"}), IoError);
  EXPECT_THROW(read_hdf5(write("d.h5", "no")), IoError);
}

TEST_F(AnyFile, DetectsFormatsByContentThenByName) {
  EXPECT_EQ(kind_of(write("a.csv", npy_bytes("<f8", "(0, 0)", ""))), FileKind::kNpy);
  EXPECT_EQ(kind_of(write("a.svm", "1 1:2\n")), FileKind::kSvmlight);
  EXPECT_EQ(kind_of(write("a.csv", "1,2\n")), FileKind::kCsv);
  EXPECT_THROW(kind_of(write("a.what", "1,2\n")), ConfigError);
  EXPECT_THROW(kind_of(write("a.npy", "1,2\n")), ConfigError);
  EXPECT_THROW(kind_of(folder_ / "missing.csv"), IoError);
  EXPECT_THROW(parse_file_kind("xls"), ConfigError);
}

TEST_F(AnyFile, ConvertsBetweenFormats) {
  const DataSet data = parse_npz(sparse_npz_bytes(false), "f");
  for (const char* name : {"a.data", "a.svm", "a.csv", "a.snap"}) {
    const auto path = folder_ / name;
    write_any(path, data, kind_by_name(path));
    const DataSet again = read_any(path, {.columns = 4});
    EXPECT_EQ(numbers(again.features), numbers(data.features)) << name;
    EXPECT_EQ(again.labels, data.labels) << name;
  }
  EXPECT_THROW(write_any(folder_ / "a.npz", data, FileKind::kNpz), ConfigError);
}

}  // namespace
}  // namespace tutti::learn
