#include "data/safetensors.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "core/error.h"
#include "core/philox.h"
#include "tests/support/errors.h"
#include "tests/support/surroundings.h"
#include "tests/support/temp_folder.h"

namespace reprise {
namespace {

using namespace testing;

FileBytes with_header(const std::string& header, std::size_t data_bytes) {
  FileBytes bytes(8 + header.size() + data_bytes, 0);
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  for (std::size_t i = 0; i < data_bytes; ++i) bytes[8 + header.size() + i] = static_cast<std::uint8_t>(i);
  return bytes;
}

void expect_refused(const std::string& header, std::size_t data_bytes, std::initializer_list<std::string> words) {
  TempFolder folder;
  write_bytes(folder / "bad.safetensors", with_header(header, data_bytes));
  SCOPED_TRACE(header);
  expect_error(ErrorKind::user, words, [&] { SafetensorsFile file(folder / "bad.safetensors"); });
}

TEST(Safetensors, EveryDtypeComesBackWithShapesAndMetadata) {
  TempFolder folder;
  const std::vector<float> f32 = {1.5f, -2.0f, 3.25f, 0.0f, -0.0f, 7.0f};
  const std::vector<double> f64 = {3.141592653589793};
  const std::vector<BFloat16> bf16 = {BFloat16(1.0f), BFloat16(-2.5f), BFloat16(3.0f)};
  const std::vector<std::int32_t> i32 = {-1, 2};
  const std::vector<std::int64_t> i64 = {std::int64_t{1} << 40, -5};
  const std::vector<std::uint8_t> u8 = {1, 2, 255};
  const bool flags[2] = {true, false};
  const std::vector<SafetensorsEntry> entries = {
      {"u8", DType::u8, {3}, u8.data()},      {"encoder.stem.weight", DType::f32, {2, 3}, f32.data()},
      {"scalar", DType::f64, {}, f64.data()}, {"bf16", DType::bf16, {3, 1}, bf16.data()},
      {"i32", DType::i32, {2}, i32.data()},   {"i64", DType::i64, {1, 2}, i64.data()},
      {"flags", DType::boolean, {2}, flags},  {"none", DType::f32, {0, 4}, nullptr}};
  write_safetensors(folder / "a.safetensors", entries, {{"step", "12"}, {"quote\"d", "Zürich"}});

  const SafetensorsFile file(folder / "a.safetensors");
  EXPECT_EQ(file.metadata(), (std::map<std::string, std::string>{{"step", "12"}, {"quote\"d", "Zürich"}}));
  ASSERT_EQ(file.tensors().size(), entries.size());
  for (const SafetensorsEntry& entry : entries) {
    const auto bytes = static_cast<std::size_t>(element_count(entry.shape) * size_of(entry.dtype));
    FileBytes read(bytes + 1, 0xEE);
    file.read_into(entry.name, entry.dtype, entry.shape, read.data());
    EXPECT_EQ(bytes == 0 ? 0 : std::memcmp(read.data(), entry.data, bytes), 0) << entry.name;
    EXPECT_EQ(read[bytes], 0xEE) << entry.name;
    EXPECT_EQ(file.info(entry.name).begin % size_of(entry.dtype), 0) << entry.name;
    EXPECT_EQ(file.info(entry.name).dtype_name, safetensors_name(entry.dtype));
  }
  const FileBytes raw = file_bytes(folder / "a.safetensors");
  EXPECT_EQ(raw[0] % 8, 0);  // the header's length, so that the data is aligned
}

TEST(Safetensors, AFileWithoutTensorsIsValid) {
  TempFolder folder;
  write_safetensors(folder / "a", {});
  EXPECT_TRUE(SafetensorsFile(folder / "a").tensors().empty());
}

TEST(Safetensors, ReadingChecksNameDtypeAndShape) {
  TempFolder folder;
  const std::vector<float> values(6, 1.0f);
  const std::vector<SafetensorsEntry> entries = {{"queue.keys", DType::f32, {2, 3}, values.data()}};
  write_safetensors(folder / "a.safetensors", entries);
  const SafetensorsFile file(folder / "a.safetensors");
  std::vector<double> out(6);
  expect_error(ErrorKind::user, {"queue.kexs", "a.safetensors", "queue.keys"}, [&] {
    file.read_into("queue.kexs", DType::f32, {2, 3}, out.data());
  });
  expect_error(ErrorKind::user, {"queue.keys", "a.safetensors", "F64", "F32"}, [&] {
    file.read_into("queue.keys", DType::f64, {2, 3}, out.data());
  });
  expect_error(ErrorKind::user, {"queue.keys", "a.safetensors", "[3, 2]", "[2, 3]"}, [&] {
    file.read_into("queue.keys", DType::f32, {3, 2}, out.data());
  });
}

TEST(Safetensors, WritingRefusesNamesThatCannotBeToldApart) {
  TempFolder folder;
  const float value = 1;
  const auto write = [&](const std::string& a, const std::string& b) {
    const std::vector<SafetensorsEntry> entries = {{a, DType::f32, {}, &value}, {b, DType::f32, {}, &value}};
    write_safetensors(folder / "a", entries);
  };
  expect_error(ErrorKind::user, {"differ", "w"}, [&] { write("w", "w"); });
  expect_error(ErrorKind::user, {"__metadata__"}, [&] { write("w", "__metadata__"); });
  expect_error(ErrorKind::user, {"UTF-8"}, [&] { write("w", "\xff"); });
  EXPECT_TRUE(folder.names().empty());
}

TEST(Safetensors, AFailedWriteKeepsTheOldFile) {
  const float value = 1;
  const std::vector<SafetensorsEntry> entries = {{"w", DType::f32, {}, &value}};
  expect_error(ErrorKind::io, {"/proc/"}, [&] { write_safetensors("/proc/reprise.safetensors", entries); });
}

TEST(Safetensors, WrongHeadersAreRefusedWithFileAndTensor) {
  const std::string f = "bad.safetensors";
  expect_refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 4, {f, "tensor a", "cut short"});
  expect_refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 12, {f, "expected 8 bytes", "12"});
  expect_refused(
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[4],"data_offsets":[6,10]}})",
      10, {f, "tensor b", "overlaps"});
  expect_refused(
      R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})", 2,
      {f, "tensor b", "overlaps"});
  expect_refused(
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"U8","shape":[4],"data_offsets":[9,13]}})",
      13, {f, "tensor b", "gap"});
  expect_refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12, {f, "tensor a", "gap"});
  expect_refused(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8, {f, "tensor a", "of the size of F32"});
  expect_refused(R"({"a":{"dtype":"F32","shape":[4294967296,4294967296,4294967296],"data_offsets":[0,0]}})", 0,
                 {f, "tensor a"});
  expect_refused(R"({"a":{"dtype":"F33","shape":[2],"data_offsets":[0,8]}})", 8,
                 {f, "tensor a", "expected one of the dtypes", "F33"});
  expect_refused(R"({"a":{"dtype":7,"shape":[2],"data_offsets":[0,8]}})", 8,
                 {f, "tensor a", "expected one of the dtypes"});
  expect_refused(R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8, {f, "tensor a", "-2"});
  expect_refused(R"({"a":{"dtype":"F32","shape":[2.0],"data_offsets":[0,8]}})", 8, {f, "tensor a", "whole"});
  expect_refused(R"({"a":{"dtype":"F32","shape":2,"data_offsets":[0,8]}})", 8, {f, "tensor a", "list"});
  expect_refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8, {f, "tensor a", "begin <= end"});
  expect_refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,99999999999999999999]}})", 8, {f, "tensor a"});
  expect_refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", 8, {f, "tensor a", "two numbers"});
  expect_refused(R"({"a":{"dtype":"F32","shape":[2]}})", 8, {f, "tensor a", "data_offsets"});
  expect_refused(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":1}})", 8, {f, "tensor a"});
  expect_refused(R"({"a":[1]})", 8, {f, "tensor a", "object"});
  expect_refused(
      R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1,
      {f, "name a", "twice"});
  expect_refused(R"({"a":{"dtype":"U8","dtype":"U8","shape":[1],"data_offsets":[0,1]}})", 1, {f, "twice"});
  expect_refused(R"({"__metadata__":{"a":1}})", 0, {f, "__metadata__", "a"});
  expect_refused(R"({"__metadata__":"x"})", 0, {f, "__metadata__"});
  expect_refused(R"([])", 0, {f, "JSON object"});
  expect_refused("{\"a\"", 0, {f, "cannot be read"});
  expect_refused("", 0, {f, "cannot be read"});
  expect_refused(std::string(5000, '['), 0, {f, "cannot be read", "deep"});
}

