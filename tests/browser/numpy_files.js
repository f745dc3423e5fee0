// Files of numpy arrays, as numpy writes and reads them.

/** The content of an `.npy` file with 32-bit floats. */
export function npy(dims, elements) {
  const shape = dims.length === 1 ? `${dims[0]},` : dims.join(", ");
  const text = `{'descr': '<f4', 'fortran_order': False, 'shape': (${shape}), }`;
  const header = Buffer.from(`${text.padEnd(117)}\n`);
  const start = Buffer.from([0x93, ...Buffer.from("NUMPY"), 1, 0, header.length, 0]);
  return Buffer.concat([start, header, Buffer.from(Float32Array.from(elements).buffer)]);
}

/** The type, shape and elements of an `.npy` file with 32-bit floats. */
export function readNpy(bytes) {
  const length = bytes.readUInt16LE(8);
  const header = bytes.subarray(10, 10 + length).toString("latin1");
  if (bytes.subarray(0, 6).toString("latin1") !== "\x93NUMPY" || (10 + length) % 64 !== 0 || !header.endsWith("\n")) throw new Error(`not an .npy file: ${header}`);
  const [, descr, order, shape] = /^\{'descr': '(.*?)', 'fortran_order': (\w+), 'shape': \((.*?)\), \} *\n$/.exec(header);
  const dims = shape.split(",").map((dim) => dim.trim()).filter(Boolean).map(Number);
  const data = Uint8Array.from(bytes.subarray(10 + length));
  return { descr, order, dims, elements: [...new Float32Array(data.buffer)] };
}

/** The content of an `.npz` file without compression. */
export function npz(arrays) {
  const [parts, entries] = [[], []];
  let at = 0;
  for (const [name, content] of Object.entries(arrays)) {
    const path = Buffer.from(`${name}.npy`);
    const crc = crc32(content);
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt32LE(crc, 10);
    common.writeUInt32LE(content.length, 14);
    common.writeUInt32LE(content.length, 18);
    common.writeUInt16LE(path.length, 22);
    const place = Buffer.alloc(14);
    place.writeUInt32LE(at, 10);
    entries.push(Buffer.from("PK\x01\x02\x14\x00", "latin1"), common, place, path);
    const local = Buffer.concat([Buffer.from("PK\x03\x04", "latin1"), common, path, content]);
    parts.push(local);
    at += local.length;
  }
  const directory = Buffer.concat(entries);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06", "latin1");
  end.writeUInt16LE(Object.keys(arrays).length, 8);
  end.writeUInt16LE(Object.keys(arrays).length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...parts, directory, end]);
}

/** The arrays of an `.npz` file without compression. */
export function readNpz(bytes) {
  const end = bytes.lastIndexOf("PK\x05\x06", undefined, "latin1");
  const arrays = new Map();
  let at = bytes.readUInt32LE(end + 16);
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left -= 1) {
    const [crc, size] = [bytes.readUInt32LE(at + 16), bytes.readUInt32LE(at + 24)];
    const lengths = [28, 30, 32].map((offset) => bytes.readUInt16LE(at + offset));
    const name = bytes.subarray(at + 46, at + 46 + lengths[0]).toString();
    const local = bytes.readUInt32LE(at + 42);
    const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28);
    const content = bytes.subarray(start, start + size);
    if (bytes.readUInt16LE(at + 10) !== 0 || crc32(content) !== crc) throw new Error(`${name} is compressed or damaged`);
    arrays.set(name.replace(/\.npy$/, ""), readNpy(content));
    at += 46 + lengths[0] + lengths[1] + lengths[2];
  }
  return arrays;
}

function crc32(bytes) {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}
