import { Type } from 'typebox';
import type { Author } from '../accounts/audit.ts';
import type { SignToPerson } from '../channels/carrier.ts';
import { as, columns, type Db, maybeOne, type RowOf, sql } from '../core/db/query.ts';
import { AppError, existing } from '../core/errors.ts';
import { type App, type PlatformDeps } from '../core/http/app.ts';
import { requireScope } from '../core/http/auth.ts';
import { idempotentTx } from '../core/http/idempotency.ts';
import { timeOfId } from '../core/ids.ts';
import { job } from '../core/jobs.ts';
import { toE164 } from '../core/phone.ts';
import { DAY_MS, SECOND_MS } from '../core/time.ts';
import * as schema from './schema.ts';
import { findEndpoints } from './store.ts';

const Accepted = Type.Null({ description: 'It is shown as soon as the network takes it.' });

/** Registers the routes that show people that their messages were read, and that an answer is being written. */
export function tickRoutes(app: App, path: string, deps: PlatformDeps): void {
  for (const [kind, summary, description] of [
    ['read', 'Show a person that their messages were read', 'On RCS the newest one.'],
    [
      'typing',
      'Show a person that an answer is being written',
      'For 25 seconds, or until the answer. On WhatsApp it also shows that their messages were read.',
    ],
  ] as const)
    app.post(`${path}/:chatId/${kind}`, {
      onRequest: requireScope('inbox'),
      schema: {
        tags: ['Inbox'],
        operationId: kind === 'read' ? 'showRead' : 'showTyping',
        summary,
        description: `${description} 400 on SMS, and if the person has written nothing.`,
        params: schema.ChatId,
        response: { 202: Accepted },
      },
      handler: idempotentTx(deps, 202, async ({ actor, params }, tx) => {
        await showToPerson(tx, actor, params.chatId, kind);
        return null;
      }),
    });
}

type Kind = SignToPerson['kind'];

/** Shows the person of a conversation something, once the transaction is committed. Errors: 404, 400. */
async function showToPerson(
  tx: Db,
  { accountId }: Pick<Author, 'accountId'>,
  chatId: string,
  kind: Kind,
): Promise<void> {
  if (await addSign(tx, { accountId, chatId, kind })) return;
  const ends = await existing(findEndpoints(tx, { accountId, chatId }));
  const message = ends.channel === 'SMS' ? 'SMS has no such sign' : 'The person has written nothing yet';
  throw new AppError('invalid', { message });
}

/** Shows that messages were read when an agent opens their conversation, if the account wants it. */
export async function showReadIfWanted(tx: Db, { accountId, chatId }: InChat): Promise<void> {
  const wanted = await maybeOne(tx, sql`SELECT FROM inbox_settings WHERE account_id = ${accountId} AND auto_read`);
  if (wanted) await addSign(tx, { accountId, chatId, kind: 'read' });
}

type InChat = { readonly accountId: number; readonly chatId: string };

/** Queues a sign about the newest message of a person; false if there is none that a network could show it for. */
async function addSign(tx: Db, { accountId, chatId, kind }: InChat & { readonly kind: Kind }): Promise<boolean> {
  const newest = await findNewest(tx, { accountId, chatId });
  if (!newest) return false;
  const { connectionId, sender, source, networkId } = newest;
  const sign = { kind, sender, destination: toE164(source) ?? source, networkId };
  await personSign.add(tx, { accountId, key: `${chatId}/${kind}`, payload: { connectionId, sign } });
  return true;
}

const NEWEST = columns({
  connectionId: as<number>('i.connection_id'),
  sender: as<string>('i.destination'),
  source: as<string>('i.source'),
  networkId: as<string>(`i.details ->> 'id'`),
});

/** Finds the newest message of a person on WhatsApp or RCS. */
const findNewest = (db: Db, { accountId, chatId }: InChat): Promise<RowOf<typeof NEWEST> | undefined> =>
  maybeOne(
    db,
    sql`SELECT ${NEWEST} FROM inbox_message m
        JOIN inbound_message i ON i.account_id = m.account_id AND i.id = m.id AND i.channel <> 'SMS'
        WHERE m.account_id = ${accountId} AND m.chat_id = ${chatId} AND m.direction = 'INBOUND'
        ORDER BY m.id DESC LIMIT 1`,
  );

/** Shows a person something over a link of this process; null without one, or without a conclusive response. */
export type Show = (connectionId: number, sign: SignToPerson) => Promise<boolean | null>;

/** A typing indicator that comes later than this says nothing any more. */
const TYPING_MS = 15 * SECOND_MS;
const RETRY_MS = 5 * SECOND_MS;
const TRIES = 5;

/** Signs to people. Networks keep showing that a message was read, so a later one helps; another one replaces it. */
export const personSign = job<{ readonly connectionId: number; readonly sign: SignToPerson }, { readonly show: Show }>(
  'inbox.sign',
  { concurrency: 20, pausable: true, activeOnly: true, tries: TRIES, maxAgeMs: DAY_MS },
  async ({ show }, { payload: { connectionId, sign }, id }) => {
    if (sign.kind === 'typing' && timeOfId(id).getTime() < Date.now() - TYPING_MS) return;
    if ((await show(connectionId, sign)) === null) return { kind: 'retry', inMs: RETRY_MS };
  },
);
