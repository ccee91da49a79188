// Pictures that any viewer opens: Netpbm's PGM (grey) and PPM (colour), which are a line of text before the bytes.
#pragma once

#include <sinter/array.hpp>

#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace samples {

/// Writes u8 [height, width] as PGM, u8 [height, width, 3] as PPM. Evaluates and waits. Throws std::runtime_error for
/// another shape and for a file that cannot be written, type_error for another dtype.
inline void write_picture(const std::string& file, const sinter::array& pixels) {
  const bool colour = pixels.rank() == 3 && pixels.extent(2) == 3;
  if (pixels.rank() != 2 && !colour) throw std::runtime_error(file + ": only [n, m] and [n, m, 3] are pictures");
  const std::vector<std::uint8_t> bytes = pixels.to_vector<std::uint8_t>();
  std::ofstream out(file, std::ios::binary);
  out << (colour ? "P6\n" : "P5\n") << pixels.extent(1) << ' ' << pixels.extent(0) << "\n255\n";
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!out.flush()) throw std::runtime_error("cannot write " + file);
}

}  // namespace samples
