// The model types around a memory (models/kinds/memory_model.h): their keys, and defaults of common keys that suit runs
// without images: every size is a key, so that a workload is what its file says.
#include "models/config/memory_keys.h"

namespace reprise {
namespace {

using Keys = std::vector<Key>;

/// `batch` aside, sizes of the hidden state.
Keys layer_keys(std::int64_t layers, std::int64_t width) {
  return {
      integer_key("model.layers", layers, between(1, 1024), "layers", "layers behind each other, each a segment"),
      integer_key("model.width", width, between(1, 65536), "numbers", "width of the hidden state"),
  };
}

Keys hidden_keys(std::int64_t hidden) {
  return {integer_key("model.hidden", hidden, between(1, 65536), "numbers", "inner width of a layer's two products")};
}

Keys table_keys(std::int64_t rows, std::int64_t width, const std::string& row) {
  return {
      integer_key("model.table.rows", rows, between(1, 2147483647), "rows",
                  "rows of the memory that all layers share: " + row),
      integer_key("model.table.width", width, between(1, 65536), "numbers", "width of a row"),
  };
}

Key keep_key(double keep) {
  return real_key("model.keep", keep, between(0, 1), "",
                  "share of a row that stays when it is moved towards what is written");
}

Key reads_key(std::int64_t reads) {
  return integer_key("model.reads", reads, between(1, 65536), "rows", "rows a layer reads for each example");
}

/// Defaults for a run whose every epoch is the same one batch.
std::vector<ModelType::Default> defaults(std::int64_t batch) {
  return {{"train.batch", batch},
          {"train.epochs", std::int64_t{20}},
          {"train.lr", 0.1},
          {"train.schedule", std::string("constant")},
          {"train.warmup_steps", std::int64_t{0}},
          {"train.momentum", 0.0},
          {"train.weight_decay", 0.0},
          {"train.log_every", std::int64_t{1}}};
}

constexpr std::int64_t kGuardedRows = 2048;

}  // namespace

std::vector<ModelType> memory_model_types() {
  return {
      {.name = "row_memory",
       .summary = "layers that share a table: each reads fixed rows for every example and writes a few rows in place",
       .keys = join_keys({layer_keys(12, 128),
                          hidden_keys(128),
                          table_keys(98304, 128, "one entry each"),
                          {reads_key(8),
                           integer_key("model.writes", 983, at_least(1), "rows",
                                       "different rows a layer writes; row i takes after example i modulo train.batch"),
                           keep_key(0.9)}}),
       .defaults = defaults(8192),
       .guarded = {{"model.table.rows", kGuardedRows}, {"model.writes", std::int64_t{64}}}},
      {.name = "graph_memory",
       .summary =
           "layers that share a node memory: each reads both ends of fixed edges and writes the nodes they touch",
       .keys = join_keys(
           {layer_keys(12, 64),
            table_keys(131072, 128, "nodes"),
            {real_key(
                "model.skew", 2, at_least(1), "",
                "ends of edges are drawn as floor(rows * u^skew): 1 evenly, above 1 some nodes far more often")}}),
       .defaults = defaults(8192),
       .guarded = {{"model.table.rows", kGuardedRows}}},
      {.name = "product_key_memory",
       .summary =
           "layers that share a table: the best pairs of two sets of keys choose rows, which then follow their users",
       .keys = join_keys({layer_keys(6, 128),
                          hidden_keys(128),
                          {integer_key("model.keys", 256, between(1, 46340), "keys",
                                       "keys of each half; the table has keys x keys rows"),
                           integer_key("model.key_width", 64, between(1, 65536), "numbers", "width of a key"),
                           integer_key("model.table.width", 128, between(1, 65536), "numbers", "width of a row"),
                           reads_key(16), keep_key(0.9)}}),
       .defaults = defaults(8192),
       .guarded = {{"model.keys", std::int64_t{32}}, {"model.reads", std::int64_t{16}}}},
      {.name = "slot_cache",
       .summary = "layers that share a ring of slots: each attends to all of it and writes the next span in place",
       .keys = join_keys(
           {layer_keys(8, 128),
            hidden_keys(128),
            table_keys(57344, 64, "slots"),
            {integer_key("model.span", 1024, at_least(1), "slots",
                         "slots a layer writes; slot i of a span takes after example i modulo train.batch")}}),
       .defaults = defaults(256),
       .guarded = {{"model.table.rows", kGuardedRows}, {"model.span", std::int64_t{64}}}},
  };
}

}  // namespace reprise