TEST(Safetensors, AHeaderLengthBeyondTheFileOrHugeIsRefused) {
  TempFolder folder;
  const auto expect_length_refused = [&](std::uint64_t length, std::uintmax_t size,
                                         std::initializer_list<std::string> words) {
    FileBytes bytes(8);
    std::memcpy(bytes.data(), &length, 8);
    write_bytes(folder / "a", bytes);
    std::filesystem::resize_file(folder / "a", size);
    expect_error(ErrorKind::user, words, [&] { SafetensorsFile file(folder / "a"); });
  };
  expect_length_refused(100, 50, {"100 bytes", "42"});
  expect_length_refused(~std::uint64_t{0}, 50, {"18446744073709551615"});
  expect_length_refused(std::uint64_t{1} << 30, (std::uintmax_t{1} << 30) + 8, {"at most", "1073741824"});
  expect_length_refused(0, 7, {"at least 8 bytes", "got 7"});
}

TEST(Safetensors, WhatIsNoFileIsRefused) {
  TempFolder folder;
  expect_error(ErrorKind::user, {"missing", "No such file"}, [&] { SafetensorsFile file(folder / "missing"); });
  expect_error(ErrorKind::user, {"regular file"}, [&] { SafetensorsFile file(folder.path()); });
  expect_error(ErrorKind::user, {"regular file"}, [&] { SafetensorsFile file("/dev/zero"); });
}

