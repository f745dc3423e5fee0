// Human-readable numbers. Sizes are BigInt, because their products exceed the exact range of a double.

/** `1.2 M`, `340`, or `?` if unknown. */
export function count(number, unit = "") {
  if (number === null || number === undefined) return "?";
  const value = Number(number);
  for (const [factor, prefix] of [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
    if (value >= factor) return `${(value / factor).toPrecision(3)} ${prefix}${unit}`;
  }
  return unit ? `${value} ${unit}` : `${value}`;
}

/** A count and a noun: `1 layer`, `2 layers`. */
export function counted(number, noun) {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

/** `1.2 MB` */
export function bytes(number) {
  return count(number, "B");
}

const BITS = {
  boolean: 8, string: 0, u1: 1, u2: 2, u3: 3, u4: 4, u6: 6, i4: 4, nf4: 4, f4e2m1: 4, i8: 8, u8: 8, f8e4m3: 8, f8e5m2: 8,
  f8e8m0: 8, i16: 16, u16: 16, f16: 16, bf16: 16, i32: 32, u32: 32, f32: 32, i64: 64, u64: 64, f64: 64,
};

/** The bytes of a value with known dims. */
export function sizeInBytes(type, dims) {
  const elements = dims.reduce((product, dim) => product * Number(dim), 1);
  return Math.ceil((elements * (BITS[type] ?? 0)) / 8);
}
