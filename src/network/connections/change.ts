import { GATEWAY, operatorOf, recordAudit } from '../../identity/audit/record.ts';
import type { Db } from '../../platform/db/query.ts';
import type { SecretKey } from '../../platform/lib/secret-box.ts';
import { connectionNamed } from './find.ts';
import { moveLinks, secretOf } from './save.ts';
import { claimConnection, type Connection, moveConnectionStatus, notifyRoutingChange } from './sql.ts';

type Change = {
  readonly name: string;
  readonly status?: Connection['status'] | undefined;
  /** Those that change; null is the default again. */
  readonly settings?: Readonly<Record<string, unknown>> | undefined;
  /** SMPP: the password. Else the parts that change. */
  readonly secret?: unknown;
  readonly by: string;
};

/**
 * Changes a connection; running programs follow at once. A paused one takes no messages: they go over the next one of
 * their route, or wait. Call it in a transaction. Errors: 404; 400 naming every setting at fault.
 */
export async function changeConnection(tx: Db, key: SecretKey, change: Change): Promise<void> {
  const { name, status, by } = change;
  await claimConnection(tx, { name });
  const known = await connectionNamed(tx, name);
  if (change.settings !== undefined || change.secret !== undefined)
    await moveLinks(tx, key, known, { settings: settingsOf(known, change), secret: newSecret(known, key, change) });
  if (status !== undefined) await moveConnectionStatus(tx, { name, status });
  await notifyRoutingChange(tx);
  const detail = {
    ...(status && { status }),
    ...(change.settings && { settings: change.settings }),
    ...secretNews(change),
  };
  await recordAudit(tx, operatorOf(GATEWAY, by), {
    action: 'connection.change',
    subject: `connection:${name}`,
    detail,
  });
}

const secretNews = ({ secret }: Change) => (secret === undefined ? {} : { secret: 'another one' });

const settingsOf = ({ settings }: Connection, change: Change): Record<string, unknown> =>
  Object.fromEntries(Object.entries({ ...settings, ...change.settings }).filter(([, value]) => value !== null));

/** What stands, with the new parts put over it. */
function newSecret(known: Connection, key: SecretKey, { secret }: Change): unknown {
  if (known.kind === 'smpp') return secret ?? secretOf(known, key);
  const standing: unknown = JSON.parse(secretOf(known, key));
  return { ...(standing as object), ...(typeof secret === 'object' ? secret : {}) };
}
