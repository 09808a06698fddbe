// Reading the sections of a conformance program.
#include <set>

#include "data/text_file.h"
#include "tools/conform/program.h"

namespace reprise::conform {
namespace {

constexpr const char* kFormat = "reprise-conformance/1";
constexpr std::int64_t kMaxFileBytes = std::int64_t{64} << 20;

DType read_dtype(const JsonCursor& at) {
  std::string name = at.text();
  if (name == "f32") return DType::f32;
  if (name == "f64") return DType::f64;
  at.refuse("expected f32 or f64, got '{}'", name);
}

TensorData read_tensor(const JsonCursor& at, DType dtype, std::vector<std::string> extra_keys = {}) {
  extra_keys.insert(extra_keys.end(), {"shape", "data", "dtype"});
  at.require_keys(extra_keys);
  TensorData tensor;
  tensor.dtype = dtype;
  if (at.has("dtype")) {
    std::string name = at.at("dtype").text();
    if (name == "i64")
      tensor.dtype = DType::i64;
    else if (name != to_string(dtype))
      at.at("dtype").refuse("expected i64, got '{}'", name);
  }
  tensor.shape = at.at("shape").shape();
  std::vector<JsonCursor> data = at.at("data").items();
  if (static_cast<std::int64_t>(data.size()) != element_count(tensor.shape)) {
    at.refuse("expected {} numbers for shape {}, got {}", element_count(tensor.shape), to_string(tensor.shape),
              data.size());
  }
  for (const JsonCursor& item : data) {
    if (tensor.dtype == DType::i64)
      tensor.integers.push_back(item.integer(INT64_MIN, INT64_MAX));
    else
      tensor.reals.push_back(item.number());
  }
  return tensor;
}

InputDecl read_input(const JsonCursor& at, DType dtype) {
  InputDecl input;
  input.data = read_tensor(at, dtype, {"kind"});
  std::string kind = at.at("kind").text();
  if (kind == "leaf")
    input.kind = InputKind::leaf;
  else if (kind == "param")
    input.kind = InputKind::param;
  else if (kind == "frozen")
    input.kind = InputKind::frozen;
  else
    at.at("kind").refuse("expected leaf, param or frozen, got '{}'", kind);
  if (input.kind != InputKind::frozen && input.data.dtype == DType::i64) {
    at.refuse("expected floating numbers for an input that wants a gradient, got i64");
  }
  return input;
}

CellData read_cell(const JsonCursor& at, DType dtype) {
  CellData cell;
  if (at.json().is_number()) {
    cell.number = at.number();
    cell.whole = at.json().is_number_integer();
  } else if (at.json().is_array()) {
    cell.kind = CellData::Kind::list;
    for (const JsonCursor& item : at.items()) {
      if (item.json().is_structured()) item.refuse("expected a number, a text or another literal");
      cell.list.push_back(item.json());
    }
  } else {
    cell.kind = CellData::Kind::tensor;
    cell.tensor = read_tensor(at, dtype);
  }
  return cell;
}

StreamDecl read_stream(const JsonCursor& at) {
  at.require_keys({"seed", "id", "kind"});
  StreamDecl stream;
  stream.seed = at.at("seed").unsigned_integer();
  if (at.has("id")) stream.id = at.at("id").unsigned_integer();
  std::string kind = at.at("kind").text();
  if (kind == "named")
    stream.kind = StreamKind::named;
  else if (kind == "foreign")
    stream.kind = StreamKind::foreign;
  else if (kind != "default")
    at.at("kind").refuse("expected default, named or foreign, got '{}'", kind);
  return stream;
}

SegmentDecl read_segment(const JsonCursor& at) {
  at.require_keys({"args", "body", "out", "keep"});
  SegmentDecl segment;
  segment.args = at.at("args").texts();
  segment.out = at.at("out").texts();
  if (at.has("keep")) at.at("keep").texts();  // a hint: never changes what is right
  segment.body = read_statements(at.at("body"), false);
  std::set<std::string> seen(segment.args.begin(), segment.args.end());
  if (seen.size() != segment.args.size()) at.at("args").refuse("expected distinct names");
  return segment;
}

Expectation read_expectation(const JsonCursor& at, DType dtype) {
  at.require_keys({"grads", "buffers", "streams", "cells", "max_replays", "error"});
  Expectation expect;
  if (at.has("error")) {
    if (at.at("error").text() != "program") at.at("error").refuse("expected 'program'");
    expect.error = true;
  }
  auto each = [&](const char* section, auto&& read) {
    if (!at.has(section)) return;
    for (const auto& [name, item] : at.at(section).members()) read(name, item);
  };
  each("grads",
       [&](const std::string& name, const JsonCursor& item) { expect.grads[name] = read_tensor(item, dtype); });
  each("buffers",
       [&](const std::string& name, const JsonCursor& item) { expect.buffers[name] = read_tensor(item, dtype); });
  each("streams",
       [&](const std::string& name, const JsonCursor& item) { expect.streams[name] = item.unsigned_integer(); });
  each("cells", [&](const std::string& name, const JsonCursor& item) { expect.cells[name] = read_cell(item, dtype); });
  each("max_replays",
       [&](const std::string& name, const JsonCursor& item) { expect.max_replays[name] = item.integer(0, INT64_MAX); });
  return expect;
}

void require_distinct_names(const Program& program, const JsonCursor& top) {
  std::set<std::string> seen;
  auto all = [&](const char* section, const auto& map) {
    for (const auto& [name, item] : map) {
      if (!seen.insert(name).second) top.at(section).refuse("the name '{}' is declared twice", name);
    }
  };
  all("inputs", program.inputs);
  all("buffers", program.buffers);
  all("views", program.views);
  all("streams", program.streams);
  all("cells", program.cells);
  all("contexts", program.contexts);
  all("segments", program.segments);
}

void require_declared(const Program& program, const std::vector<Statement>& body, const JsonCursor& top) {
  for (const Statement& s : body) {
    auto need = [&](const auto& map, const char* what) {
      if (!map.count(s.target))
        top.refuse("the statement at {} names the {} '{}', which is not declared", s.path, what, s.target);
    };
    if (s.kind == Do::draw) need(program.streams, "stream");
    if (s.kind == Do::with || s.kind == Do::context) need(program.contexts, "context");
    if (s.kind == Do::call) {
      need(program.segments, "segment");
      const SegmentDecl& segment = program.segments.at(s.target);
      if (s.in.size() != segment.args.size() || s.outs.size() != segment.out.size()) {
        top.refuse("the call at {} passes {} arguments and takes {} results; segment '{}' has {} and {}", s.path,
                   s.in.size(), s.outs.size(), s.target, segment.args.size(), segment.out.size());
      }
    }
    require_declared(program, s.body, top);
    require_declared(program, s.otherwise, top);
  }
}

void collect_calls(const std::vector<Statement>& body, std::set<std::string>& calls) {
  for (const Statement& s : body) {
    if (s.kind == Do::call) calls.insert(s.target);
    collect_calls(s.body, calls);
    collect_calls(s.otherwise, calls);
  }
}

/// Removes segments that call none but removed ones, again and again; what stays calls itself.
void require_no_recursion(const Program& program, const JsonCursor& top) {
  std::map<std::string, std::set<std::string>> calls;
  for (const auto& [name, segment] : program.segments) collect_calls(segment.body, calls[name]);
  for (bool removed = true; removed && !calls.empty();) {
    removed = false;
    for (auto at = calls.begin(); at != calls.end();) {
      bool leaf = true;
      for (const std::string& callee : at->second) leaf &= calls.count(callee) == 0;
      removed |= leaf;
      at = leaf ? calls.erase(at) : std::next(at);
    }
  }
  if (!calls.empty()) top.at("segments").refuse("segment '{}' calls itself", calls.begin()->first);
}

/// Expected results must be of declared things, else a typing error would make a check that checks nothing.
void check_expectation(const Program& program, const JsonCursor& top) {
  const Expectation& expect = *program.expect;
  JsonCursor at = top.at("expect");
  auto known = [&](const char* section, const auto& wanted, auto&& is_declared) {
    for (const auto& [name, item] : wanted) {
      if (!is_declared(name)) at.at(section).refuse("'{}' is not declared", name);
    }
  };
  auto wants_grad = [&](const std::string& n) {
    return program.inputs.count(n) && program.inputs.at(n).kind != InputKind::frozen;
  };
  known("grads", expect.grads, wants_grad);
  known("buffers", expect.buffers, [&](const std::string& n) {
    return program.buffers.count(n) || (program.inputs.count(n) && program.inputs.at(n).kind == InputKind::param);
  });
  known("streams", expect.streams, [&](const std::string& n) { return program.streams.count(n) > 0; });
  known("cells", expect.cells, [&](const std::string& n) { return program.cells.count(n) > 0; });
  known("max_replays", expect.max_replays, [&](const std::string& n) { return program.segments.count(n) > 0; });
}

}  // namespace

Program read_program(const std::string& text, const std::string& file) {
  Json json = parse_json(text, file);
  JsonCursor top(json, file);
  top.require_keys({"format", "name", "class", "about", "dtype", "inputs", "buffers", "views", "streams", "cells",
                    "contexts", "segments", "main", "expect", "honour_or_reject"});
  if (top.at("format").text() != kFormat) top.at("format").refuse("expected '{}'", kFormat);
  Program program;
  program.file = file;
  program.name = top.at("name").text();
  if (top.has("class")) program.cls = top.at("class").text();
  if (top.has("about")) {
    if (!top.at("about").json().is_string()) top.at("about").refuse("expected a text");
    program.about = top.at("about").json().get<std::string>();
  }
  if (top.has("dtype")) program.dtype = read_dtype(top.at("dtype"));
  if (top.has("honour_or_reject")) program.honour_or_reject = top.at("honour_or_reject").flag();
  auto each = [&](const char* section, auto&& read) {
    if (!top.has(section)) return;
    for (const auto& [name, item] : top.at(section).members()) read(name, item);
  };
  each("inputs", [&](const auto& name, const auto& item) { program.inputs[name] = read_input(item, program.dtype); });
  each("buffers",
       [&](const auto& name, const auto& item) { program.buffers[name] = read_tensor(item, program.dtype); });
  each("views", [&](const auto& name, const auto& item) {
    item.require_keys({"of", "region"});
    ViewDecl view{item.at("of").text(), read_region(item.at("region"))};
    if (!program.buffers.count(view.of)) item.at("of").refuse("expected a buffer, got '{}'", view.of);
    if (view.region.kind == RegionSpec::Kind::rows) item.at("region").refuse("expected a span or a block");
    program.views[name] = std::move(view);
  });
  each("streams", [&](const auto& name, const auto& item) { program.streams[name] = read_stream(item); });
  each("cells", [&](const auto& name, const auto& item) { program.cells[name] = read_cell(item, program.dtype); });
  each("contexts", [&](const auto& name, const auto& item) { program.contexts[name] = item.number(); });
  each("segments", [&](const auto& name, const auto& item) { program.segments[name] = read_segment(item); });
  if (top.has("main")) program.main = read_statements(top.at("main"), true);
  require_distinct_names(program, top);
  require_declared(program, program.main, top);
  for (const auto& [name, segment] : program.segments) require_declared(program, segment.body, top);
  require_no_recursion(program, top);
  require_names(program, top);
  if (top.has("expect")) {
    program.expect = read_expectation(top.at("expect"), program.dtype);
    check_expectation(program, top);
  }
  return program;
}

Program load_program(const std::string& file) {
  return read_program(read_text_file(file, "conform", kMaxFileBytes), file);
}

}  // namespace reprise::conform
