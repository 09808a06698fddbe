// The configuration: keys, YAML with positions, overrides in Hydra's grammar, printing that loads back.
#include "models/config/config.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <functional>

#include "models/config/model_keys.h"
#include "models/config/reference.h"
#include "models/config/yaml_reader.h"
#include "tests/support/errors.h"
#include "tests/support/text.h"

namespace reprise {
namespace {

using namespace testing;

Config from(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return parse_config(text, "run.yaml", overrides);
}

/// The text of the config error that loading gives.
std::string refusal(const std::string& text, const std::vector<std::string>& overrides = {}) {
  SCOPED_TRACE("loading " + text);
  return error_of_kind(ErrorKind::config, [&] { from(text, overrides); });
}

#define EXPECT_REFUSED(text, part) EXPECT_PRED2(contains, refusal(text), part)
#define EXPECT_OVERRIDE_REFUSED(override, part) EXPECT_PRED2(contains, refusal("{}", {override}), part)

TEST(Config, DefaultsAreThoseOfTheTables) {
  Config config = load_config("");
  EXPECT_EQ(config.get_string("model.type"), "dense_queue");
  EXPECT_EQ(config.get_int("train.batch"), 128);
  EXPECT_EQ(config.get_real("train.weight_decay"), 5e-4);
  EXPECT_EQ(config.get_bytes("memory.budget"), Bytes());
  EXPECT_EQ(config.get_list("recompute.segments"), Words{"blocks"});
  EXPECT_TRUE(config.get_map("recompute.options").empty());
  EXPECT_FALSE(config.position("train.batch").known());
}

TEST(Config, PositionsTellFilesFromTheCommandLine) {
  Config config = parse_config("seed: 3\n", "a.yaml", {"train.batch=8", "++train.epochs=2"});
  EXPECT_FALSE(config.position("seed").on_command_line());
  EXPECT_TRUE(config.position("train.batch").on_command_line());
  EXPECT_TRUE(config.position("train.epochs").on_command_line());
  EXPECT_FALSE(config.position("train.lr").on_command_line());
}

TEST(Config, TheFixedKeysExist) {
  Config config = load_config("");
  for (const char* key : {"model.type",
                          "run.dir",
                          "seed",
                          "threads",
                          "data.path",
                          "data.limit",
                          "train.epochs",
                          "train.max_steps",
                          "train.batch",
                          "train.accumulate",
                          "probe.epochs",
                          "model.encoder.preset",
                          "model.queue.size",
                          "model.queue.layout",
                          "model.init",
                          "memory.budget",
                          "recompute.method",
                          "recompute.segments",
                          "recompute.options",
                          "guard"}) {
    EXPECT_TRUE(config.has(key)) << key;
  }
}

TEST(Config, AModelTypeBringsItsKeysAndDefaults) {
  Config config = from("model: {type: classifier}");
  EXPECT_FALSE(config.has("model.queue.size"));
  EXPECT_EQ(config.get_int("train.epochs"), 5);
  EXPECT_TRUE(config.get_bool("train.nesterov"));
  EXPECT_EQ(config.get_string("augment.crop"), "pad");
  EXPECT_EQ(from("{}", {"model.type=classifier"}).get_string("augment.crop"), "pad");
  EXPECT_REFUSED("model: {type: classifier, queue: {size: 5}}", "belongs to model.type dense_queue");
  EXPECT_REFUSED("model: {type: clasifier}", "run.yaml:1:15: model.type expects one of dense_queue, classifier");
}

TEST(Config, AModelFromOutsideAddsItsOwnKeys) {
  Schema schema = standard_schema();
  schema.add_model_type({"table",
                         "a memory table",
                         {integer_key("model.rows", 8, at_least(1), "rows", "rows")},
                         {{"seed", std::int64_t{4}}}});
  Config config = load_config("", {"model.type=table", "model.rows=9"}, schema);
  EXPECT_EQ(config.get_int("model.rows"), 9);
  EXPECT_EQ(config.get_int("seed"), 4);
  ModelType again{"table", "", {}, {}};  // named: gcc 12 gives the braces inside the macro no handler
  testing::expect_error(ErrorKind::internal, {"not declared yet"}, [&] { schema.add_model_type(again); });
}

TEST(Config, AnUnknownKeyIsNamedWithItsPlaceAndTheNearestOne) {
  EXPECT_REFUSED("seed: 1\ntrain:\n  bach: 3\n",
                 "run.yaml:3:3: unknown key \"train.bach\". Nearest known key is \"train.batch\"");
  EXPECT_REFUSED("batch: 3\n", "Nearest known key is");
  EXPECT_REFUSED("trian:\n  batch: 3\n", "run.yaml:1:1: unknown key \"trian\". Nearest known section is \"train\"");
  EXPECT_REFUSED("model: {encodr: {widths: [4]}}\n", "Nearest known section is \"model.encoder\"");
  EXPECT_REFUSED("recompute: {optons: {head: whole}}\n", "Nearest known key is \"recompute.options\"");
  EXPECT_REFUSED("hyperparameters: {lr: 1}\n", "lists all keys");
  EXPECT_OVERRIDE_REFUSED(
      "train.bacth=3",
      "command line argument 1: train.bacth=3:1: unknown key \"train.bacth\". Nearest known key is \"train.batch\"");
}

TEST(Config, AMistypedValueIsNamedWithPlaceTypeRangeAndUnit) {
  EXPECT_REFUSED("train:\n  batch: many\n",
                 "run.yaml:2:10: train.batch expects an integer, at least 1 (images), got \"many\"");
  EXPECT_REFUSED("train: {batch: 0}", "at least 1");
  EXPECT_REFUSED("train: {batch: 1.5}", "an integer");
  EXPECT_REFUSED("train: {momentum: 1}", "at least 0, below 1");
  EXPECT_REFUSED("train: {lr: .nan}", "a number");
  EXPECT_REFUSED("train: {lr: 1e999}", "a number");
  EXPECT_REFUSED("seed: \"1\"", "Leave out the quotes");
  EXPECT_REFUSED("seed: [1]", "got a list");
  EXPECT_REFUSED("seed: {a: 1}", "got a map");
  EXPECT_REFUSED("seed:", "got nothing");
  EXPECT_REFUSED("train: 5", "train is a section");
  EXPECT_REFUSED("train: {nesterov: maybe}", "true or false");
  EXPECT_REFUSED("memory: {budget: 12XB}", "1.5GiB");
  EXPECT_REFUSED("recompute: {options: {head: keep}}", "one of retain, whole, region");
}

TEST(Config, ADuplicateKeyNamesBothPlaces) {
  EXPECT_REFUSED("seed: 1\nseed: 2\n", "run.yaml:2:1: the key \"seed\" is given twice. The first is at run.yaml:1:1");
  EXPECT_REFUSED("train: {lr: 1}\ntrain: {batch: 2}\n", "The first is at run.yaml:1:1");
  EXPECT_REFUSED("train.lr: 1\ntrain: {lr: 2}\n", "The first is at run.yaml:1:1");
}

TEST(Config, WhatIsNoPlainMapIsRefused) {
  EXPECT_REFUSED("[1, 2]", "expected a map");
  EXPECT_REFUSED("seed", "expected a map");
  EXPECT_REFUSED("", "empty file");
  EXPECT_REFUSED("seed: [1,", "not valid YAML");
  EXPECT_REFUSED("seed: 1\n---\nseed: 2\n", "second one");
  EXPECT_REFUSED("seed: &x 1\n", "anchors");
  EXPECT_REFUSED("seed: !!binary aa\n", "tag");
  EXPECT_REFUSED("seed: 1\n\x01", "run.yaml:2:1: expected text in UTF-8");
  EXPECT_REFUSED("seed: \xff", "UTF-8");
  EXPECT_REFUSED("? [a]\n: 1\n", "expected a key");
}

TEST(Config, HostileDocumentsEndSoonInAnError) {
  auto repeat = [](const std::string& piece, int times) {
    std::string text;
    for (int i = 0; i < times; ++i) text += piece;
    return text;
  };
  EXPECT_REFUSED("train: " + repeat("[", 100) + repeat("]", 100), "nested deeper");
  refusal("train: " + repeat("[", 5000));
  EXPECT_REFUSED(repeat("- ", 5000), "nested deeper");
  EXPECT_REFUSED(repeat("x", 300000), "at most");
  refusal(repeat("{a: ", 50000));
  refusal(repeat("&a ", 80000));
  refusal("train: {" + std::string(200, 'b') + ": 1}");
  EXPECT_OVERRIDE_REFUSED("seed=" + repeat("[", 1000), "nested deeper");
  EXPECT_OVERRIDE_REFUSED(std::string("data.path=") + repeat("x", 70000), "at most");
}

TEST(Config, ValuesReadAsPeopleWriteThem) {
  Config config = from(
      "memory: {budget: 1.5GiB}\nguard: on\nthreads: 1_0\ntrain: {nesterov: yes, lr: 1e-3, step_epochs: [60, 80]}\n"
      "run: {lock_wait: 1h30min}\nrecompute: {segments: [head, layer1], options: {\"layer2.*\": retain, head: "
      "whole}}\n");
  EXPECT_EQ(config.get_bytes("memory.budget"), Bytes(1610612736));
  EXPECT_EQ(config.get_string("guard"), "on");
  EXPECT_EQ(config.get_int("threads"), 10);
  EXPECT_TRUE(config.get_bool("train.nesterov"));
  EXPECT_EQ(config.get_real("train.lr"), 1e-3);
  EXPECT_EQ(config.get_numbers("train.step_epochs"), (Numbers{60, 80}));
  EXPECT_EQ(config.get_seconds("run.lock_wait"), 5400);
  EXPECT_EQ(config.get_list("recompute.segments"), (Words{"head", "layer1"}));
  EXPECT_EQ(config.get_map("recompute.options"), (WordMap{{"layer2.*", "retain"}, {"head", "whole"}}));
  EXPECT_EQ(config.entry_position("recompute.options", "head").line, 6);
}

TEST(Config, BytesCarryUnits) {
  EXPECT_EQ(parse_bytes("4096"), Bytes(4096));
  EXPECT_EQ(parse_bytes("512MB"), Bytes(512000000));
  EXPECT_EQ(parse_bytes("512 MiB"), Bytes(536870912));
  EXPECT_EQ(parse_bytes("1.5gib"), Bytes(1610612736));
  for (const char* bad : {"", "MB", "1.5", "-1", "1e30TiB", "1..5MB", "5MBs", "1 2 MB", "0x10"}) {
    EXPECT_EQ(parse_bytes(bad), Bytes()) << bad;
  }
}

TEST(Config, DurationsCarryUnits) {
  EXPECT_EQ(parse_duration("90"), 90.0);
  EXPECT_EQ(parse_duration("250ms"), 0.25);
  EXPECT_EQ(parse_duration("1h30min"), 5400.0);
  for (const char* bad : {"", "s", "-1", "5x", "1h30", "1..s"}) EXPECT_FALSE(parse_duration(bad)) << bad;
}

TEST(Config, OverridesFollowHydra) {
  const std::string file = "train: {batch: 64, lr: 0.2}\nrecompute: {options: {a: whole}}\n";
  EXPECT_EQ(from(file, {"train.batch=32"}).get_int("train.batch"), 32);
  EXPECT_EQ(from(file, {"train.batch=32", "train.batch=16"}).get_int("train.batch"), 16);
  EXPECT_EQ(from(file, {"~train.batch"}).get_int("train.batch"), 128);
  EXPECT_EQ(from(file, {"~train"}).get_real("train.lr"), 0.1);
  EXPECT_EQ(from(file, {"~train.batch=64"}).get_int("train.batch"), 128);
  EXPECT_EQ(from(file, {"+seed=7"}).get_int("seed"), 7);
  EXPECT_EQ(from(file, {"++train.batch=7"}).get_int("train.batch"), 7);
  EXPECT_EQ(from(file, {"train={batch: 8, lr: 1}"}).get_int("train.batch"), 8);
  EXPECT_EQ(from(file, {"data.path='a b, c'"}).get_string("data.path"), "a b, c");
  EXPECT_EQ(from(file, {"data.path=\"it's\""}).get_string("data.path"), "it's");
  EXPECT_EQ(from(file, {"data.path=a\\,b=c"}).get_string("data.path"), "a,b=c");
  EXPECT_EQ(from(file, {"data.path="}).get_string("data.path"), "");
  EXPECT_EQ(from(file, {"memory.budget=null"}).get_bytes("memory.budget"), Bytes());
  EXPECT_EQ(from(file, {"recompute.segments=[a, 'b c']"}).get_list("recompute.segments"), (Words{"a", "b c"}));
  EXPECT_EQ(from(file, {"recompute.options={b: region}"}).get_map("recompute.options"),
            (WordMap{{"a", "whole"}, {"b", "region"}}));
  EXPECT_EQ(from(file, {"recompute.options.layer2.*=retain"}).get_map("recompute.options"),
            (WordMap{{"a", "whole"}, {"layer2.*", "retain"}}));
  EXPECT_TRUE(from(file, {"~recompute.options.a"}).get_map("recompute.options").empty());
  EXPECT_TRUE(from(file, {"~recompute.options"}).get_map("recompute.options").empty());
}

TEST(Config, WrongOverridesNameArgumentAndColumn) {
  EXPECT_PRED2(contains, refusal("seed: 1", {"train.lr=1", "+seed=2"}),
               "command line argument 2: +seed=2:2: seed is already set at run.yaml:1:1");
  EXPECT_PRED2(contains, refusal("seed: 1", {"~seed=2"}), "seed is 1, not 2");
  EXPECT_OVERRIDE_REFUSED("train.batch", "expected key=value");
  EXPECT_OVERRIDE_REFUSED("=3", "expected a key");
  EXPECT_OVERRIDE_REFUSED("seed=1,2", "seed=1,2:7: a list of values to try");
  EXPECT_OVERRIDE_REFUSED("seed=${x}", "interpolation");
  EXPECT_OVERRIDE_REFUSED("seed=range(1)", "in quotes");
  EXPECT_OVERRIDE_REFUSED("data.path='x", "never closed");
  EXPECT_OVERRIDE_REFUSED("train.step_epochs=[1,]", "expected a value");
  EXPECT_OVERRIDE_REFUSED("recompute.options={a: whole, a: region}", "given twice");
  EXPECT_OVERRIDE_REFUSED("~recompute.options.a", "has no entry");
  EXPECT_OVERRIDE_REFUSED("~train.bath", "unknown key");
}

TEST(Config, AValueKnowsItsPlaceForLaterErrors) {
  Config config = from("data:\n  path: /nowhere\n", {"train.batch=4"});
  EXPECT_STREQ(config.error_at("data.path", "no such {}", "folder").what(),
               "run.yaml:2:9: data.path = /nowhere: no such folder");
  EXPECT_EQ(config.error_at("train.batch", "x").kind(), ErrorKind::config);
  EXPECT_PRED2(contains, config.error_at("train.batch", "x").what(), "command line argument 1: train.batch=4:13");
  EXPECT_PRED2(contains, config.error_at("train.lr", "x").what(), "default of train.lr");
  testing::expect_error(ErrorKind::internal, {"train.lr to be read as what it is"},
                        [&] { config.get_int("train.lr"); });
  testing::expect_error(ErrorKind::internal, {"a key of this run"}, [&] { config.get_int("train.nothing"); });
}

TEST(Config, PrintingLoadsBackToTheSame) {
  std::string text =
      from("{}", {"memory.budget=1.3GiB", "train.lr=5e-5", "data.path='off'", "recompute.segments=[none]", "guard=on",
                  "recompute.options={'a: {b}': whole, \"x\\\"y\": region}", "run.lock_wait=0.1"})
          .to_yaml();
  EXPECT_EQ(from(text).to_yaml(), text);
  EXPECT_PRED2(contains, text, "  lr: 5.0e-05\n");
  EXPECT_PRED2(contains, text, "  path: \"off\"\n");
  std::string with_sources = from(text).to_yaml(true);
  EXPECT_PRED2(contains, with_sources, "# run.yaml:");
  EXPECT_EQ(from(with_sources).to_yaml(), text);
}

/// Printable text of any kind, quotes and brackets included.
rc::Gen<std::string> printable() { return rc::gen::container<std::string>(rc::gen::inRange<char>(0x20, 0x7f)); }

TEST(Config, AnyTextAndNumberSurvivesPrinting) {
  EXPECT_TRUE(rc::check([] {
    Config config = load_config("");
    std::string path = *printable();
    Words names = *rc::gen::container<Words>(rc::gen::nonEmpty(printable()));
    WordMap options;
    for (const std::string& name : *rc::gen::unique<Words>(rc::gen::nonEmpty(printable())))
      options.emplace_back(name, "whole");
    config.set("data.path", path, "test");
    config.set("recompute.segments", names, "test");
    config.set("recompute.options", options, "test");
    config.set("seed", *rc::gen::inRange<std::int64_t>(0, INT64_MAX), "test");
    config.set("train.lr", std::abs(*rc::gen::arbitrary<double>()), "test");
    config.set("memory.budget", Bytes(*rc::gen::inRange<std::int64_t>(0, 1LL << 60)), "test");
    Config back = from(config.to_yaml());
    for (const char* key :
         {"data.path", "recompute.segments", "recompute.options", "seed", "train.lr", "memory.budget"}) {
      RC_ASSERT(back.value(key) == config.value(key));
    }
  }));
}

void expect_error_or_success(const std::function<void()>& load) {
  try {
    load();
  } catch (const Error& error) {
    RC_ASSERT(error.kind() == ErrorKind::config);
  }
}

TEST(Config, BrokenTextIsAnErrorAndNothingWorse) {
  const std::string good = load_config("").to_yaml();
  EXPECT_TRUE(rc::check([&] {
    std::string text =
        good.substr(static_cast<std::size_t>(*rc::gen::inRange<int>(0, static_cast<int>(good.size()))), 200);
    for (int i = *rc::gen::inRange(1, 6); i > 0; --i) {
      char byte = *rc::gen::elementOf(std::string("[]{}:,&*!|>'\"%@`#?- \n\t\x01\x80~+=$a1."));
      text.insert(static_cast<std::size_t>(*rc::gen::inRange<int>(0, static_cast<int>(text.size()) + 1)), 1, byte);
    }
    expect_error_or_success([&] { from(text); });
    expect_error_or_success([&] { load_config("", {text}); });
    expect_error_or_success([&] { load_config("", {"recompute.options=" + text}); });
  }));
}

TEST(Config, ShippedConfigurationsLoad) {
  for (const char* name : {"cifar100_dense_queue", "cifar100_dense_queue_full", "cifar100_supervised"}) {
    Config config = load_config(std::string(REPRISE_SOURCE_DIR) + "/configs/" + name + ".yaml");
    EXPECT_EQ(config.name(), name);
    EXPECT_EQ(config.get_string("recompute.method"), "retain");
    EXPECT_EQ(config.get_string("data.path"), "") << "nothing may need a download";
    augment_options(config);
  }
  Config full = load_config(std::string(REPRISE_SOURCE_DIR) + "/configs/cifar100_dense_queue_full.yaml");
  EXPECT_EQ(full.get_int("train.epochs"), 100);
  EXPECT_EQ(full.get_int("probe.epochs"), 25);
}

TEST(Config, PresetsGiveSizesThatKeysOverride) {
  EncoderSizes small = encoder_sizes(load_config(""));
  EXPECT_EQ(small.widths, (std::vector<std::int64_t>{16, 32, 64}));
  EXPECT_EQ(small.queue_rows, 4096);
  EncoderSizes large = encoder_sizes(
      load_config("", {"model.encoder.preset=resnet18", "model.encoder.widths=[8, 16]", "model.queue.size=300"}));
  EXPECT_EQ(large.widths, (std::vector<std::int64_t>{8, 16}));
  EXPECT_EQ(large.projection_hidden, 512);
  EXPECT_EQ(large.queue_rows, 300);
  testing::expect_error(ErrorKind::config, {"whole numbers of channels"},
                        [&] { encoder_sizes(load_config("", {"model.encoder.widths=[8.5]"})); });
  for (const char* preset : {"small", "resnet18"}) {
    Config grouped = load_config("", {std::string("model.encoder.preset=") + preset, "model.encoder.norm=group"});
    EXPECT_EQ(encoder_sizes(grouped).groups, 8) << "divides the channels of every preset";
  }
  testing::expect_error(ErrorKind::config, {"expected at most augment.scale_max"}, [&] {
    augment_options(load_config("", {"augment.scale_min=0.9", "augment.scale_max=0.5"}));
  });
}

TEST(Config, AMissingFileIsTheUsersMistake) {
  for (const char* path : {"/nonexistent/x.yaml", "/"}) {
    try {
      load_config(path);
      FAIL() << path;
    } catch (const Error& error) {
      EXPECT_EQ(exit_code(error.kind()), 2) << error.what();
      EXPECT_PRED2(contains, error.what(), path);
    }
  }
}

TEST(ConfigReference, NamesEveryKeyWithItsDefaultsAndMeaning) {
  Schema schema = standard_schema();
  std::string text = reference_text(schema), markdown = reference_markdown(schema);
  KeySet keys = schema.all_keys();
  for (const Key& key : keys.keys()) {
    EXPECT_PRED2(contains, text, key.name);
    EXPECT_PRED2(contains, markdown, "| `" + key.name + "` | " + type_name(key.type));
    EXPECT_FALSE(key.meaning.empty()) << key.name;
    EXPECT_LE(key.name.size(), 27u) << key.name << " does not fit the table";
  }
  EXPECT_PRED2(contains, text, "20 (classifier: 5)");
}

TEST(ConfigReference, EveryDefaultIsAllowed) {
  Schema schema = standard_schema();
  for (const ModelType& type : schema.model_types()) {
    std::string yaml = load_config("", {"model.type=" + type.name}).to_yaml();
    EXPECT_EQ(from(yaml).to_yaml(), yaml);
  }
}

TEST(KeyNames, TheNearestSharesLetters) {
  EXPECT_EQ(nearest_name("sed", {"seed", "guard"}), "seed");
  EXPECT_EQ(nearest_name("train.bacth", {"train.batch", "train.beta1"}), "train.batch");
  EXPECT_EQ(nearest_name("xyzzy", {"seed", "guard"}), "");
  EXPECT_EQ(nearest_name(std::string(100000, 'a'), {"seed"}), "");
}

TEST(Config, NearestKeyOfAMistypedSectionIsTheOneWithTheClosestLetters) {
  try {
    load_config("", {"trian.batch=3"});
    FAIL() << "expected an error";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("\"train.batch\""), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace reprise
