import type { Pool } from 'pg';
import type { Config } from '../../../platform/config.ts';
import { newId } from '../../../platform/lib/ids.ts';
import type { SecretKey } from '../../../platform/lib/secret-box.ts';
import { createMailer } from '../../../platform/mail/transport.ts';
import type { Outbound } from '../../../platform/outbound/outbound.ts';
import { composeTest } from './notices/message.ts';
import { sendMessage } from './notices/send.ts';
import { noTarget } from './targets/change.ts';
import { findTarget } from './targets/sql.ts';

type Deps = {
  readonly config: Pick<Config, 'mail' | 'publicUrl'>;
  readonly pool: Pool;
  readonly secretKey: SecretKey;
  readonly outbound: Pick<Outbound, 'poster'>;
};

type Tried = { readonly ok: boolean; readonly detail: string | null };

/**
 * Sends a test to a recipient immediately, even in quiet hours, without retries. Administrators of accounts get none:
 * for them it only checks that mails can be sent. Errors: 404.
 */
export async function testTarget(
  { config, pool, secretKey, outbound: { poster } }: Deps,
  { id }: { readonly id: number },
): Promise<Tried> {
  const target = await findTarget(pool, { id });
  if (!target) throw noTarget();
  const mailer = config.mail ? createMailer(config.mail) : null;
  if (target.kind === 'owners')
    return mailer ? { ok: true, detail: null } : { ok: false, detail: 'SMTP_URL is not set' };
  const message = composeTest(target.language, `${config.publicUrl}/operator/alerts`);
  const told = await sendMessage({ poster, mailer, secretKey }, target, newId(), message);
  return { ok: told.ok, detail: told.ok ? null : told.reason };
}
