import { type Db, exec, sql } from '../../src/platform/db/query.ts';
import type { Actor } from '../../src/platform/lib/actor.ts';
import { CHANNELS } from '../../src/platform/lib/channel.ts';
import { DEFAULT_NUMBER_RULES } from '../../src/platform/lib/phone/number-rules.ts';
import { SCOPES } from '../../src/platform/lib/scope.ts';
import { type Draft, newDraft } from '../../src/messaging/sending/draft.ts';
import type { Lookups } from '../../src/messaging/sending/prepare.ts';
import { NO_WAY } from '../../src/network/routing/choice/plan.ts';
import type { FindRoute } from '../../src/network/routing/router.ts';
import { NO_NETWORKS } from '../../src/network/number-lookups/finder.ts';
import { NO_SENDER_RULES } from '../../src/network/sender-rules/rules.ts';

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

/** Returns the routes over these connections with a price of zero for every number. */
export const freeOver = (connectionsFor: (...question: Parameters<FindRoute>) => number[]): Lookups => ({
  findRoute: (...question) => ({ ...NO_WAY, connectionIds: connectionsFor(...question) }),
  findPrice: () => ({ unitMicros: 0, refundUndelivered: false }),
  maySend: () => true,
  senderRules: NO_SENDER_RULES,
  networks: NO_NETWORKS,
});
