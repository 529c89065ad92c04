/** What is mutated together, and which tests have to notice. */
export type Area = {
  readonly files: readonly string[];
  /** The test files, or folders of test files, besides those next to the mutated files. */
  readonly tests: readonly string[];
};

/** The parts of the program whose faults cost money or trust. */
export const AREAS: Readonly<Record<string, Area>> = {
  money: {
    files: [
      'src/money/credit/charge.ts',
      'src/money/credit/sql.ts',
      'src/money/credit/add.ts',
      'src/money/credit/show.ts',
      'src/money/credit/ledger/sql.ts',
      'src/money/pricing/change.ts',
      'src/money/pricing/price-list.ts',
      'src/money/pricing/sql.ts',
    ],
    tests: [
      'src/money',
      'src/messaging/messages/money.test.ts',
      'src/operations/operator/reconciliation',
      'src/operations/operator/prices',
      'src/messaging/sending/prepare.test.ts',
      'src/messaging/sending/accept.test.ts',
    ],
  },
  states: {
    files: [
      'src/messaging/states.ts',
      'src/messaging/messages/end.ts',
      'src/messaging/messages/receive-receipt.ts',
      'src/messaging/messages/settle-outcomes.ts',
      'src/messaging/messages/sql.ts',
      'src/messaging/messages/parts/sql.ts',
    ],
    tests: [
      'src/messaging/messages/events',
      'src/messaging/messages/history.test.ts',
      'src/messaging/messages/money.test.ts',
      'src/messaging/messages/moves.test.ts',
      'src/messaging/messages/parts',
      'src/messaging/messages/plans.test.ts',
      'src/messaging/messages/reads.test.ts',
      'src/messaging/messages/receive-receipt.test.ts',
      'src/messaging/messages/settle-outcomes.test.ts',
      'src/messaging/messages/sql.test.ts',
      'src/messaging/messages/traffic.test.ts',
      'src/messaging/states.test.ts',
      'src/messaging/receipts/process.test.ts',
      'src/messaging/unknown-outcomes/unknowns.test.ts',
      'src/messaging/expiry',
    ],
  },
  consent: {
    files: [
      'src/messaging/consent/check.ts',
      'src/messaging/consent/record.ts',
      'src/messaging/consent/sql.ts',
      'src/messaging/consent/words.ts',
    ],
    tests: ['src/messaging/consent', 'src/messaging/sending/preview', 'src/messaging/sending/prepare.test.ts'],
  },
  guard: {
    files: [
      'src/platform/outbound/connect.ts',
      'src/platform/outbound/guard.ts',
      'src/platform/outbound/public-address.ts',
      'src/platform/outbound/resolve.ts',
      'src/messaging/webhooks/check-url.ts',
    ],
    tests: [
      'src/platform/outbound',
      'src/messaging/webhooks/check-url.test.ts',
      'src/messaging/webhooks/routes.test.ts',
    ],
  },
  fence: {
    files: [
      'src/messaging/restore-guard/decide.ts',
      'src/messaging/restore-guard/guard.ts',
      'src/messaging/restore-guard/mark.ts',
      'src/messaging/restore-guard/sql.ts',
      'src/operations/restore-guard/decide.ts',
      'src/network/dispatch/sql.ts',
    ],
    tests: [
      'src/messaging/restore-guard',
      'src/operations/restore-guard',
      'src/operations/operator/restore-guard',
      'src/network/dispatch/sql.test.ts',
      'src/network/dispatch/rescue.test.ts',
      'src/network/dispatch/campaigns/park.test.ts',
      'src/network/connections/fail-over.test.ts',
    ],
  },
  authorisation: {
    files: [
      'src/identity/authentication/authenticate.ts',
      'src/identity/roles.ts',
      'src/identity/accounts/gate.ts',
      'src/identity/sessions/check.ts',
      'src/identity/sessions/sql.ts',
      'src/identity/api-keys/sql.ts',
      'src/platform/http/auth.ts',
      'src/platform/http/same-origin.ts',
      'src/platform/lib/credentials.ts',
      'src/platform/lib/scope.ts',
    ],
    tests: [
      'src/identity/authentication',
      'src/identity/sessions',
      'src/identity/api-keys',
      'src/identity/accounts',
      'src/identity/roles.test.ts',
      'src/identity/users/routes.test.ts',
      'src/platform/http/auth.test.ts',
      'src/platform/http/same-origin.test.ts',
      'src/platform/lib/credentials.test.ts',
      'src/platform/lib/scope.test.ts',
    ],
  },
  retention: {
    files: ['src/operations/retention/delete-old-data.ts', 'src/operations/retention/sql.ts'],
    tests: ['src/operations/retention'],
  },
};
