import { type Actor, SCOPES } from '../../src/core/actor.ts';
import { CHANNELS } from '../../src/core/channels.ts';
import { type Db, exec, sql } from '../../src/core/db/query.ts';
import { DEFAULT_NUMBER_RULES } from '../../src/core/phone.ts';
import type { Lookups } from '../../src/messages/prepare.ts';
import { type Draft, newDraft } from '../../src/messages/read-send.ts';
import { type FindPrice, pricing } from '../../src/money/pricing.ts';
import { NO_ROUTE } from '../../src/routing/choice.ts';
import { NO_NETWORKS } from '../../src/routing/number-lookups.ts';
import type { FindRoute } from '../../src/routing/router.ts';
import { NO_TLV_TAGS } from '../../src/routing/account-tlvs.ts';
import { NO_DLT_TEMPLATES } from '../../src/routing/dlt-templates.ts';
import { NO_SENDER_RULES } from '../../src/routing/sender-rules.ts';

/** Returns a single SMS that passes every check. */
export const draft = (more: Partial<Draft> = {}): Draft =>
  newDraft({ channel: 'SMS', source: 'API', destination: '+351912345678', sender: 'ACME', body: 'Hello', ...more });

/** Returns an API key of this account with all permissions. */
export const actor = (accountId = 1): Actor => ({
  kind: 'key',
  accountId,
  keyId: 1,
  userId: 1,
  username: 'owner',
  role: 'admin',
  operations: new Set(SCOPES),
  plan: 'production',
  channels: new Set(CHANNELS),
  numberRules: DEFAULT_NUMBER_RULES,
});

/** Gives the accounts 1 to 20 a balance, without which nothing is accepted for them. */
export const addBalances = (db: Db): Promise<number> =>
  exec(
    db,
    sql`INSERT INTO credit_balance (account_id, unlimited) SELECT n, true FROM generate_series(1, 20) AS n
        ON CONFLICT DO NOTHING`,
  );

/** Returns the price list in which every message costs this for each unit. */
export const flatPrice = (unitMicros: number, refundUndelivered = false): FindPrice =>
  pricing(CHANNELS.map((channel) => ({ channel, prefix: '', unitMicros, refundUndelivered })));

/** Returns the routes over these connections with a price of zero for every number. */
export const freeOver = (connectionsFor: (...question: Parameters<FindRoute>) => number[]): Lookups => ({
  findRoute: (...question) => ({ ...NO_ROUTE, connectionIds: connectionsFor(...question) }),
  findPrice: flatPrice(0),
  maySend: () => true,
  senderRules: NO_SENDER_RULES,
  tlvTags: NO_TLV_TAGS,
  dltTemplates: NO_DLT_TEMPLATES,
  networks: NO_NETWORKS,
});
