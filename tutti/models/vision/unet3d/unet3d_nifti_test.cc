// NIfTI files written byte by byte, and directories of them.
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>

#include "tutti/core/error.h"
#include "tutti/models/vision/unet3d/nifti.h"
#include "tutti/models/vision/unet3d/scans.h"

namespace tutti::models::unet3d {
namespace {

namespace fs = std::filesystem;

template <class T>
std::string nifti_bytes(std::array<std::int16_t, 3> size, std::int16_t type,
                        const std::vector<T>& values, float slope = 0, float intercept = 0) {
  std::string bytes(352, '\0');
  auto put = [&](std::size_t offset, auto value) {
    std::memcpy(bytes.data() + offset, &value, sizeof value);
  };
  put(0, std::int32_t{348});
  put(40, std::int16_t{3});
  for (std::size_t i = 0; i < 3; ++i) put(42 + 2 * i, size[i]);
  put(70, type);
  put(108, 352.f);
  put(112, slope);
  put(116, intercept);
  std::memcpy(bytes.data() + 344, "n+1", 4);
  bytes.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  return bytes;
}

class Nifti : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("nifti-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(const std::string& name, const std::string& bytes) {
    fs::create_directories((folder_ / name).parent_path());
    if (name.ends_with(".gz")) {
      const gzFile file = gzopen((folder_ / name).c_str(), "wb");
      gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
      gzclose(file);
    } else {
      std::ofstream(folder_ / name, std::ios::binary) << bytes;
    }
    return folder_ / name;
  }
  fs::path folder_;
};

TEST_F(Nifti, NumbersOfAllKinds) {
  const std::vector<std::int16_t> whole = {-1, 2, 3, 4, 5, 600};
  for (const char* name : {"a.nii", "a.nii.gz"}) {
    const Volume volume = read_nifti(write(name, nifti_bytes({3, 2, 1}, 4, whole)));
    EXPECT_EQ(volume.size, (std::array<int, 3>{3, 2, 1}));
    EXPECT_EQ(volume.at(0, 0, 0), -1);
    EXPECT_EQ(volume.at(2, 1, 0), 600);
    EXPECT_EQ(volume.at(0, 1, 0), 4);
  }
  const auto scaled =
      read_nifti(write("b.nii", nifti_bytes<std::uint8_t>({2, 1, 1}, 2, {1, 200}, 0.5f, 10)));
  EXPECT_EQ(scaled.values, (std::vector<float>{10.5f, 110}));
  EXPECT_EQ(read_nifti(write("c.nii", nifti_bytes<double>({1, 1, 2}, 64, {1.5, -2}))).values,
            (std::vector<float>{1.5f, -2}));
}

TEST_F(Nifti, DamagedFilesAreRefused) {
  const std::string good = nifti_bytes<float>({2, 1, 1}, 16, {1, 2});
  EXPECT_NO_THROW(read_nifti(write("good.nii", good)));
  EXPECT_THROW(read_nifti(write("short.nii", good.substr(0, good.size() - 1))), IoError);
  EXPECT_THROW(read_nifti(write("head.nii", good.substr(0, 100))), IoError);
  EXPECT_THROW(read_nifti(write("empty.nii", "")), IoError);
  std::string other = good;
  other[344] = 'x';
  EXPECT_THROW(read_nifti(write("magic.nii", other)), IoError);
  EXPECT_THROW(read_nifti(write("type.nii", nifti_bytes<float>({2, 1, 1}, 99, {1, 2}))), IoError);
  EXPECT_THROW(read_nifti(write("size.nii", nifti_bytes<float>({0, 1, 1}, 16, {1, 2}))), IoError);
  EXPECT_THROW(read_nifti(folder_ / "none.nii"), IoError);
}

TEST_F(Nifti, BothByteOrders) {
  const std::vector<std::int16_t> values = {-1, 2, 3, 4, 5, 600};
  std::string bytes = nifti_bytes({3, 2, 1}, 4, values);
  auto swap = [&](std::size_t offset, std::size_t size) {
    std::reverse(bytes.data() + offset, bytes.data() + offset + size);
  };
  for (const std::size_t offset : {0, 108, 112, 116}) swap(offset, 4);
  for (std::size_t offset = 40; offset < 56; offset += 2) swap(offset, 2);
  swap(70, 2);
  for (std::size_t offset = 352; offset < bytes.size(); offset += 2) swap(offset, 2);
  for (const char* name : {"big.nii", "big.nii.gz"})
    EXPECT_EQ(read_nifti(write(name, bytes)).values, (std::vector<float>{-1, 2, 3, 4, 5, 600}));
}

TEST_F(Nifti, ValuesThatAreNotFiniteAreNamed) {
  for (const float bad : {NAN, INFINITY}) {
    const fs::path file = write("bad.nii.gz", nifti_bytes<float>({2, 2, 1}, 16, {1, 2, 3, bad}));
    try {
      read_nifti(file);
      FAIL() << "is accepted";
    } catch (const IoError& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find(file.string()), std::string::npos) << text;
      EXPECT_NE(text.find("voxel (1, 1, 0)"), std::string::npos) << text;
    }
  }
}

