import { type Static, Type } from 'typebox';
import { type Author, recordAudit } from '../accounts/audit.ts';
import { as, columns, type Db, maybeOne, one, type RowOf, sql, textArray } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { type FieldError, invalidFields } from '../core/errors.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { knownFieldsOf } from '../core/schema.ts';
import { isSender } from '../messages/prepare.ts';

const time = (description: string) =>
  Type.String({ pattern: '^([01]\\d|2[0-3]):[0-5]\\d$', 'x-message': 'must be a time such as 21:00', description });

/** Quiet hours; they span midnight when `to` is earlier than `from`. */
export const QuietHours = Type.Object({
  from: time('In the time zone of the recipient, which follows from the country of the number.'),
  to: time('The first minute that is not quiet.'),
});

const quietHours = Type.Union([QuietHours, Type.Null()], {
  description: 'Hours in which campaigns send nothing, unless a campaign has its own quiet hours. Null: none.',
});
const smsSenders = Type.Union([Type.Array(Type.String({ maxLength: 20 }), { maxItems: 1000 }), Type.Null()], {
  description: 'The senders that campaigns may use on SMS. Null: any.',
});

const PolicyIn = Type.Object({ quietHours: Type.Optional(quietHours), smsSenders: Type.Optional(smsSenders) });
const PolicyOut = Type.Object({ quietHours, smsSenders });

const PATH = '/api/partner-gateway/v1/account/campaigns';
const tags = ['Account'];

/** Registers the routes of the account's policy for all its campaigns: quiet hours and allowed senders. */
export function policyRoutes(app: App, { pool }: PlatformDeps): void {
  app.get(PATH, {
    onRequest: requireScope('campaigns'),
    schema: {
      tags,
      operationId: 'getCampaignPolicy',
      summary: 'Get the policy for all campaigns of the account',
      response: { 200: PolicyOut },
    },
    handler: async ({ actor }) => (await findPolicy(tenant(pool, actor), actor)) ?? NO_POLICY,
  });

  app.put(PATH, {
    onRequest: requireScope('keys'),
    schema: {
      tags,
      operationId: 'putCampaignPolicy',
      summary: 'Change the policy for all campaigns of the account',
      description:
        'Omitted fields are unchanged. For admins, and keys with the scope `keys`. Confirmed campaigns keep ' +
        'their sender.',
      body: withExamples(PolicyIn, { quietHours: { from: '21:00', to: '08:00' }, smsSenders: ['ACME'] }),
      response: { 200: PolicyOut },
    },
    handler: ({ actor, body }) => tenantTransaction(pool, actor, (tx) => changePolicy(tx, actor, body)),
  });
}

/** The policy of an account that has not set one: no quiet hours, any sender. */
const NO_POLICY: Policy = { quietHours: null, smsSenders: null };

/**
 * Changes the policy for all campaigns of the account; omitted fields are unchanged. Confirmed campaigns keep their
 * sender. Call it in a transaction. Errors: 400 naming invalid senders and hours.
 */
async function changePolicy(tx: Db, actor: Author, change: Static<typeof PolicyIn>): Promise<Policy> {
  const { accountId } = actor;
  const current = (await findPolicy(tx, { accountId })) ?? NO_POLICY;
  const { quietHours = current.quietHours, smsSenders = current.smsSenders } = knownFieldsOf(PolicyIn, change);
  const faults = [...senderFaults(smsSenders), ...hoursFaults(quietHours)];
  if (faults.length > 0) throw invalidFields(faults);
  const policy = await insertPolicy(tx, { accountId, quietHours, smsSenders: smsSenders && [...new Set(smsSenders)] });
  await recordAudit(tx, actor, { action: 'account.campaigns', subject: `account:${accountId}`, detail: policy });
  return policy;
}

const senderFaults = (senders: readonly string[] | null): FieldError[] =>
  (senders ?? []).flatMap((sender, i) =>
    isSender(sender)
      ? []
      : [{ field: `smsSenders[${i}]`, message: 'must have 1 to 11 letters and digits, or up to 16 digits' }],
  );

/** Returns the fault of quiet hours that begin and end at the same time: that would be the whole day. */
export const hoursFaults = (hours: { readonly from: string; readonly to: string } | null): FieldError[] =>
  hours !== null && hours.from === hours.to
    ? [{ field: 'quietHours.to', message: 'must differ from quietHours.from' }]
    : [];

const POLICY = columns({
  quietHours: as<{ from: string; to: string } | null>('quiet_hours'),
  /** The senders that campaigns may use on SMS; null: any. */
  smsSenders: as<string[] | null>('sms_senders'),
});

type Policy = RowOf<typeof POLICY>;

export const findPolicy = (db: Db, { accountId }: { accountId: number }): Promise<Policy | undefined> =>
  maybeOne(db, sql`SELECT ${POLICY} FROM campaign_policy WHERE account_id = ${accountId}`);

const insertPolicy = (db: Db, { accountId, quietHours, smsSenders }: Policy & { accountId: number }): Promise<Policy> =>
  one(
    db,
    sql`INSERT INTO campaign_policy (account_id, quiet_hours, sms_senders)
        VALUES (${accountId}, ${quietHours === null ? null : JSON.stringify(quietHours)}::jsonb,
                ${smsSenders === null ? null : textArray(smsSenders)}::text[])
        ON CONFLICT (account_id) DO UPDATE
          SET quiet_hours = excluded.quiet_hours, sms_senders = excluded.sms_senders
        RETURNING ${POLICY}`,
  );
