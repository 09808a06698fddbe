// A conformance program as plain data: what its JSON file says, checked and typed. Read by read_program.cpp, run by
// machine.h, judged by verdict.h. The language is described in the conformance format "reprise-conformance/1".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/dtype.h"
#include "tools/conform/json_cursor.h"

namespace reprise::conform {

struct TensorData {
  DType dtype = DType::f32;
  Shape shape;
  std::vector<double> reals;           // of floating tensors
  std::vector<std::int64_t> integers;  // of i64 tensors
};

enum class InputKind : std::uint8_t { leaf, param, frozen };
struct InputDecl {
  InputKind kind = InputKind::leaf;
  TensorData data;
};

/// A number, or the name of a value, input, buffer, view or cell.
struct Operand {
  std::string name;  // empty: a number
  double number = 0;
};

struct RegionSpec {
  enum class Kind : std::uint8_t { all, span, block, rows } kind = Kind::all;
  std::int64_t offset = 0;  // span, block: in elements
  Shape shape;
  Strides strides;
  std::vector<std::int64_t> rows;
  std::optional<Operand> rows_from;
  bool wrap = false;
};

struct ViewDecl {
  std::string of;
  RegionSpec region;
};

enum class StreamKind : std::uint8_t { standard, named, foreign };
struct StreamDecl {
  std::uint64_t seed = 0, id = 0;
  StreamKind kind = StreamKind::standard;
};

struct CellData {
  enum class Kind : std::uint8_t { number, list, tensor } kind = Kind::number;
  double number = 0;
  bool whole = false;      // written as a whole number
  std::vector<Json> list;  // numbers, texts and other literals
  TensorData tensor;
};

enum class Do : std::uint8_t {
  op,
  read,
  write,
  draw,
  set,
  bump,
  append,
  choose,
  with,
  context,
  call,
  hook,
  on_grad,
  backward,
  grad
};
enum class WriteMode : std::uint8_t { assign, add, mul };
struct OpRule;

struct Statement {
  Do kind = Do::op;
  const OpRule* op = nullptr;
  std::string path;         // where it stands in the file
  std::vector<Operand> in;  // operands; of `backward`: the roots
  std::string out;
  std::vector<std::string> outs;  // of `call`
  std::string target;             // what is read, written, drawn from, set, called, ...
  Operand value;
  RegionSpec region;
  WriteMode mode = WriteMode::assign;
  bool foreign = false, keep = false, clear = false;
  std::int64_t retries = 0;
  Shape shape;
  std::optional<std::int64_t> axis;
  std::int64_t k = 1;
  double eps = 1e-5;
  std::string to;    // of `cast`
  Json literal;      // of `append`
  std::string test;  // of `if`; its numbers are in `in`
  std::vector<Statement> body, otherwise;
};

struct SegmentDecl {
  std::vector<std::string> args, out;
  std::vector<Statement> body;
};

struct Expectation {
  std::map<std::string, TensorData> grads, buffers;
  std::map<std::string, std::uint64_t> streams;
  std::map<std::string, CellData> cells;
  std::map<std::string, std::int64_t> max_replays;
  bool error = false;
};

struct Program {
  std::string file, name, cls, about;
  DType dtype = DType::f32;
  std::map<std::string, InputDecl> inputs;
  std::map<std::string, TensorData> buffers;
  std::map<std::string, ViewDecl> views;
  std::map<std::string, StreamDecl> streams;
  std::map<std::string, CellData> cells;
  std::map<std::string, double> contexts;
  std::map<std::string, SegmentDecl> segments;
  std::vector<Statement> main;
  std::optional<Expectation> expect;
  bool honour_or_reject = false;
};

/// Reads a program from JSON text. Errors (user): not JSON, not the format; with file and JSON path.
Program read_program(const std::string& text, const std::string& file);
/// The same from a file. Errors: io, user.
Program load_program(const std::string& file);

/// For read_program.cpp; in check_names.cpp. Errors (user): a statement mentions a name that nothing has.
void require_names(const Program& program, const JsonCursor& top);

/// For read_program.cpp; in read_statements.cpp.
std::vector<Statement> read_statements(const JsonCursor& at, bool in_main);
Operand read_operand(const JsonCursor& at);
RegionSpec read_region(const JsonCursor& at);

}  // namespace reprise::conform
