import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anyPdu } from '../../test/support/carriers/pdu.arbitrary.ts';
import { createFrameReader } from './link.ts';
import { encodePdu } from './pdu.ts';

/** A frame of `length` octets whose body counts up, so that a lost or doubled octet shows. */
function frame(length: number): Buffer {
  const octets = Buffer.from(Uint8Array.from({ length }, (_, index) => index));
  octets.writeUInt32BE(length, 0);
  return octets;
}

function cutAt(stream: Uint8Array, sizes: readonly number[]): Uint8Array[] {
  const chunks: Uint8Array[] = [];
  let offset = 0;
  for (const size of sizes) {
    chunks.push(stream.subarray(offset, offset + size));
    offset += size;
  }
  return [...chunks, stream.subarray(offset)];
}

function readAll(chunks: readonly Uint8Array[]): string[] {
  const reader = createFrameReader();
  return chunks.flatMap((piece) => reader.push(piece)).map((octets) => Buffer.from(octets).toString('hex'));
}

describe('a frame reader', () => {
  test('returns the same frames however the stream is split', () => {
    fc.assert(
      fc.property(
        fc.array(anyPdu, { maxLength: 8 }),
        fc.array(fc.nat({ max: 400 }), { maxLength: 60, size: 'max' }),
        (pdus, sizes) => {
          const frames = pdus.map(encodePdu);
          const expected = frames.map((octets) => octets.toString('hex'));
          expect(readAll(cutAt(Buffer.concat(frames), sizes))).toEqual(expected);
        },
      ),
    );
  });

  test('returns the same frames octet by octet', () => {
    const stream = Buffer.concat([frame(16), frame(300), frame(17), frame(16)]);
    const octets = Array.from(stream, (_, index) => stream.subarray(index, index + 1));
    expect(readAll(octets)).toEqual(readAll([stream]));
    expect(readAll(octets)).toHaveLength(4);
  });

  test('reads a frame of 64 KiB octet by octet in linear time', () => {
    const large = frame(65_600);
    const reader = createFrameReader();
    const started = performance.now();
    const frames = Array.from(large, (_, index) => reader.push(large.subarray(index, index + 1))).flat();
    expect(performance.now() - started).toBeLessThan(5000);
    expect(frames.map((octets) => Buffer.compare(octets, large))).toEqual([0]);
  });

  test('does not copy a frame that lies completely in its chunk', () => {
    const stream = Buffer.concat([frame(20), frame(30)]);
    const frames = createFrameReader().push(stream);
    expect(frames.map((octets) => octets.buffer === stream.buffer)).toEqual([true, true]);
  });

  test('keeps a frame that a later chunk completed intact when more chunks arrive', () => {
    const reader = createFrameReader();
    reader.push(frame(20).subarray(0, 3));
    const [first] = reader.push(frame(20).subarray(3));
    reader.push(frame(40).subarray(0, 30));
    expect(Buffer.from(first ?? []).toString('hex')).toBe(frame(20).toString('hex'));
  });
});

describe('an invalid length', () => {
  const withLength = (length: number): Buffer => {
    const octets = Buffer.alloc(16);
    octets.writeUInt32BE(length, 0);
    return octets;
  };

  test.for([0, 15, 70_001, 0xffffffff])('%i ends the stream, whole or in pieces', (length) => {
    for (const sizes of [[], [1, 1, 1], [2]]) {
      const reader = createFrameReader();
      const stream = Buffer.concat([frame(16), withLength(length), frame(16)]);
      const frames = cutAt(stream, [16, ...sizes]).flatMap((chunk) => reader.push(chunk));
      expect(frames).toHaveLength(1);
      expect(reader.invalidLength()).toBe(length);
      expect(reader.push(frame(16))).toEqual([]);
    }
  });

  test('the smallest and the largest allowed lengths are accepted', () => {
    const reader = createFrameReader({ maxLength: () => 100 });
    expect(reader.push(Buffer.concat([frame(16), frame(100)]))).toHaveLength(2);
    expect(reader.invalidLength()).toBeNull();
    expect(reader.push(frame(101))).toEqual([]);
    expect(reader.invalidLength()).toBe(101);
  });

  /** Half of them look like the start of a frame, so that frames are found at all. */
  const chunk = fc.oneof(
    fc.uint8Array({ maxLength: 50, size: 'max' }),
    fc.uint8Array({ maxLength: 80, size: 'max' }).map((octets) => Uint8Array.from([0, 0, 0, 20, ...octets])),
  );

  test('any octets yield frames within the limits and never throw', () => {
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 20, size: 'max' }), (chunks) => {
        const reader = createFrameReader({ maxLength: () => 64 });
        for (const octets of chunks.flatMap((piece) => reader.push(piece))) {
          expect(octets.length).toBeGreaterThanOrEqual(16);
          expect(octets.length).toBeLessThanOrEqual(64);
        }
      }),
      { numRuns: 2000 },
    );
  });
});
