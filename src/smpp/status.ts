/**
 * The `command_status` values of SMPP 3.4, and those of 5.0 that 3.4 peers also send (5.1.3 in both).
 */
export const STATUS = {
  ESME_ROK: 0x00,
  ESME_RINVMSGLEN: 0x01,
  ESME_RINVCMDLEN: 0x02,
  ESME_RINVCMDID: 0x03,
  ESME_RINVBNDSTS: 0x04,
  ESME_RALYBND: 0x05,
  ESME_RINVPRTFLG: 0x06,
  ESME_RINVREGDLVFLG: 0x07,
  ESME_RSYSERR: 0x08,
  ESME_RINVSRCADR: 0x0a,
  ESME_RINVDSTADR: 0x0b,
  ESME_RINVMSGID: 0x0c,
  ESME_RBINDFAIL: 0x0d,
  ESME_RINVPASWD: 0x0e,
  ESME_RINVSYSID: 0x0f,
  ESME_RCANCELFAIL: 0x11,
  ESME_RREPLACEFAIL: 0x13,
  ESME_RMSGQFUL: 0x14,
  ESME_RINVSERTYP: 0x15,
  ESME_RINVNUMDESTS: 0x33,
  ESME_RINVDLNAME: 0x34,
  ESME_RINVDESTFLAG: 0x40,
  ESME_RINVSUBREP: 0x42,
  ESME_RINVESMCLASS: 0x43,
  ESME_RCNTSUBDL: 0x44,
  ESME_RSUBMITFAIL: 0x45,
  ESME_RINVSRCTON: 0x48,
  ESME_RINVSRCNPI: 0x49,
  ESME_RINVDSTTON: 0x50,
  ESME_RINVDSTNPI: 0x51,
  ESME_RINVSYSTYP: 0x53,
  ESME_RINVREPFLAG: 0x54,
  ESME_RINVNUMMSGS: 0x55,
  ESME_RTHROTTLED: 0x58,
  ESME_RINVSCHED: 0x61,
  ESME_RINVEXPIRY: 0x62,
  ESME_RINVDFTMSGID: 0x63,
  ESME_RX_T_APPN: 0x64,
  ESME_RX_P_APPN: 0x65,
  ESME_RX_R_APPN: 0x66,
  ESME_RQUERYFAIL: 0x67,
  ESME_RINVTLVSTREAM: 0xc0,
  ESME_RTLVNOTALLWD: 0xc1,
  ESME_RINVTLVLEN: 0xc2,
  ESME_RMISSINGTLV: 0xc3,
  ESME_RINVTLVVAL: 0xc4,
  ESME_RDELIVERYFAILURE: 0xfe,
  ESME_RUNKNOWNERR: 0xff,
  ESME_RSERTYPUNAUTH: 0x100,
  ESME_RPROHIBITED: 0x101,
  ESME_RSERTYPUNAVAIL: 0x102,
  ESME_RSERTYPDENIED: 0x103,
  ESME_RINVDCS: 0x104,
  ESME_RINVSRCADDRSUBUNIT: 0x105,
  ESME_RINVDSTADDRSUBUNIT: 0x106,
  ESME_RINVBCASTFREQINT: 0x107,
  ESME_RINVBCASTALIAS_NAME: 0x108,
  ESME_RINVBCASTAREAFMT: 0x109,
  ESME_RINVNUMBCAST_AREAS: 0x10a,
  ESME_RINVBCASTCNTTYPE: 0x10b,
  ESME_RINVBCASTMSGCLASS: 0x10c,
  ESME_RBCASTFAIL: 0x10d,
  ESME_RBCASTQUERYFAIL: 0x10e,
  ESME_RBCASTCANCELFAIL: 0x10f,
  ESME_RINVBCAST_REP: 0x110,
  ESME_RINVBCASTSRVGRP: 0x111,
  ESME_RINVBCASTCHANIND: 0x112,
} as const;

/**
 * Action that a rejection requires of the client. `throttle`: slow the bind down and send again. `retry`: send this
 * message again later. `permanent`: this message will never be accepted. `bind`: the bind is wrong or lost. `bug`: the
 * PDU was malformed.
 */
export type StatusClass = 'throttle' | 'retry' | 'permanent' | 'bind' | 'bug';

/** The codes that are not permanent; vendor codes (0x400 to 0x4FF) and unknown codes are permanent. */
const CLASSES: ReadonlyMap<number, StatusClass> = new Map<number, StatusClass>([
  [STATUS.ESME_RTHROTTLED, 'throttle'],
  [STATUS.ESME_RMSGQFUL, 'throttle'],
  [STATUS.ESME_RSYSERR, 'retry'],
  [STATUS.ESME_RX_T_APPN, 'retry'],
  [STATUS.ESME_RUNKNOWNERR, 'retry'],
  [STATUS.ESME_RSERTYPUNAVAIL, 'retry'],
  [STATUS.ESME_RINVBNDSTS, 'bind'],
  [STATUS.ESME_RALYBND, 'bind'],
  [STATUS.ESME_RBINDFAIL, 'bind'],
  [STATUS.ESME_RINVPASWD, 'bind'],
  [STATUS.ESME_RINVSYSID, 'bind'],
  [STATUS.ESME_RINVSYSTYP, 'bind'],
  [STATUS.ESME_RINVCMDLEN, 'bug'],
  [STATUS.ESME_RINVCMDID, 'bug'],
  [STATUS.ESME_RINVTLVSTREAM, 'bug'],
  [STATUS.ESME_RINVTLVLEN, 'bug'],
]);

const NAMES: ReadonlyMap<number, string> = new Map(Object.entries(STATUS).map(([name, code]) => [code, name]));

/**
 * Returns the name of a status such as `ESME_RTHROTTLED`, or eight hexadecimal digits (`0x000004A1`) for an unknown
 * code.
 */
export function statusName(code: number): string {
  return NAMES.get(code) ?? `0x${code.toString(16).toUpperCase().padStart(8, '0')}`;
}

/** Returns the class of a rejection. Meaningless for `ESME_ROK`. */
export function statusClass(code: number): StatusClass {
  return CLASSES.get(code) ?? 'permanent';
}
