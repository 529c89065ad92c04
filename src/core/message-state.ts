import { constant, join } from './db/query.ts';

/** The specification's delivery statuses: name to code. */
export const STATUS = {
  UNKNOWN: 0,
  ACCEPTED: 1,
  REJECTED: 2,
  DELIVERED: 3,
  EXPIRED: 4,
  DELETED: 5,
  UNDELIVERABLE: 6,
  ERROR: 9,
  DISABLED: 10,
  UNSUPPORTED: 11,
  CONVERSATION_CLOSED: 12,
} as const;

export type StatusName = keyof typeof STATUS;
export type StatusCode = (typeof STATUS)[StatusName];

export const STATUS_NAMES = Object.keys(STATUS) as StatusName[];
const NAME_OF = new Map<number, StatusName>(STATUS_NAMES.map((name) => [STATUS[name], name]));

/** The name of a status code; UNKNOWN for a code that the table does not have. */
export const nameOfStatus = (code: number): StatusName => NAME_OF.get(code) ?? 'UNKNOWN';

/** The text in the column deliveryStatusDescription of the specification's table. */
export const describeStatus = (name: StatusName): string =>
  name === 'ERROR' ? 'general error' : name.toLowerCase().replace('_', ' ');

/** States that a receipt may still change. All others are final. */
const OPEN_STATUSES: readonly StatusCode[] = [STATUS.UNKNOWN, STATUS.ACCEPTED];

/** True if a status is final: no receipt changes it any more. */
export const isFinal = (code: number): boolean => !OPEN_STATUSES.includes(code as StatusCode);

/** The codes of the states that are not final, as a list for SQL: `status IN (${OPEN_STATES})`. */
export const OPEN_STATES = join(OPEN_STATUSES.map(constant), ', ');

/**
 * Failures by severity: when the parts of a message end differently, the worst end becomes that of the message. The
 * ends that no SMS carrier reports come last.
 */
export const FAILURES_WORST_FIRST: readonly StatusCode[] = [
  STATUS.REJECTED,
  STATUS.UNDELIVERABLE,
  STATUS.EXPIRED,
  STATUS.DELETED,
  STATUS.DISABLED,
  STATUS.UNSUPPORTED,
  STATUS.CONVERSATION_CLOSED,
  STATUS.ERROR,
];
