import type { Pool } from 'pg';
import { type Static, Type } from 'typebox';
import { amount, OPERATOR_PATH } from '../accounts/operator-fields.ts';
import type { Receipt } from '../channels/carrier.ts';
import { every, type Task } from '../core/background.ts';
import { bigint, boolean, input, insertRows, text, timestamptz, uuid } from '../core/db/columns.ts';
import { as, columns, type Db, exec, many, type RowOf, sql } from '../core/db/query.ts';
import { invalidFields } from '../core/errors.ts';
import type { App, PlatformDeps } from '../core/http/app.ts';
import { requireOperator } from '../core/http/auth.ts';
import { STATUS } from '../core/message-state.ts';
import { fromMicros } from '../core/money.ts';
import { DAY_MS, HOUR_MS } from '../core/time.ts';

type BilledReceipt = {
  readonly accountId: number;
  readonly messageId: string;
  readonly receipt: Pick<Receipt, 'billing'>;
  readonly receivedAt: Date;
};

/** Stores what networks bill for messages, in the transaction of their receipts; the last report of a message counts. */
export async function recordBilling(tx: Db, matched: readonly BilledReceipt[]): Promise<void> {
  const rows = new Map(
    matched.flatMap(({ accountId, messageId, receipt: { billing }, receivedAt: reportedAt }) =>
      billing ? [[messageId, { accountId, messageId, ...billing, reportedAt }] as const] : [],
    ),
  );
  if (rows.size > 0)
    await insertBilling(
      tx,
      [...rows.values()].sort((a, b) => (a.messageId < b.messageId ? -1 : 1)),
    );
}

type Billing = NonNullable<Receipt['billing']> & {
  readonly accountId: number;
  readonly messageId: string;
  readonly reportedAt: Date;
};

const insertBilling = (db: Db, rows: readonly Billing[]): Promise<number> =>
  exec(
    db,
    sql`${insertRows('message_billing', rows, {
      accountId: bigint,
      messageId: uuid,
      billable: boolean,
      model: text,
      type: text,
      category: text,
      reportedAt: timestamptz,
    })}
        ON CONFLICT (account_id, message_id) DO UPDATE SET billable = excluded.billable, model = excluded.model,
          type = excluded.type, category = excluded.category`,
  );

const day = (description: string) => Type.Optional(Type.String({ format: 'date', description }));
const BillingQuery = Type.Object({
  from: day('The first day, in UTC; default: six days before `to`.'),
  to: day('The last day, in UTC; default: today. At most 31 days.'),
});

const BillingOut = Type.Object({
  day: Type.String({ format: 'date' }),
  category: Type.String({ description: 'The category in the words of the network.' }),
  messages: Type.Integer({ description: 'Delivered messages about whose charge the network has reported.' }),
  billed: Type.Integer({ description: 'Those for which the network charges.' }),
  charged: Type.Integer({ description: 'Those for which their account has paid.' }),
  differing: Type.Integer({
    description: 'Those that only one side charges for, and those that were priced in another category.',
  }),
  earned: amount('What their accounts have paid, in currency units.'),
});

const DEFAULT_DAYS = 6;
const MAX_DAYS = 31;

/** Registers the route that compares the charges of networks with our own. */
export function operatorBillingRoutes(app: App, { pool }: PlatformDeps): void {
  app.get(`${OPERATOR_PATH}/billing`, {
    onRequest: requireOperator(),
    config: { command: 'margin billing' },
    schema: {
      tags: ['Operator: prices'],
      operationId: 'operatorListBilling',
      summary: 'Compare the charges of WhatsApp with those of accounts, by day and category',
      description:
        'The newest day first. A difference means that prices, templates or windows are not as Meta sees them.',
      querystring: BillingQuery,
      response: { 200: Type.Object({ data: Type.Array(BillingOut) }) },
    },
    handler: async ({ query }) => ({ data: (await listBilling(pool, rangeOf(query, new Date()))).map(toOut) }),
  });
}

