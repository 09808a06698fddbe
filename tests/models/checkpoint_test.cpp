// Checkpoints: what is written comes back, damaged or foreign ones are refused with a reason, old ones go.
#include "models/train/checkpoint.h"

#include "data/safetensors.h"
#include "memory/memory.h"
#include "tests/models/tiny_run.h"

namespace reprise {
namespace {

using namespace reprise::testing;  // NOLINT

struct Tensors {
  Memory memory;
  std::vector<NamedTensor> list;

  Tensors() {
    add("a.weight", {2, 3}, 1);
    add("a.bias", {3}, 10);
    add("optimiser.momentum.a.bias", {3}, 20);
  }
  void add(const std::string& name, const Shape& shape, double first) {
    Tensor t = make_tensor(memory.allocator(), nullptr, DType::f32, shape, Category::parameters);
    std::vector<double> values(static_cast<std::size_t>(t.size()));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = first + static_cast<double>(i);
    t.assign_doubles(values);
    list.push_back({name, t});
  }
  void clear() {
    for (NamedTensor& t : list)
      t.tensor.assign_doubles(std::vector<double>(static_cast<std::size_t>(t.tensor.size()), 0.0));
  }
};

std::string load_error(const fs::path& folder, const std::vector<NamedTensor>& tensors, ErrorKind* kind) {
  return error_of([&] { load_checkpoint(folder, read_state(folder).value(), "m", tensors); }, kind);
}

TEST(Checkpoint, ComesBackAsItWas) {
  TempFolder folder;
  Tensors t;
  EXPECT_FALSE(read_state(folder.path()).has_value());
  std::string hash = hash_tensors(t.list);
  save_checkpoint(folder.path(), 7, "m", t.list, {{"extra", 5}}, 2);
  t.clear();
  EXPECT_NE(hash_tensors(t.list), hash);
  Json state = read_state(folder.path()).value();
  EXPECT_EQ(state["step"], 7);
  EXPECT_EQ(state["extra"], 5);
  load_checkpoint(folder.path(), state, "m", t.list);
  EXPECT_EQ(hash_tensors(t.list), hash);
}

TEST(Checkpoint, TheLastOnesStay) {
  TempFolder folder;
  Tensors t;
  for (std::int64_t step : {5, 10, 15, 20}) save_checkpoint(folder.path(), step, "m", t.list, {}, 2);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder.path())) names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"checkpoint-00000015.safetensors", "checkpoint-00000020.safetensors",
                                             "checkpoint.safetensors", "state-00000015.json", "state-00000020.json",
                                             "state.json"}));
  EXPECT_EQ(file_text(folder / "checkpoint.safetensors"), file_text(folder / "checkpoint-00000020.safetensors"));
}

TEST(Checkpoint, TheStateDecidesWhereTheTwoDiffer) {
  TempFolder folder;
  Tensors t;
  save_checkpoint(folder.path(), 1, "m", t.list, {}, 5);
  std::string old = file_text(folder / "checkpoint.safetensors");
  t.list[0].tensor.assign_doubles(std::vector<double>{9, 9, 9, 9, 9, 9});
  save_checkpoint(folder.path(), 2, "m", t.list, {}, 5);
  std::string hash = hash_tensors(t.list);
  fs::remove(folder / "checkpoint.safetensors");  // as if killed before the newest name was moved
  std::ofstream(folder / "checkpoint.safetensors", std::ios::binary) << old;
  t.clear();
  load_checkpoint(folder.path(), read_state(folder.path()).value(), "m", t.list);
  EXPECT_EQ(hash_tensors(t.list), hash);
}

TEST(Checkpoint, WhatAKillLeftUndoneBehindTheStateIsDoneByTheNextStart) {
  TempFolder folder;
  Tensors t;
  save_checkpoint(folder.path(), 1, "m", t.list, {}, 5);
  fs::copy_file(folder / "checkpoint-00000001.safetensors", folder / "old");
  t.list[0].tensor.assign_doubles(std::vector<double>{9, 9, 9, 9, 9, 9});
  save_checkpoint(folder.path(), 2, "m", t.list, {}, 5);
  std::string newest = file_text(folder / "checkpoint-00000002.safetensors");
  fs::rename(folder / "old", folder / "checkpoint.safetensors");
  complete_checkpoint(folder.path(), read_state(folder.path()).value(), 1);
  EXPECT_EQ(file_text(folder / "checkpoint.safetensors"), newest);
  EXPECT_FALSE(fs::exists(folder / "checkpoint-00000001.safetensors"));
  EXPECT_FALSE(fs::exists(folder / "state-00000001.json"));
  EXPECT_FALSE(fs::exists(folder / "checkpoint.safetensors.partial"));
  complete_checkpoint(folder.path(), read_state(folder.path()).value(), 1);
  EXPECT_EQ(file_text(folder / "checkpoint.safetensors"), newest);
}

TEST(Checkpoint, AStateThatCannotBeReadIsNoRunWithoutOne) {
  TempFolder folder;
  fs::create_symlink("nowhere", folder / "state.json");
  ErrorKind kind = ErrorKind::internal;
  EXPECT_TRUE(contains(error_of([&] { read_state(folder.path()); }, &kind), "state.json: No such file"));
  EXPECT_EQ(exit_code(kind), 2);
}

