// expect: no match for .operator\+.|invalid operands to binary expression
#include <sinter/sinter.hpp>

#include <string>

sinter::array labelled(const sinter::array& a) { return a + std::string("m"); }
