import { createTransport } from 'nodemailer';
import type { Config } from '../config.ts';

/** A mail: plain text, from us to one address. */
export type Mail = { readonly to: string; readonly subject: string; readonly text: string };

/**
 * Reason why a mail was not taken. `final`: the server rejected this mail, so that a repetition gets the same response.
 */
export type MailFailure = { readonly code: string; readonly final: boolean };

export type Mailer = {
  /**
   * Hands a mail to the server; null if it was taken. Never rejects. The same `id` gives the same Message-ID, by which
   * receivers recognise a duplicate.
   */
  send(id: string, mail: Mail): Promise<MailFailure | null>;
};

const STEP_MS = 10_000;

/**
 * Creates a mailer for the server in SMTP_URL. Beyond this machine it uses TLS, or sends nothing: mails contain links
 * that are credentials. Each mail has a separate connection; every step has 10 s.
 */
export function createMailer({ smtpUrl, from }: NonNullable<Config['mail']>): Mailer {
  const { hostname } = new URL(smtpUrl);
  const isHere = hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
  const transport = createTransport({
    url: smtpUrl,
    requireTLS: !isHere,
    connectionTimeout: STEP_MS,
    greetingTimeout: STEP_MS,
    socketTimeout: STEP_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const domain = from.slice(from.lastIndexOf('@') + 1);
  return {
    send: (id, mail) =>
      transport
        // An object, because a text is parsed as a list of addresses.
        .sendMail({
          to: { name: '', address: mail.to },
          from: { name: 'Heliograph', address: from },
          subject: mail.subject,
          text: mail.text,
          messageId: `<${id}@${domain}>`,
          headers: { 'Auto-Submitted': 'auto-generated' },
        })
        .then(() => null, failureOf),
  };
}

/** Returns the failure with its code only: the text of an error may contain the address. */
function failureOf(error: unknown): MailFailure {
  const field = (name: string): unknown =>
    typeof error === 'object' && error !== null ? Reflect.get(error, name) : undefined;
  const status = Number(field('responseCode'));
  const given = field('code');
  const code = typeof given === 'string' ? given : 'failed';
  // A rejected login or sender is an error in our settings, which the operator will correct.
  const final = status >= 500 && code === 'EENVELOPE' && field('command') !== 'MAIL FROM';
  return { code: Number.isNaN(status) ? code : `${code} ${status}`, final };
}
