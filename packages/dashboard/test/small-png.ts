import { crc32, deflateSync, inflateSync } from "node:zlib";

const signature = Buffer.from("89504e470d0a1a0a", "hex");
const mostColours = 256;
/** So many of the most frequent colours are kept as they are. Others have to differ from those before them. */
const exactColours = 32;
const leastDistance = 14;

/** The same picture with a palette: its most frequent colours that differ, and for each other one the nearest of them. */
export function smallPng(png: Buffer): Buffer {
  const { width, height, pixels } = decode(png);
  const counts = new Map<number, number>();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const palette: number[] = [];
  for (const colour of [...counts.keys()].sort((a, b) => (counts.get(b) ?? 0) - (counts.get(a) ?? 0)))
    if (
      palette.length < exactColours ||
      (palette.length < mostColours && nearest(palette, colour).distance > leastDistance)
    )
      palette.push(colour);
  const places = new Map([...counts.keys()].map((colour) => [colour, nearest(palette, colour).place]));
  const rows = Buffer.alloc((width + 1) * height); // each begins with its filter: 0, none
  for (const [at, pixel] of pixels.entries()) rows[at + Math.floor(at / width) + 1] = places.get(pixel) ?? 0;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 3, 0, 0, 0], 8); // a byte for each pixel, which is a place in the palette
  const colours = Buffer.from(palette.flatMap(parts));
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("PLTE", colours),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

const parts = (colour: number): number[] => [colour >> 16, (colour >> 8) & 255, colour & 255];

function nearest(
  palette: readonly number[],
  colour: number,
): { readonly place: number; readonly distance: number } {
  const distances = palette.map((each) =>
    Math.hypot(...parts(each).map((part, index) => part - (parts(colour)[index] ?? 0))),
  );
  const distance = Math.min(...distances);
  return { place: distances.indexOf(distance), distance };
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, sum]);
}

/** Of a picture as Chromium writes it: 8 bits, not interlaced. Its opacity is not read. */
function decode(png: Buffer): { readonly width: number; readonly height: number; readonly pixels: number[] } {
  const parts: Buffer[] = [];
  for (let at = 8; at < png.length; at += png.readUInt32BE(at) + 12)
    if (png.toString("latin1", at + 4, at + 8) === "IDAT")
      parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const size = png[25] === 6 ? 4 : 3;
  const bytes = inflateSync(Buffer.concat(parts));
  const stride = width * size;
  let above = new Uint8Array(stride);
  const pixels: number[] = [];
  for (let y = 0; y < height; y += 1) {
    const start = y * (stride + 1);
    const row = Uint8Array.from(bytes.subarray(start + 1, start + 1 + stride));
    for (let x = 0; x < stride; x += 1) {
      const left = row[x - size] ?? 0;
      row[x] = (row[x] ?? 0) + predicted(bytes[start] ?? 0, left, above[x] ?? 0, above[x - size] ?? 0);
    }
    for (let x = 0; x < stride; x += size)
      pixels.push(((row[x] ?? 0) << 16) | ((row[x + 1] ?? 0) << 8) | (row[x + 2] ?? 0));
    above = row;
  }
  return { width, height, pixels };
}

/** What a filter of PNG adds to a byte. */
function predicted(filter: number, left: number, up: number, corner: number): number {
  if (filter === 4) {
    const base = left + up - corner;
    const [a, b, c] = [left, up, corner].map((each) => Math.abs(base - each)) as [number, number, number];
    return a <= b && a <= c ? left : b <= c ? up : corner;
  }
  return [0, left, up, (left + up) >> 1][filter] ?? 0;
}
