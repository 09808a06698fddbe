// Reading statements: one table row per kind, with the keys it knows and how they are read.
#include <algorithm>

#include "tools/conform/operators.h"
#include "tools/conform/program.h"

namespace reprise::conform {

Operand read_operand(const JsonCursor& at) {
  Operand operand;
  if (at.json().is_number())
    operand.number = at.number();
  else if (at.json().is_string())
    operand.name = at.text();
  else
    at.refuse("expected a number or a name, got {}", at.json().type_name());
  return operand;
}

RegionSpec read_region(const JsonCursor& at) {
  RegionSpec region;
  at.require_keys({"span", "block", "rows", "wrap"});
  int forms = at.has("span") + at.has("block") + at.has("rows");
  if (forms != 1 || (at.has("wrap") && !at.has("rows")))
    at.refuse("expected one of span, block, rows (wrap goes with rows)");
  if (at.has("span")) {
    region.kind = RegionSpec::Kind::span;
    std::vector<std::int64_t> ends = at.at("span").integers();
    if (ends.size() != 2 || ends[0] < 0 || ends[1] < ends[0] || ends[1] > kMaxElements) {
      at.at("span").refuse("expected [lo, hi] with 0 <= lo <= hi");
    }
    region.offset = ends[0];
    region.shape = {ends[1] - ends[0]};
    region.strides = {1};
  } else if (at.has("block")) {
    region.kind = RegionSpec::Kind::block;
    JsonCursor block = at.at("block");
    block.require_keys({"offset", "shape", "stride"});
    region.offset = block.at("offset").integer(0, kMaxElements);
    region.shape = block.at("shape").shape();
    for (const JsonCursor& item : block.at("stride").items()) {
      if (region.strides.size() == kMaxRank) block.refuse("expected as many strides as axes");
      region.strides.push_back(item.integer(-kMaxElements, kMaxElements));
    }
    if (region.strides.size() != region.shape.size()) block.refuse("expected as many strides as axes");
  } else {
    region.kind = RegionSpec::Kind::rows;
    if (at.at("rows").json().is_array())
      region.rows = at.at("rows").integers();
    else
      region.rows_from = read_operand(at.at("rows"));
    if (at.has("wrap")) region.wrap = at.at("wrap").flag();
  }
  return region;
}

namespace {

/// What may stand around a statement.
struct Place {
  bool main = false;
  bool hook = false;  // inside the body of hook or on_grad
};

std::vector<Statement> read_list(const JsonCursor& at, const Place& place);

std::vector<Operand> read_operands(const JsonCursor& at) {
  std::vector<Operand> list;
  for (const JsonCursor& item : at.items()) list.push_back(read_operand(item));
  return list;
}

WriteMode read_mode(const JsonCursor& at) {
  std::string mode = at.text();
  if (mode == "assign") return WriteMode::assign;
  if (mode == "add") return WriteMode::add;
  if (mode == "mul") return WriteMode::mul;
  at.refuse("expected assign, add or mul, got '{}'", mode);
}

void read_test(const JsonCursor& at, Statement& s) {
  std::vector<JsonCursor> parts = at.items();
  if (parts.empty()) at.refuse("expected a test, got an empty list");
  s.test = parts[0].text();
  std::size_t numbers = s.test == "mod" ? 3 : 2;
  if ((s.test != "eq" && s.test != "lt" && s.test != "mod") || parts.size() != numbers + 1) {
    at.refuse("expected [\"eq\", a, b], [\"lt\", a, b] or [\"mod\", a, m, r]");
  }
  for (std::size_t i = 1; i < parts.size(); ++i) s.in.push_back(read_operand(parts[i]));
}

void read_append(const JsonCursor& at, Statement& s) {
  s.target = at.at("cell").text();
  s.literal = at.at("value").json();
  if (s.literal.is_structured()) at.at("value").refuse("expected a number, a name or a literal");
}

void read_op(const JsonCursor& at, Statement& s) {
  std::vector<std::string> keys = {"do", "in", "out"};
  for (const char* key : s.op->attributes) keys.emplace_back(key);
  at.require_keys(keys);
  s.in = read_operands(at.at("in"));
  s.out = at.at("out").text();
  int given = static_cast<int>(s.in.size());
  if (given < s.op->min_in || given > s.op->max_in) {
    at.at("in").refuse("{} takes {} operands, got {}", s.op->name, s.op->min_in, given);
  }
  if (at.has("axis")) s.axis = at.at("axis").integer(-kMaxRank, kMaxRank - 1);
  if (at.has("keep")) s.keep = at.at("keep").flag();
  if (at.has("eps")) s.eps = at.at("eps").number();
  if (at.has("shape") || std::string(s.op->name) == "reshape") s.shape = at.at("shape").shape();
  if (at.has("k") || std::string(s.op->name) == "topk") s.k = at.at("k").integer(1, kMaxElements);
  if (std::string(s.op->name) == "cast") {
    s.to = at.at("to").text();
    if (s.to != "bf16" && s.to != "f32" && s.to != "i64")
      at.at("to").refuse("expected bf16, f32 or i64, got '{}'", s.to);
  }
}

struct StatementRule {
  const char* name;
  Do kind;
  std::vector<std::string> keys;
  bool main_only;
  bool in_hook;
  void (*read)(const JsonCursor& at, Statement& s, const Place& place);
};

using C = const JsonCursor&;
using S = Statement&;
using P = const Place&;

// name, kind, keys, in main only, in a hook's body too, reader
const std::vector<StatementRule> kStatementRules = {
    {"read",
     Do::read,
     {"of", "region", "out"},
     false,
     true,
     [](C at, S s, P) {
       s.in = {read_operand(at.at("of"))};
       s.out = at.at("out").text();
     }},
    {"write",
     Do::write,
     {"to", "value", "mode", "region", "foreign"},
     false,
     true,
     [](C at, S s, P) {
       s.target = at.at("to").text();
       s.value = read_operand(at.at("value"));
       if (at.has("mode")) s.mode = read_mode(at.at("mode"));
       if (at.has("foreign")) s.foreign = at.at("foreign").flag();
     }},
    {"draw",
     Do::draw,
     {"stream", "shape", "out"},
     false,
     false,
     [](C at, S s, P) {
       s.target = at.at("stream").text();
       s.shape = at.at("shape").shape();
       s.out = at.at("out").text();
     }},
    {"set",
     Do::set,
     {"cell", "value"},
     false,
     true,
     [](C at, S s, P) {
       s.target = at.at("cell").text();
       s.value = read_operand(at.at("value"));
     }},
    {"bump",
     Do::bump,
     {"cell", "by"},
     false,
     true,
     [](C at, S s, P) {
       s.target = at.at("cell").text();
       s.value = read_operand(at.at("by"));
     }},
    {"append", Do::append, {"cell", "value"}, false, true, [](C at, S s, P) { read_append(at, s); }},
    {"if",
     Do::choose,
     {"test", "then", "else"},
     false,
     false,
     [](C at, S s, P place) {
       read_test(at.at("test"), s);
       if (at.has("then")) s.body = read_list(at.at("then"), place);
       if (at.has("else")) s.otherwise = read_list(at.at("else"), place);
     }},
    {"with",
     Do::with,
     {"key", "value", "body"},
     false,
     false,
     [](C at, S s, P place) {
       s.target = at.at("key").text();
       s.value = read_operand(at.at("value"));
       s.body = read_list(at.at("body"), place);
     }},
    {"context",
     Do::context,
     {"key", "out"},
     false,
     false,
     [](C at, S s, P) {
       s.target = at.at("key").text();
       s.out = at.at("out").text();
     }},
    {"call",
     Do::call,
     {"seg", "in", "out"},
     false,
     false,
     [](C at, S s, P) {
       s.target = at.at("seg").text();
       s.in = read_operands(at.at("in"));
       s.outs = at.at("out").texts();
     }},
    {"hook",
     Do::hook,
     {"in", "out", "body"},
     false,
     false,
     [](C at, S s, P place) {
       s.in = read_operands(at.at("in"));
       if (s.in.size() != 1) at.at("in").refuse("hook takes 1 operand, got {}", s.in.size());
       s.out = at.at("out").text();
       s.body = read_list(at.at("body"), {place.main, true});
     }},
    {"on_grad",
     Do::on_grad,
     {"of", "body"},
     true,
     false,
     [](C at, S s, P place) {
       s.target = at.at("of").text();
       s.body = read_list(at.at("body"), {place.main, true});
     }},
    {"backward",
     Do::backward,
     {"of", "keep", "retries"},
     true,
     false,
     [](C at, S s, P) {
       s.in = read_operands(at.at("of"));
       if (at.has("keep")) s.keep = at.at("keep").flag();
       if (at.has("retries")) s.retries = at.at("retries").integer(0, 1000);
     }},
    {"grad",
     Do::grad,
     {"of", "out", "clear"},
     true,
     false,
     [](C at, S s, P) {
       s.target = at.at("of").text();
       s.out = at.at("out").text();
       if (at.has("clear")) s.clear = at.at("clear").flag();
     }},
};

Statement read_one(const JsonCursor& at, const Place& place) {
  Statement s;
  s.path = at.path();
  std::string name = at.at("do").text();
  s.op = find_op_rule(name);
  if (s.op) {
    read_op(at, s);
    return s;
  }
  const auto& rules = kStatementRules;
  auto rule = std::find_if(rules.begin(), rules.end(), [&](const StatementRule& r) { return name == r.name; });
  if (rule == rules.end()) at.at("do").refuse("unknown statement or op '{}'", name);
  if (rule->main_only && !place.main) at.refuse("{} stands in main only", name);
  if (place.hook && !rule->in_hook) at.refuse("a hook's body cannot hold {}", name);
  std::vector<std::string> keys = rule->keys;
  keys.emplace_back("do");
  at.require_keys(keys);
  s.kind = rule->kind;
  if (at.has("region")) s.region = read_region(at.at("region"));
  rule->read(at, s, place);
  return s;
}

std::vector<Statement> read_list(const JsonCursor& at, const Place& place) {
  std::vector<Statement> list;
  for (const JsonCursor& item : at.items()) list.push_back(read_one(item, place));
  return list;
}

}  // namespace

std::vector<Statement> read_statements(const JsonCursor& at, bool in_main) { return read_list(at, {in_main, false}); }

}  // namespace reprise::conform
