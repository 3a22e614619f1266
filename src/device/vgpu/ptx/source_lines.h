// `.loc` directives of a function's body, as kernel/source_lines.h wants them.
#pragma once

#include "kernel/source_lines.h"

namespace recuda::vgpu::ptx {

class Cursor;

/// Reads what follows `.loc`.
void read_loc(Cursor& cursor, SourceLines& lines);

}  // namespace recuda::vgpu::ptx
