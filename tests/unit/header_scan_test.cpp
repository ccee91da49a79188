// Which of the user's headers a kernel's text includes.
#include "jit/cache/headers.hpp"
#include "tests/support/scratch_folder.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

using namespace sinter::jit;
using sinter_test::scratch_folder;

namespace {

void write_file(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

class header_scans : public testing::Test {
 protected:
  scratch_folder folder;

  std::vector<std::string> names(const std::string& text, std::vector<std::string> options = {}) {
    options.push_back("-I" + folder.path());
    std::vector<std::string> found;
    for (const included_header& h : scan_headers(text, options, "").headers) found.push_back(h.name);
    return found;
  }
};

using strings = std::vector<std::string>;

TEST_F(header_scans, follow_includes_however_they_are_written) {
  write_file(folder.path() + "/a.h", "#include \"b.h\"\n");
  write_file(folder.path() + "/b.h", "#pragma once\n");
  EXPECT_EQ(names("#include <a.h>"), (strings{"a.h", "b.h"}));
  EXPECT_EQ(names("  #  include \"b.h\" // why"), strings{"b.h"});
  EXPECT_EQ(names("/* x */ # /* y */ include /* z */ \"b.h\""), strings{"b.h"});
  EXPECT_EQ(names("#inc\\\nlude \"b.h\""), strings{"b.h"});
  EXPECT_EQ(names("%:include \"b.h\""), strings{"b.h"});
  EXPECT_EQ(names("#if 0\n#include \"b.h\"\n#endif"), strings{"b.h"}) << "whatever the condition";
  EXPECT_EQ(names("#if __has_include(<b.h>)\n#endif"), strings{"b.h"});
  EXPECT_EQ(names("int x;", {"-include", "b.h"}), strings{"b.h"});
  EXPECT_EQ(names("// #include \"b.h\"\n/* \n#include \"b.h\"\n*/ int x;"), strings{});
  EXPECT_EQ(names("const char* s = \"//\";\n#include \"b.h\""), strings{"b.h"});
  EXPECT_EQ(names("int x = 1'000;\n#include \"b.h\"\nchar c = '\"';"), strings{"b.h"});
  EXPECT_EQ(names("#include <nowhere.h>"), strings{}) << "the compiler's own";
}

TEST_F(header_scans, end_where_headers_include_each_other) {
  write_file(folder.path() + "/a.h", "#include \"b.h\"\n");
  write_file(folder.path() + "/b.h", "#include \"a.h\"\n");
  EXPECT_EQ(names("#include \"a.h\"").size(), 2u);
}

TEST_F(header_scans, say_what_they_cannot_know) {
  EXPECT_EQ(scan_headers("#include \"a.h\"", {}, "").unknown, "");
  EXPECT_NE(scan_headers("#define H \"a.h\"\n#include H", {}, "").unknown, "");
  EXPECT_NE(scan_headers("asm(\".incbin \\\"x\\\"\");", {}, "").unknown, "");
  EXPECT_NE(scan_headers("", {"@options"}, "").unknown, "");
}

}  // namespace
