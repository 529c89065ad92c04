import { constant, join } from '../../platform/db/query.ts';

/** The specification's campaign statuses. */
export const CAMPAIGN = { DRAFT: 0, READY: 1, SENDING: 2, COMPLETED: 3, FAILED: 4 } as const;
export type CampaignStatus = (typeof CAMPAIGN)[keyof typeof CAMPAIGN];

const { DRAFT, READY, SENDING, COMPLETED, FAILED } = CAMPAIGN;
const OPEN = [DRAFT, READY] as const;

/** Statuses, for SQL, of campaigns that wait for their time or are being sent, as `status IN (${UNFINISHED})`. */
export const UNFINISHED = join([READY, SENDING].map(constant), ', ');

/**
 * The moves of a campaign, with the statuses before and after each. The WHERE clauses of the statements in the sql.ts
 * files take their statuses from here (`statusAllows`), and docs/message-states.md shows the same table (states.test.ts
 * compares them). `confirmed`: true if the campaign must have been confirmed, false if it must not; if it is omitted,
 * both are allowed.
 */
export const MOVES = {
  edit: { from: OPEN, to: OPEN, confirmed: false },
  reschedule: { from: [READY], to: [READY], confirmed: true },
  unconfirm: { from: [READY], to: OPEN, confirmed: true },
  schedule: { from: [READY], to: [READY], confirmed: false },
  send: { from: [READY], to: [SENDING], confirmed: false },
  start: { from: [READY], to: [SENDING], confirmed: true },
  pause: { from: [SENDING], to: [SENDING] },
  resume: { from: [READY, SENDING], to: [READY, SENDING], confirmed: true },
  cancel: { from: [SENDING], to: [SENDING] },
  complete: { from: [SENDING], to: [COMPLETED] },
  fail: { from: [SENDING], to: [FAILED] },
  delete: { from: OPEN, to: [] },
} as const satisfies Readonly<Record<string, Move>>;

type Move = {
  readonly from: readonly CampaignStatus[];
  readonly to: readonly CampaignStatus[];
  readonly confirmed?: boolean;
};
