// Fuzz test with thousands of reproducibly damaged files: readers return valid data or throw an error of this library.
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <random>

#include "tutti/core/error.h"
#include "tutti/io/hdf5.h"
#include "tutti/learn/base/threads.h"
#include "tutti/learn/data/csv.h"
#include "tutti/learn/data/data_file.h"
#include "tutti/learn/data/hdf5_file.h"
#include "tutti/learn/data/numpy_file.h"
#include "tutti/learn/data/snap_file.h"
#include "tutti/learn/data/svmlight.h"
#include "tutti/learn/data/test_bytes.h"

namespace tutti::learn {
namespace {

// One to four changes: a flipped bit, a changed byte, a truncation, a repeated or removed piece, a large number.
std::string damaged(std::string bytes, std::mt19937& random) {
  for (unsigned change = random() % 4 + 1; change > 0 && !bytes.empty(); --change) {
    const std::size_t at = random() % bytes.size(), count = random() % 9;
    switch (random() % 6) {
      case 0: bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8)); break;
      case 1: bytes[at] = static_cast<char>(random()); break;
      case 2: bytes.resize(at); break;
      case 3: bytes.insert(at, bytes.substr(at, count)); break;
      case 4: bytes.erase(at, count); break;
      default:
        for (std::size_t i = at; i < std::min(bytes.size(), at + count); ++i) bytes[i] = '\xff';
    }
  }
  return bytes;
}

struct Outcomes {
  int read = 0, refused = 0;
};

Outcomes torture(const std::string& good, int times,
                 const std::function<DataSet(const std::string&)>& read) {
  std::mt19937 random(11);
  Threads threads(1);
  Outcomes outcomes;
  read(good);
  for (int i = 0; i < times; ++i) {
    const std::string bytes = damaged(good, random);
    try {
      const DataSet data = read(bytes);
      ++outcomes.read;
      if (!data.labels.empty()) {
        EXPECT_EQ(static_cast<std::int64_t>(data.labels.size()), data.features.rows);
      }
      check(data.features, threads);  // visits every value; NaN is allowed
    } catch (const Error&) {
      ++outcomes.refused;
    }
  }
  EXPECT_GT(outcomes.refused, 0);
  return outcomes;
}

class FuzzFiles : public testing::Test {
 protected:
  ~FuzzFiles() override { std::filesystem::remove(path_); }
  std::string content() const {
    std::ifstream file(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void write(const std::string& bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  static DataSet data() {
    return parse_svmlight("1 1:0.5 7:2\n-1 2:1\n\n1 3:4 # x\n-1\n", "f", {.columns = 7});
  }

  std::filesystem::path path_ =
      std::filesystem::temp_directory_path() / ("tutti-fuzz-" + std::to_string(::getpid()));
};

TEST(Fuzz, Svmlight) {
  const Outcomes outcomes =
      torture("1 1:0.5 7:2e3\n-1 qid:3 2:1 # no\n\n+1 3:-4.25\n-1\n", 20000,
              [](const std::string& bytes) { return parse_svmlight(bytes, "f", {.threads = 1}); });
  EXPECT_GT(outcomes.read, 1000);
}

TEST(Fuzz, Csv) {
  const Outcomes outcomes =
      torture("label,a,\"b\"\n1,2.5,\n-1,NA,4e-3\n0,,7\n", 20000,
              [](const std::string& bytes) { return parse_csv(bytes, "f", {.threads = 1}); });
  EXPECT_GT(outcomes.read, 1000);
}

TEST(Fuzz, CsvWithStrings) {
  const Outcomes outcomes =
      torture("y,a,b\nno,2.5,Rome\nyes,NA,\nno,,7\n", 20000, [](const std::string& bytes) {
        return parse_csv(bytes, "f", {.threads = 1, .parse_strings = true});
      });
  EXPECT_GT(outcomes.read, 1000);
}

TEST(Fuzz, Npy) {
  torture(npy_bytes("<f4", "(3, 2)", bytes_of<float>({1, 2, 3, 4, 5, 6})), 20000,
          [](const std::string& bytes) { return parse_npy(bytes, "f"); });
}

TEST(Fuzz, Npz) {
  for (const bool is_packed : {false, true})
    torture(sparse_npz_bytes(is_packed), 5000,
            [](const std::string& bytes) { return parse_npz(bytes, "f"); });
}

// Damaged content with correct checksums, to reach the parser.
TEST(Fuzz, NpzWithValidChecksums) {
  const std::string offsets = npy_bytes("<i4", "(4,)", bytes_of<std::int32_t>({0, 2, 2, 4}));
  torture(offsets, 5000, [](const std::string& bytes) {
    return parse_npz(
        zip_bytes({{"format.npy", npy_bytes("|S3", "()", "csr")},
                   {"shape.npy", npy_bytes("<i8", "(2,)", bytes_of<std::int64_t>({3, 4}))},
                   {"data.npy", npy_bytes("<f4", "(4,)", bytes_of<float>({1, 2, 3, 4}))},
                   {"indices.npy", npy_bytes("<i4", "(4,)", bytes_of<std::int32_t>({0, 3, 1, 2}))},
                   {"indptr.npy", bytes}},
                  false),
        "f");
  });
}

TEST_F(FuzzFiles, Own) {
  write_data_file(path_, data(), 2);
  torture(content(), 150, [this](const std::string& bytes) {
    write(bytes);
    const DataFile file(path_);
    return file.read(0, file.chunks());
  });
}

// Only files written by this library: HDF5 itself does not promise to survive all damage.
TEST_F(FuzzFiles, Hdf5) {
  {
    const io::Hdf5Lock lock;
    const io::Hdf5Handle file(H5Fcreate(path_.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT),
                              H5Fclose);
    const auto add = [&](const char* name, std::vector<hsize_t> sizes,
                         const std::vector<float>& values) {
      const io::Hdf5Handle space(
          H5Screate_simple(static_cast<int>(sizes.size()), sizes.data(), nullptr), H5Sclose);
      const io::Hdf5Handle set(
          H5Dcreate2(file, name, H5T_IEEE_F32LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
          H5Dclose);
      H5Dwrite(set, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
    };
    add("X", {3, 2}, {1, 2, 3, 4, 5, 6});
    add("y", {3}, {7, 8, 9});
  }
  torture(content(), 1000, [this](const std::string& bytes) {
    write(bytes);
    return read_hdf5(path_);
  });
}

TEST_F(FuzzFiles, Snap) {
  write_snap(path_, data());
  torture(content(), 200, [this](const std::string& bytes) {
    write(bytes);
    return read_snap(path_);
  });
}

}  // namespace
}  // namespace tutti::learn
