const OPERATOR = '/api/operator/v1';

/**
 * Routes only for operators of the gateway: for every user of an account the answer is 403, whatever the request holds.
 */
const OPERATORS_ONLY = { operatorsOnly: true, answers: [403] } as const;

const NAMES = [
  `GET ${OPERATOR}/overview`,
  `GET ${OPERATOR}/accounts`,
  `POST ${OPERATOR}/accounts`,
  `GET ${OPERATOR}/accounts/:id`,
  `PUT ${OPERATOR}/accounts/:id`,
  `POST ${OPERATOR}/accounts/:id/credit`,
  `GET ${OPERATOR}/accounts/:id/ledger`,
  `POST ${OPERATOR}/accounts/:id/webhook/enable`,
  `GET ${OPERATOR}/prices`,
  `PUT ${OPERATOR}/prices`,
  `DELETE ${OPERATOR}/prices/:id`,
  `GET ${OPERATOR}/prices/check`,
  `GET ${OPERATOR}/connection-kinds`,
  `GET ${OPERATOR}/connections`,
  `GET ${OPERATOR}/connections/:name`,
  `GET ${OPERATOR}/connections/:name/minutes`,
  `POST ${OPERATOR}/connections`,
  `PUT ${OPERATOR}/connections/:name`,
  `DELETE ${OPERATOR}/connections/:name`,
  `POST ${OPERATOR}/connections/test`,
  `POST ${OPERATOR}/connections/:name/test`,
  `POST ${OPERATOR}/connections/:name/setup`,
  `POST ${OPERATOR}/connections/:name/templates/sync`,
  `GET ${OPERATOR}/routes`,
  `POST ${OPERATOR}/routes`,
  `DELETE ${OPERATOR}/routes/:id`,
  `GET ${OPERATOR}/routes/check`,
  `GET ${OPERATOR}/senders`,
  `POST ${OPERATOR}/senders`,
  `POST ${OPERATOR}/senders/:id/register`,
  `DELETE ${OPERATOR}/senders/:id`,
  `GET ${OPERATOR}/numbers`,
  `POST ${OPERATOR}/numbers`,
  `DELETE ${OPERATOR}/numbers`,
  `GET ${OPERATOR}/templates`,
  `GET ${OPERATOR}/queues`,
  `GET ${OPERATOR}/queues/messages`,
  `GET ${OPERATOR}/schedules/missed`,
  `POST ${OPERATOR}/schedules/missed/:id/release`,
  `POST ${OPERATOR}/schedules/missed/:id/cancel`,
  `GET ${OPERATOR}/unknowns`,
  `POST ${OPERATOR}/unknowns/settle`,
  `GET ${OPERATOR}/fence`,
  `POST ${OPERATOR}/fence/pause`,
  `POST ${OPERATOR}/fence/resume`,
  `GET ${OPERATOR}/reconciliation`,
  `GET ${OPERATOR}/receipts/hours`,
  `GET ${OPERATOR}/doctor`,
  `GET ${OPERATOR}/audit`,
];

/** The routes of src/operations/operator/, by method and URL. */
export const OPERATOR_CASES: Readonly<Record<string, typeof OPERATORS_ONLY>> = Object.fromEntries(
  NAMES.map((name) => [name, OPERATORS_ONLY]),
);