function rangeOf({ from, to }: Static<typeof BillingQuery>, now: Date): Range {
  const last = to === undefined ? Math.floor(now.getTime() / DAY_MS) * DAY_MS : Date.parse(to);
  const first = from === undefined ? last - DEFAULT_DAYS * DAY_MS : Date.parse(from);
  if (first > last) throw invalidFields([{ field: 'from', message: 'must not be after to' }]);
  if (last - first >= MAX_DAYS * DAY_MS)
    throw invalidFields([{ field: 'from', message: `must be less than ${MAX_DAYS} days before to` }]);
  return { from: new Date(first), to: new Date(last + DAY_MS) };
}

const toOut = ({ earnedMicros, ...row }: BilledDay): Static<typeof BillingOut> => ({
  ...row,
  earned: fromMicros(earnedMicros),
});

type Range = { readonly from: Date; readonly to: Date };

const CHARGED = 'm.price_micros > 0 AND NOT s.credit_returned';

const BILLED_DAY = columns({
  day: as<string>(`to_char(b.reported_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')`),
  category: as<string>('b.category'),
  messages: as<number>('count(*)'),
  billed: as<number>('count(*) FILTER (WHERE b.billable)'),
  charged: as<number>(`count(*) FILTER (WHERE ${CHARGED})`),
  differing: as<number>(
    `count(*) FILTER (WHERE b.billable <> (${CHARGED}) OR b.billable AND m.price_category <> b.category)`,
  ),
  earnedMicros: as<number>(`coalesce(sum(m.price_micros) FILTER (WHERE ${CHARGED}), 0)::bigint`),
});
type BilledDay = RowOf<typeof BILLED_DAY>;

const GAP = columns({
  day: as<string>(`to_char(day, 'YYYY-MM-DD')`),
  category: as<string>('category'),
  messages: as<number>('messages'),
  differing: as<number>('differing'),
});
/** The messages of a day and a category, and how many of them we charge otherwise than the network. */
export type BillingGap = RowOf<typeof GAP>;

/** Lists the comparisons of the last two days that were stored last. */
export const listBillingGaps = (db: Db): Promise<BillingGap[]> =>
  many(
    db,
    sql`SELECT ${GAP} FROM billing_day WHERE day >= (now() AT TIME ZONE 'UTC')::date - 1 ORDER BY day DESC, category`,
  );

const KEPT_DAYS = 31;

/** Stores the comparison of the last two days for alerts and metrics, which are asked more often than it can be made. */
export async function storeBillingGaps(db: Db, now: Date): Promise<void> {
  const today = Math.floor(now.getTime() / DAY_MS) * DAY_MS;
  const days = await listBilling(db, { from: new Date(today - DAY_MS), to: new Date(today + DAY_MS) });
  await exec(
    db,
    sql`${insertRows(
      'billing_day',
      days.map(({ day: dayText, category, messages, differing }) => ({ dayText, category, messages, differing })),
      { dayText: input(text), category: text, messages: bigint, differing: bigint },
      { day: sql`u.day_text::date` },
    )}
        ON CONFLICT (day, category) DO UPDATE SET messages = excluded.messages, differing = excluded.differing`,
  );
  await exec(db, sql`DELETE FROM billing_day WHERE day < now() - ${KEPT_DAYS} * interval '1 day'`);
}

/** Compares the charges of networks with our own every hour. */
export const networkBillingTasks = ({ pool, now }: { readonly pool: Pool; readonly now: () => Date }): Task[] => [
  { name: 'network billing', work: every(HOUR_MS, () => storeBillingGaps(pool, now())) },
];

/** Compares delivered messages whose charge was reported in [from, to). */
const listBilling = (db: Db, { from, to }: Range): Promise<BilledDay[]> =>
  many(
    db,
    sql`SELECT ${BILLED_DAY}
        FROM message_billing b
        JOIN message m ON m.account_id = b.account_id AND m.id = b.message_id
        JOIN message_state s ON s.account_id = b.account_id AND s.id = b.message_id
        WHERE b.reported_at >= ${from} AND b.reported_at < ${to} AND s.status = ${STATUS.DELIVERED}
        GROUP BY 1, 2 ORDER BY 1 DESC, 2`,
  );
