// y = x W^T + b, the one product that takes time; four numbers at once where WebAssembly has SIMD.
typedef float four __attribute__((vector_size(16), aligned(4)));

static float dot(const float *a, const float *b, int length) {
  four sums[4] = {0};
  int i = 0;
  for (; i + 16 <= length; i += 16)
    for (int lane = 0; lane < 4; lane++)
      sums[lane] += *(const four *)(a + i + 4 * lane) * *(const four *)(b + i + 4 * lane);
  four sum = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  float total = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  for (; i < length; i++) total += a[i] * b[i];
  return total;
}

// x: [rows, inputs], weight: [outputs, inputs], bias: [outputs], y: [rows, outputs]
__attribute__((export_name("linear")))
void linear(const float *x, const float *weight, const float *bias, float *y, int rows, int inputs, int outputs) {
  for (int output = 0; output < outputs; output++)
    for (int row = 0; row < rows; row++)
      y[row * outputs + output] = bias[output] + dot(x + row * inputs, weight + output * inputs, inputs);
}
