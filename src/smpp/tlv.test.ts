import { describe, expect, test } from 'vitest';
import { cStringValue, readText, readUint, TAG, uint8, uint16 } from './wire.ts';

describe('an optional parameter', () => {
  test('holds integers in network order', () => {
    const tlvs = new Map([
      [TAG.message_state, uint8(2)],
      [TAG.sar_msg_ref_num, uint16(0xbeef)],
    ]);
    expect(readUint(tlvs, TAG.message_state, 1)).toBe(2);
    expect(readUint(tlvs, TAG.sar_msg_ref_num, 2)).toBe(0xbeef);
  });

  test('that is missing or has another length has no integer', () => {
    const tlvs = new Map([[TAG.message_state, uint16(2)]]);
    expect(readUint(tlvs, TAG.message_state, 1)).toBeNull();
    expect(readUint(tlvs, TAG.sar_msg_ref_num, 2)).toBeNull();
  });

  test('holds text up to its NUL, or to its end when the peer omitted the NUL', () => {
    const read = (value: Uint8Array) =>
      readText(new Map([[TAG.receipted_message_id, value]]), TAG.receipted_message_id);
    expect(read(cStringValue('7FA3'))).toBe('7FA3');
    expect(read(Buffer.from('7FA3'))).toBe('7FA3');
    expect(read(Buffer.from('7FA3\0\0junk'))).toBe('7FA3');
    expect(readText(new Map(), TAG.receipted_message_id)).toBeNull();
  });
});
