import { type Static, Type } from 'typebox';
import { nameOfTag } from '../channels/message-tlvs.ts';
import { type SendingRules, sendingRulesOf } from '../core/actor.ts';
import { CHANNELS, type Purpose } from '../core/channels.ts';
import { as, columns, type Db, exec, maybeOne, sql } from '../core/db/query.ts';
import { tenant, tenantTransaction } from '../core/db/transaction.ts';
import { existing } from '../core/errors.ts';
import { type App, type PlatformDeps, withExamples } from '../core/http/app.ts';
import { requireAnyScope, requireScope } from '../core/http/auth.ts';
import { orNull, purposeSchema } from '../core/schema.ts';
import { notifyAccountChange } from './accounts.ts';
import { type Author, recordAudit } from './audit.ts';

const purpose = orNull(purposeSchema('Of messages that state none, unless their API key has one. Null: none.'));
const respectCalendar = Type.Boolean({
  description:
    'Marketing messages wait for the hours that the rules of the recipient’s country allow, as with respectCalendar.',
});

const weeklyCap = orNull(
  Type.Integer({
    minimum: 1,
    maximum: 1000,
    description:
      'The most marketing messages that a person gets in seven days, on all channels together; more are rejected, or skipped ' +
      'in campaigns. Null: any number.',
  }),
);

const SendingRulesIn = Type.Object({
  purpose: Type.Optional(purpose),
  respectCalendar: Type.Optional(respectCalendar),
  weeklyCap: Type.Optional(weeklyCap),
});
const SendingRulesOut = Type.Object({
  purpose,
  respectCalendar,
  weeklyCap,
  tlvTags: Type.Array(Type.String(), {
    description: 'Tags of the SMPP parameters that sends may have, such as 0x1400. The operator allows them.',
  }),
});

const PATH = '/api/partner-gateway/v1/account/sending';
const tags = ['Account'];

/** Registers the routes for what the account has set for its messages. */
export function sendingRulesRoutes(app: App, { pool }: PlatformDeps): void {
  app.get(PATH, {
    onRequest: requireAnyScope([...CHANNELS, 'campaigns', 'keys'], 'read'),
    schema: {
      tags,
      operationId: 'getSendingRules',
      summary: 'Get the purpose and the hours of the account’s messages',
      response: { 200: SendingRulesOut },
    },
    handler: async ({ actor }) => toRulesOut(await existing(findSendingRules(tenant(pool, actor), actor))),
  });

  app.put(PATH, {
    onRequest: requireScope('keys'),
    schema: {
      tags,
      operationId: 'putSendingRules',
      summary: 'Change the purpose and the hours of the account’s messages',
      description:
        'From the next request on. Omitted fields are unchanged. For admins, and keys with the scope `keys`.',
      body: withExamples(SendingRulesIn, { purpose: 'transactional', respectCalendar: true }),
      response: { 200: SendingRulesOut },
    },
    handler: ({ actor, body }) => tenantTransaction(pool, actor, (tx) => changeSendingRules(tx, actor, body)),
  });
}

type StoredRules = SendingRules & { readonly tlvTags: readonly number[] };

const toRulesOut = ({
  purpose,
  respectsCalendar,
  weeklyCap,
  tlvTags,
}: StoredRules): Static<typeof SendingRulesOut> => ({
  purpose,
  respectCalendar: respectsCalendar,
  weeklyCap,
  tlvTags: tlvTags.map(nameOfTag),
});

/** Changes the rules for the messages of the author's account. Call it in a transaction. Errors: 404. */
async function changeSendingRules(tx: Db, author: Author, patch: Static<typeof SendingRulesIn>) {
  const { accountId } = author;
  const current = await existing(findSendingRules(tx, { accountId }));
  const rules: SendingRules = {
    purpose: patch.purpose === undefined ? current.purpose : patch.purpose,
    respectsCalendar: patch.respectCalendar ?? current.respectsCalendar,
    weeklyCap: patch.weeklyCap === undefined ? current.weeklyCap : patch.weeklyCap,
  };
  await updateSendingRules(tx, { accountId, ...rules });
  await notifyAccountChange(tx, { accountId });
  await recordAudit(tx, author, { action: 'account.sending', subject: `account:${accountId}`, detail: rules });
  return toRulesOut({ ...rules, tlvTags: current.tlvTags });
}

const SENDING_RULES = columns({
  defaultPurpose: as<Purpose | null>('default_purpose'),
  respectsCalendar: as<boolean>('respects_calendar'),
  weeklyCap: as<number | null>('weekly_cap'),
  tlvTags: as<number[]>('tlv_tags'),
});

async function findSendingRules(db: Db, { accountId }: { accountId: number }): Promise<StoredRules | undefined> {
  const row = await maybeOne(db, sql`SELECT ${SENDING_RULES} FROM account WHERE id = ${accountId}`);
  return row && { ...sendingRulesOf(row), tlvTags: row.tlvTags };
}

const updateSendingRules = (
  db: Db,
  { accountId, purpose, respectsCalendar, weeklyCap }: { accountId: number } & SendingRules,
): Promise<number> =>
  exec(
    db,
    sql`UPDATE account SET default_purpose = ${purpose}, respects_calendar = ${respectsCalendar}, weekly_cap = ${weeklyCap}
        WHERE id = ${accountId}`,
  );
