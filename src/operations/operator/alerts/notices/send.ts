import { isEmail } from '../../../../identity/mail-text.ts';
import { signedHeaders, timestampOf } from '../../../../messaging/webhooks/sign.ts';
import type { SecretKey } from '../../../../platform/lib/secret-box.ts';
import type { Mailer } from '../../../../platform/mail/transport.ts';
import type { Poster } from '../../../../platform/outbound/post.ts';
import { openHook } from '../targets/seal.ts';
import type { Target } from '../targets/sql.ts';
import { type Message, toHookBody, toMailText } from './message.ts';

/** The ways out. */
export type Ways = {
  readonly poster: Poster;
  /** Null without SMTP_URL. */
  readonly mailer: Mailer | null;
  readonly secretKey: SecretKey;
};

/** Result of notifying a recipient, with the reason of a failure. */
export type Told = { readonly ok: true } | { readonly ok: false; readonly reason: string };

const OK: Told = { ok: true };
const failed = (reason: string): Told => ({ ok: false, reason });

/**
 * Notifies a recipient, by mail or by a signed POST. The same `id` gives the same Message-ID and the same `webhook-id`,
 * by which receivers recognise duplicates. Never rejects.
 */
export function sendMessage(ways: Ways, target: Target, id: string, message: Message): Promise<Told> {
  return target.kind === 'webhook' ? post(ways, target, id, message) : mail(ways, target.address, id, message);
}

async function post({ poster, secretKey }: Ways, { sealed }: Target, id: string, message: Message): Promise<Told> {
  const hook = openHook(secretKey, sealed);
  if (hook === null) return failed('its URL was sealed with another SECRET_KEY: add it again');
  const body = toHookBody(message);
  const headers = signedHeaders({ id, timestamp: timestampOf(new Date()), body, secrets: [hook.secret] });
  const result = await poster.post({ url: hook.url, headers, body });
  if (result.kind === 'failed') return failed(result.reason);
  return result.status >= 200 && result.status < 300
    ? OK
    : failed(`HTTP ${result.status} ${result.body}`.slice(0, 200));
}

async function mail({ mailer }: Pick<Ways, 'mailer'>, to: string, id: string, message: Message): Promise<Told> {
  if (mailer === null) return failed('SMTP_URL is not set');
  if (!isEmail(to)) return failed('not an email address');
  const failure = await mailer.send(id, { to, subject: `Heliograph: ${message.subject}`, text: toMailText(message) });
  return failure === null ? OK : failed(`the mail server returned ${failure.code}`);
}