// A brain of 4x4x4 in a box of 9x8x6, as files have empty space round it.
TEST_F(Nifti, SubjectsAreCutToTheirCube) {
  auto volume = [](auto inside) {
    std::vector<float> values(9 * 8 * 6);
    for (int z = 0; z < 4; ++z)
      for (int y = 0; y < 4; ++y)
        for (int x = 0; x < 4; ++x)
          values[std::size_t(((z + 1) * 8 + y + 3) * 9 + x + 4)] =
              static_cast<float>(inside(x, y, z));
    return nifti_bytes<float>({9, 8, 6}, 16, values);
  };
  for (const std::string& who : {std::string("s1"), std::string("s2")}) {
    const std::string base = "train/" + who + "/" + who + "_";
    for (const char* kind : {"t1", "t1ce", "t2"})
      write(base + kind + ".nii.gz", volume([](int, int, int) { return 7; }));
    write(base + "flair.nii", volume([](int x, int y, int z) { return 1 + x + 10 * y + 100 * z; }));
    write(base + "seg.nii.gz", volume([](int x, int, int) { return x == 3 ? 4 : x == 2 ? 2 : 0; }));
  }
  const ScanFiles same(folder_, "train", 4), half(folder_, "train", 2);
  ASSERT_EQ(same.size(), 2);
  const Scan scan = same.read(1);
  EXPECT_EQ(scan.images[0], 7);
  auto at = [](int x, int y, int z) { return std::size_t((x * 4 + y) * 4 + z); };
  EXPECT_EQ(scan.images[2 * 64 + at(3, 1, 2)], 1 + 3 + 10 + 200);
  EXPECT_EQ(scan.labels[at(3, 0, 0)], kEnhancing);
  EXPECT_EQ(scan.labels[at(2, 3, 3)], kOedema);
  EXPECT_EQ(scan.labels[at(1, 0, 0)], kHealthy);
  EXPECT_NEAR(half.read(0).images[2 * 8], 1 + 0.5 + 5 + 50, 1e-4);  // the mean of eight

  fs::remove(folder_ / "train/s2/s2_seg.nii.gz");
  EXPECT_THROW(same.read(1), IoError);
  const ScanFiles one(folder_ / "train", "s2", 4, false);
  ASSERT_EQ(one.size(), 1);
  EXPECT_EQ(one.read(0).labels, std::vector<std::uint8_t>(64));
  fs::remove(folder_ / "train/s2/s2_t2.nii.gz");
  EXPECT_THROW(one.read(0), IoError);
}

}  // namespace
}  // namespace tutti::models::unet3d
