#include "data/npz.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "tests/support/errors.h"
#include "tests/support/temp_folder.h"

namespace reprise {
namespace {

using namespace testing;

TEST(Npz, HeadersAreThoseOfTheFormat) {
  for (const Shape& shape : {Shape{}, Shape{7}, Shape{2, 3}, Shape{8, 4, 3, 3}, Shape{1000000, 1000000}}) {
    std::string header = npy_header(DType::f32, shape);
    EXPECT_EQ(header.size() % 64, 0u);
    EXPECT_EQ(header.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
    EXPECT_EQ(header.size() - 10, static_cast<unsigned char>(header[8]) + 256u * static_cast<unsigned char>(header[9]));
    EXPECT_EQ(header.back(), '\n');
  }
  EXPECT_NE(npy_header(DType::i64, {7}).find("{'descr': '<i8', 'fortran_order': False, 'shape': (7,), }"),
            std::string::npos);
  EXPECT_NE(npy_header(DType::boolean, {}).find("'|b1', 'fortran_order': False, 'shape': (), }"), std::string::npos);
  EXPECT_NE(npy_header(DType::bf16, {2, 3}).find("'<f4', 'fortran_order': False, 'shape': (2, 3), }"),
            std::string::npos);
}

TEST(Npz, NamesThatWouldLeaveTheArchiveAreRefusedAndNothingIsWritten) {
  TempFolder folder;
  float value = 1;
  auto write = [&](const std::string& a, const std::string& b) {
    write_npz(folder / "a.npz",
              {{a, DType::f32, {}, [&] { return &value; }}, {b, DType::f32, {}, [&] { return &value; }}}, false);
  };
  expect_error(ErrorKind::user, {"../w", "slashes"}, [&] { write("v", "../w"); });
  expect_error(ErrorKind::user, {"slashes"}, [&] { write("v", "a\\b"); });
  expect_error(ErrorKind::user, {"slashes"}, [&] { write("v", ""); });
  expect_error(ErrorKind::user, {"twice"}, [&] { write("v", "v"); });
  EXPECT_TRUE(folder.names().empty());
  expect_error(ErrorKind::io, {"/dev/full"}, [&] {
    write_npz("/dev/full", {{"a", DType::f32, {}, [&] { return &value; }}}, false);
  });
}

TEST(Npz, AnErrorOfTheSourceComesThroughAndKeepsTheOldFile) {
  TempFolder folder;
  write_text(folder / "a.npz", "old");
  EXPECT_THROW(write_npz(folder / "a.npz",
                         {{"a", DType::f32, {2}, []() -> const void* { throw std::runtime_error("gone"); }}}, false),
               std::runtime_error);
  FileBytes bytes = file_bytes(folder / "a.npz");
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), "old");
}

}  // namespace
}  // namespace reprise