TEST(Safetensors, AFileCutAnywhereOrWithAFlippedHeaderByteNeverReadsOutside) {
  TempFolder folder;
  const std::vector<float> values(20, 1.0f);
  const std::vector<SafetensorsEntry> entries = {{"first", DType::f32, {4, 5}, values.data()},
                                                 {"second", DType::u8, {7}, values.data()}};
  write_safetensors(folder / "good", entries, {{"k", "v"}});
  const FileBytes good = file_bytes(folder / "good");
  for (std::size_t keep = 0; keep < good.size(); ++keep) {
    write_bytes(folder / "bad", FileBytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(keep)));
    expect_error(ErrorKind::user, {"bad"}, [&] { SafetensorsFile file(folder / "bad"); });
  }
  int accepted = 0;
  for (std::uint64_t round = 0; round < 2000; ++round) {
    FileBytes bad = good;
    const std::size_t at = philox_word(1, 2, 2 * round) % (good.size() - 87);
    bad[at] = static_cast<std::uint8_t>(philox_word(1, 2, 2 * round + 1));
    write_bytes(folder / "bad", bad);
    try {
      const SafetensorsFile file(folder / "bad");
      ++accepted;  // a changed letter of a name, say; what it says must still lie inside the file
      for (const auto& [name, info] : file.tensors()) EXPECT_LE(info.end, 87);
    } catch (const Error& error) {
      EXPECT_EQ(exit_code(error.kind()), 2) << error.what();
    }
  }
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, 1000);
}

TEST(Safetensors, ThePythonPackageReadsOursAndWeReadIts) {
  if (std::string reason = python_lacks("safetensors.numpy"); !reason.empty()) GTEST_SKIP() << reason;
  TempFolder folder;
  const std::vector<float> weights = {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f};
  const std::vector<std::int64_t> steps = {7, std::int64_t{1} << 50};
  const bool flags[3] = {true, false, true};
  const std::vector<SafetensorsEntry> entries = {{"flags", DType::boolean, {3}, flags},
                                                 {"w", DType::f32, {2, 3}, weights.data()},
                                                 {"steps", DType::i64, {2}, steps.data()}};
  write_safetensors(folder / "ours", entries, {{"made", "here"}});
  write_text(folder / "check.py", R"(
import sys, numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save_file
d = sys.argv[1]
t = load_file(d + "/ours")
assert sorted(t) == ["flags", "steps", "w"], t
assert t["w"].dtype == np.float32 and t["w"].tolist() == [[1, 2, 3], [4, 5, 6]]
assert t["steps"].tolist() == [7, 2**50] and t["flags"].tolist() == [True, False, True]
with safe_open(d + "/ours", "np") as f:
    assert f.metadata() == {"made": "here"}
a = np.arange(6, dtype=np.float64).reshape(3, 2)
save_file({"a.b": a, "h": np.ones(2, np.float16), "n": np.array([3, 4], np.int32)}, d + "/theirs", {"k": "v"})
)");
  ASSERT_EQ(std::system((python() + " " + (folder / "check.py").string() + " " + folder.path().string()).c_str()), 0);
  const SafetensorsFile theirs(folder / "theirs");
  EXPECT_EQ(theirs.metadata().at("k"), "v");
  std::vector<double> a(6);
  theirs.read_into("a.b", DType::f64, {3, 2}, a.data());
  EXPECT_EQ(a, (std::vector<double>{0, 1, 2, 3, 4, 5}));
  std::vector<std::int32_t> n(2);
  theirs.read_into("n", DType::i32, {2}, n.data());
  EXPECT_EQ(n, (std::vector<std::int32_t>{3, 4}));
  EXPECT_FALSE(theirs.info("h").dtype.has_value());
  expect_error(ErrorKind::user, {"tensor h", "F16"}, [&] { theirs.read_into("h", DType::f32, {2}, a.data()); });
}

}  // namespace
}  // namespace reprise