TEST(Checkpoint, DamageIsRefused) {
  TempFolder folder;
  Tensors t;
  save_checkpoint(folder.path(), 1, "m", t.list, {}, 1);
  const std::string good = file_text(folder / "checkpoint.safetensors"), good_state = file_text(folder / "state.json");
  auto write = [&](const std::string& name, const std::string& text) {
    fs::remove(folder / name);
    std::ofstream(folder / name, std::ios::binary) << text;
  };
  std::string flipped = good, longer_header = good;
  flipped.back() = static_cast<char>(flipped.back() ^ 1);
  longer_header[2] = 0x7f;
  for (const std::string& bad :
       {flipped, longer_header, good.substr(0, good.size() - 3), good.substr(0, 4), std::string(), good + "x"}) {
    write("checkpoint-00000001.safetensors", bad);
    ErrorKind kind = ErrorKind::internal;
    EXPECT_NE(load_error(folder.path(), t.list, &kind), "");
    EXPECT_EQ(exit_code(kind), 2);
  }
  write("checkpoint-00000001.safetensors", good);
  Json text_for_number = Json::parse(good_state), negative = text_for_number, real = text_for_number,
       number_for_text = text_for_number;
  text_for_number["evaluated_step"] = "one";
  negative["step"] = -1;
  real["threads"] = 1e300;
  number_for_text["config"] = 1;
  for (const std::string& bad :
       {std::string(), good_state.substr(0, good_state.size() / 2), std::string("[1]"), std::string("{}"),
        text_for_number.dump(), negative.dump(), real.dump(), number_for_text.dump(), std::string(100'000, '['),
        "{\"x\": " + std::string(100'000, '[') + std::string(100'000, ']') + "}"}) {
    write("state.json", bad);
    ErrorKind kind = ErrorKind::internal;
    EXPECT_NE(error_of([&] { read_state(folder.path()); }, &kind), "");
    EXPECT_EQ(exit_code(kind), 2);
  }
}

TEST(Checkpoint, AnotherModelIsRefused) {
  TempFolder folder;
  Tensors t, more;
  save_checkpoint(folder.path(), 1, "m", t.list, {}, 1);
  ErrorKind kind = ErrorKind::internal;
  std::string other =
      error_of([&] { load_checkpoint(folder.path(), read_state(folder.path()).value(), "n", t.list); }, &kind);
  EXPECT_TRUE(contains(other, "expected a checkpoint of the model n, got one of m")) << other;
  more.add("b", {1}, 0);
  EXPECT_TRUE(contains(load_error(folder.path(), more.list, &kind), "'b'") ||
              contains(load_error(folder.path(), more.list, &kind), " b"));
  more.list.resize(2);
  EXPECT_TRUE(contains(load_error(folder.path(), more.list, &kind), "expected 2 tensors"));
}

TEST(Checkpoint, InitialValuesMustFitExactly) {
  TempFolder folder;
  Tensors t;
  save_checkpoint(folder.path(), 1, "m", t.list, {}, 1);
  std::vector<NamedTensor> model(t.list.begin(), t.list.begin() + 2);
  std::string hash = hash_tensors(model);
  t.clear();
  load_initial(folder.path(), model);
  EXPECT_EQ(hash_tensors(model), hash) << "optimiser state in the file is left aside";
  t.clear();
  load_initial(folder / "checkpoint.safetensors", model);
  EXPECT_EQ(hash_tensors(model), hash);
  t.clear();
  fs::remove(folder / "checkpoint-00000001.safetensors");  // as in a copy of a run without its numbered files
  load_initial(folder.path(), model);
  EXPECT_EQ(hash_tensors(model), hash);

  ErrorKind kind = ErrorKind::internal;
  auto refused = [&](const std::vector<NamedTensor>& wanted) {
    return error_of([&] { load_initial(folder.path(), wanted); }, &kind);
  };
  std::vector<NamedTensor> fewer(model.begin(), model.begin() + 1), renamed = model, reshaped = model;
  EXPECT_TRUE(contains(refused(fewer), "holds 'a.bias', which it does not have"));
  Tensors extra;
  extra.add("z", {1}, 0);
  EXPECT_TRUE(contains(refused({extra.list[0], extra.list[1], extra.list[3]}), "lacks 'z'"));
  Tensors shape;
  shape.list.clear();
  shape.add("a.weight", {3, 2}, 0);
  shape.add("a.bias", {3}, 0);
  EXPECT_TRUE(contains(refused(shape.list), "expected 'a.weight' as F32 [3, 2]")) << refused(shape.list);
  EXPECT_EQ(exit_code(kind), 2);
}

TEST(Checkpoint, AFolderThatIsGoneIsAFailureOfTheDisk) {
  Tensors t;
  ErrorKind kind = ErrorKind::user;
  EXPECT_NE(error_of([&] { save_checkpoint("/nonexistent/run", 1, "m", t.list, {}, 1); }, &kind), "");
  EXPECT_EQ(exit_code(kind), 1);
}

}  // namespace
}  // namespace reprise
