// Products in tiles, registers of 16 rows of 64 bytes (Intel's AMX): one instruction multiplies up to 16 rows with the
// weights of 16 outputs, and adds the products of 64 bytes' inputs to their sums.
#pragma once

#include <cpuid.h>

#include <cstdint>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

constexpr int TILE_ROWS = 16;
constexpr int TILE_BYTES = 64;                // of a row
constexpr int TILE_OUTPUTS = TILE_BYTES / 4;  // with a sum of 32 bits each
constexpr int TILE_PANEL = 2 * TILE_OUTPUTS;  // outputs of a panel, in two tiles
constexpr int TILE_BLOCK = 2 * TILE_ROWS;     // rows multiplied together
constexpr int TILE_STRIDE = 2 * TILE_BYTES;   // bytes of a panel, from some inputs' weights to those of the next

namespace {

// Whether the processor has tiles and the system lets this process use them.
inline bool has_tiles() {
#if defined(__linux__) && defined(__AVX512F__)
    static const bool found = [] {
        unsigned a, b, c, d;
        if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
        constexpr unsigned BFLOAT16_PRODUCTS = 1u << 22, TILES = 1u << 24, BYTE_PRODUCTS = 1u << 25;
        constexpr unsigned needed = BFLOAT16_PRODUCTS | TILES | BYTE_PRODUCTS;
        if ((d & needed) != needed) return false;
        constexpr long REQUEST = 0x1023, TILE_DATA = 18;  // ARCH_REQ_XCOMP_PERM, for all threads
        return syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
    }();
    return found;
#else
    return false;
#endif
}

// This thread's tiles, with `rows` rows in those of the inputs and of the sums, until the end of the scope.
class Tiles {
  public:
    explicit Tiles(int64_t rows) {
        struct {
            uint8_t palette = 1, start = 0, reserved[14]{};
            uint16_t bytes_of_row[16]{};
            uint8_t rows[16]{};
        } shapes;
        for (int tile = 0; tile < 8; ++tile) {
            shapes.bytes_of_row[tile] = TILE_BYTES;
            shapes.rows[tile] = uint8_t(tile < 6 ? rows : TILE_ROWS);  // the last two have weights
        }
        asm volatile("ldtilecfg %0" ::"m"(shapes));
    }
    ~Tiles() { asm volatile("tilerelease"); }
    Tiles(const Tiles&) = delete;
    Tiles& operator=(const Tiles&) = delete;
};

#define LOAD_TILE(tile, from, stride) \
    asm volatile("tileloadd (%0,%1,1), %%tmm" #tile ::"r"(from), "r"(int64_t(stride)) : "memory")
#define STORE_TILE(tile, to, stride) \
    asm volatile("tilestored %%tmm" #tile ", (%0,%1,1)" ::"r"(to), "r"(int64_t(stride)) : "memory")
#define CLEAR_TILE(tile) asm volatile("tilezero %tmm" #tile)
// sums += rows times weights: bytes, with a sign and without, or numbers in bfloat16
#define ADD_PRODUCTS(sums, rows, weights)                                                     \
    if constexpr (BYTES) asm volatile("tdpbsud %tmm" #weights ", %tmm" #rows ", %tmm" #sums); \
    else asm volatile("tdpbf16ps %tmm" #weights ", %tmm" #rows ", %tmm" #sums)

// The sums of a panel's outputs [TILE_BLOCK, TILE_PANEL] for a tile of rows, or two, of `blocks` * TILE_BYTES bytes.
template <bool BYTES, bool TWO_TILES>
inline void tiles_panel(const void* rows, int64_t stride, int64_t blocks, const void* weights, int32_t* sums) {
    const char* x = static_cast<const char*>(rows);
    const char* w = static_cast<const char*>(weights);
    CLEAR_TILE(0);
    CLEAR_TILE(1);
    if constexpr (TWO_TILES) {
        CLEAR_TILE(2);
        CLEAR_TILE(3);
    }
    for (int64_t block = 0; block < blocks; ++block, x += TILE_BYTES, w += TILE_ROWS * TILE_STRIDE) {
        LOAD_TILE(4, x, stride);
        LOAD_TILE(6, w, TILE_STRIDE);
        LOAD_TILE(7, w + TILE_BYTES, TILE_STRIDE);
        ADD_PRODUCTS(0, 4, 6);
        ADD_PRODUCTS(1, 4, 7);
        if constexpr (TWO_TILES) {
            LOAD_TILE(5, x + TILE_ROWS * stride, stride);
            ADD_PRODUCTS(2, 5, 6);
            ADD_PRODUCTS(3, 5, 7);
        }
    }
    constexpr int64_t row = TILE_PANEL * sizeof *sums;
    STORE_TILE(0, sums, row);
    STORE_TILE(1, sums + TILE_OUTPUTS, row);
    if constexpr (TWO_TILES) {
        STORE_TILE(2, sums + TILE_ROWS * TILE_PANEL, row);
        STORE_TILE(3, sums + TILE_ROWS * TILE_PANEL + TILE_OUTPUTS, row);
    }
}

#undef LOAD_TILE
#undef STORE_TILE
#undef CLEAR_TILE
#undef ADD_PRODUCTS

}  // namespace
