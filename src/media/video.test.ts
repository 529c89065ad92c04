import { expect, test } from 'vitest';
import { box, makeMp4 } from '../../test/support/files/mp4.ts';
import { probeVideo } from './inspect.ts';

test('dimensions and duration of a video are read', () => {
  const video = probeVideo(makeMp4({ width: 640, height: 360, seconds: 12.5 }));
  expect(video).toEqual({ width: 640, height: 360, durationSeconds: 12.5 });
});

test('a quarter turn swaps width and height', () => {
  expect(probeVideo(makeMp4({ width: 640, height: 360, turned: true }))).toMatchObject({ width: 360, height: 640 });
});

test('64-bit times and 64-bit boxes are read', () => {
  const long = Buffer.alloc(8);
  long.writeBigUInt64BE(3000n);
  const times = Buffer.alloc(100 + 12);
  times[0] = 1;
  times.writeUInt32BE(1000, 20);
  long.copy(times, 24);
  const mp4 = makeMp4();
  const moov = mp4.indexOf('moov');
  // Replaces the usual one, whose name is spoilt.
  const longer = Buffer.concat([mp4, box('mvhd', times)]);
  longer.write('xxxx', longer.indexOf('mvhd'));
  longer.writeUInt32BE(longer.length - (moov - 4), moov - 4);
  expect(probeVideo(longer)).toMatchObject({ durationSeconds: 3 });

  const wide = Buffer.concat([Buffer.from([0, 0, 0, 1]), Buffer.from('free'), Buffer.alloc(8)]);
  wide.writeBigUInt64BE(16n, 8);
  expect(probeVideo(Buffer.concat([makeMp4(), wide]))).toMatchObject({ width: 320 });
});

const REFUSED: [what: string, bytes: Buffer, reason: string][] = [
  ['only its beginning', makeMp4().subarray(0, 24), 'no tracks'],
  ['its end cut off', makeMp4().subarray(0, -1), 'do not fill the file'],
  ['bytes after the last box', Buffer.concat([makeMp4(), Buffer.from('<a href="#">')]), 'do not fill the file'],
  ['an unknown box', Buffer.concat([makeMp4(), box('evil', Buffer.from('x'))]), 'do not fill the file'],
  [
    'a box smaller than its header',
    Buffer.concat([makeMp4(), Buffer.from('\0\0\0\x04free', 'latin1')]),
    'do not fill the file',
  ],
  ['half of a large size', Buffer.concat([makeMp4(), Buffer.from('\0\0\0\x01free', 'latin1')]), 'do not fill the file'],
  ['sound only', makeMp4({ handler: 'soun' }), 'no video track'],
  ['no frames', makeMp4({ frames: 0 }), 'its frames are not in the file'],
  ['frames that lie elsewhere', makeMp4({ offset: 1_000_000 }), 'its frames are not in the file'],
  ['no width', makeMp4({ width: 0 }), 'are impossible'],
  ['no duration', makeMp4({ seconds: 0 }), 'are impossible'],
  ['a side of 20,000', makeMp4({ width: 20_000 }), 'are impossible'],
  ['fragments', makeMp4({ more: [box('mvex')] }), 'fragmented'],
];
test.each(REFUSED)('a file with %s is not a video', (_, bytes, reason) => {
  expect(() => probeVideo(bytes)).toThrow(reason);
});

test('a video with any byte changed is either probed or rejected', () => {
  const mp4 = makeMp4();
  for (let at = 0; at < mp4.length; at++) {
    for (const value of [0, 1, 0x7f, 0xff]) {
      const spoilt = Buffer.from(mp4);
      spoilt[at] = value;
      try {
        expect(probeVideo(spoilt).width).toBeGreaterThan(0);
      } catch (error) {
        expect(error).toMatchObject({ status: 400 });
      }
    }
  }
});
