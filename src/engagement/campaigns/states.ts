/** The specification's campaign statuses. */
export const CAMPAIGN = { DRAFT: 0, READY: 1, SENDING: 2, COMPLETED: 3, FAILED: 4 } as const;
export type CampaignStatus = (typeof CAMPAIGN)[keyof typeof CAMPAIGN];

const { DRAFT, READY, SENDING, COMPLETED, FAILED } = CAMPAIGN;
const OPEN = [DRAFT, READY] as const;

/**
 * What moves a campaign, from where and to where: the WHERE clauses of the statements in sql.ts take their states from
 * here, and docs/message-states.md shows the same (states.test.ts compares them). `confirmed`: whether it must have been
 * confirmed, or must not; either where it is left out.
 */
export const MOVES = {
  edit: { from: OPEN, to: OPEN, confirmed: false },
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
