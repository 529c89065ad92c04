import { describe, expect, test } from 'vitest';
import { STATUS, statusClass, statusName } from './status.ts';

describe('a status', () => {
  test('has its name in the logs, or eight hexadecimal digits when it is unknown', () => {
    expect(statusName(STATUS.ESME_RTHROTTLED)).toBe('ESME_RTHROTTLED');
    expect(statusName(0x4a1)).toBe('0x000004A1');
    expect(statusName(0xffffffff)).toBe('0xFFFFFFFF');
  });

  test('has one name only, as two would make statusName depend on their order', () => {
    expect(new Set(Object.values(STATUS)).size).toBe(Object.keys(STATUS).length);
  });

  test.for([
    ['ESME_RTHROTTLED', 'throttle'],
    ['ESME_RMSGQFUL', 'throttle'],
    ['ESME_RSYSERR', 'retry'],
    ['ESME_RX_T_APPN', 'retry'],
    ['ESME_RINVPASWD', 'bind'],
    ['ESME_RINVBNDSTS', 'bind'],
    ['ESME_RINVCMDLEN', 'bug'],
    ['ESME_RINVCMDID', 'bug'],
    ['ESME_RINVTLVSTREAM', 'bug'],
    ['ESME_RINVTLVLEN', 'bug'],
    ['ESME_RINVDSTADR', 'permanent'],
    ['ESME_RSUBMITFAIL', 'permanent'],
    ['ESME_RINVTLVVAL', 'permanent'],
  ] as const)('%s is of the class %s', ([name, expected]) => {
    expect(statusClass(STATUS[name])).toBe(expected);
  });

  test.for([0x400, 0x4ff, 0x22, 0x500])('a vendor or unknown code is permanent: %i', (code) => {
    expect(statusClass(code)).toBe('permanent');
  });
});
