#include <sinter/sinter.hpp>

#include <cstdio>
#include <vector>

sinter::array twice(const sinter::array& x);

int main() {
  const sinter::array x{1.0f, 2.0f, 3.0f};
  const std::vector<float> y = (twice(x) + 1).to_vector<float>();
  if (y == std::vector<float>{3.0f, 5.0f, 7.0f}) return 0;
  for (float value : y) std::printf("%g ", static_cast<double>(value));
  std::puts("instead of 3 5 7");
  return 1;
}
