import { expect, test } from 'vitest';
import { box, makeMp4 } from '../../test/support/files/mp4.ts';
import { probeVideo } from './video.ts';

test('a video tells its size and its duration', () => {
  const video = probeVideo(makeMp4({ width: 640, height: 360, seconds: 12.5 }));
  expect(video).toEqual({ width: 640, height: 360, durationSeconds: 12.5 });
});

test('a video that is turned by a quarter is as wide as it is shown', () => {
  expect(probeVideo(makeMp4({ width: 640, height: 360, turned: true }))).toMatchObject({ width: 360, height: 640 });
});

test('times of 64 bits and boxes of 64 bits are read', () => {
  const long = Buffer.alloc(8);
  long.writeBigUInt64BE(3000n);
  const times = Buffer.alloc(100 + 12);
  times[0] = 1;
  times.writeUInt32BE(1000, 20);
  long.copy(times, 24);
  const mp4 = makeMp4();
  const moov = mp4.indexOf('moov');
  // In place of the usual one, whose name is spoilt.
  const longer = Buffer.concat([mp4, box('mvhd', times)]);
  longer.write('xxxx', longer.indexOf('mvhd'));
  longer.writeUInt32BE(longer.length - (moov - 4), moov - 4);
  expect(probeVideo(longer)).toMatchObject({ durationSeconds: 3 });

  const wide = Buffer.concat([Buffer.from([0, 0, 0, 1]), Buffer.from('free'), Buffer.alloc(8)]);
  wide.writeBigUInt64BE(16n, 8);
  expect(probeVideo(Buffer.concat([makeMp4(), wide]))).toMatchObject({ width: 320 });
});

const REFUSED: [what: string, octets: Buffer, reason: string][] = [
  ['only a beginning', makeMp4().subarray(0, 24), 'no tracks'],
  ['a cut end', makeMp4().subarray(0, -1), 'do not fill it'],
  ['octets behind the last box', Buffer.concat([makeMp4(), Buffer.from('<a href="#">')]), 'do not fill it'],
  ['a box that nobody knows', Buffer.concat([makeMp4(), box('evil', Buffer.from('x'))]), 'do not fill it'],
  [
    'a box of less than its head',
    Buffer.concat([makeMp4(), Buffer.from('\0\0\0\x04free', 'latin1')]),
    'do not fill it',
  ],
  ['half of a large size', Buffer.concat([makeMp4(), Buffer.from('\0\0\0\x01free', 'latin1')]), 'do not fill it'],
  ['sound only', makeMp4({ handler: 'soun' }), 'no picture track'],
  ['no frames', makeMp4({ frames: 0 }), 'its frames are not in it'],
  ['frames that lie elsewhere', makeMp4({ offset: 1_000_000 }), 'its frames are not in it'],
  ['no width', makeMp4({ width: 0 }), 'cannot be'],
  ['no duration', makeMp4({ seconds: 0 }), 'cannot be'],
  ['a side of 20,000', makeMp4({ width: 20_000 }), 'cannot be'],
  ['fragments', makeMp4({ more: [box('mvex')] }), 'fragmented'],
];
test.each(REFUSED)('a file with %s is no video', (_, octets, reason) => {
  expect(() => probeVideo(octets)).toThrow(reason);
});

test('a video with any octet changed is probed or refused, and nothing else', () => {
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
