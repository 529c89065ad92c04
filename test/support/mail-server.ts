import { SMTPServer } from 'smtp-server';

/** A mail as it arrived: the addresses of its envelope, and its text without the headers, decoded. */
export type ReceivedMail = {
  readonly from: string;
  readonly to: readonly string[];
  readonly headers: string;
  readonly text: string;
};

export type MailServer = AsyncDisposable & {
  readonly url: string;
  readonly mails: ReceivedMail[];
  /** The response to mails from now on: taken, later (450), or never (550, to the recipient). */
  answer: 'take' | 'later' | 'never';
  /** Number of mails that were offered. */
  offered: number;
  /** Awaited before a mail that was sent is taken. */
  pace: () => Promise<unknown>;
  /** Resolves with the first mail to this address, or to which `find` applies. */
  mailTo(address: string, count?: number): Promise<ReceivedMail>;
};

/** Starts a real SMTP server on this machine that takes every mail. */
export async function startMailServer(): Promise<MailServer> {
  const mails: ReceivedMail[] = [];
  const waiting = new Set<() => void>();
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    logger: false,
    onRcptTo(_address, _session, done) {
      state.offered += 1;
      done(state.answer === 'take' ? null : refusal(state.answer));
    },
    onData(stream, { envelope }, done) {
      const parts: Buffer[] = [];
      stream.on('data', (part: Buffer) => parts.push(part));
      stream.on('end', () => {
        const [headers = '', ...body] = Buffer.concat(parts).toString().split('\r\n\r\n');
        const from = envelope.mailFrom === false ? '' : envelope.mailFrom.address;
        const to = envelope.rcptTo.map(({ address }) => address);
        void state.pace().then(() => {
          mails.push({ from, to, headers, text: decoded(headers, body.join('\r\n\r\n')) });
          done();
          for (const wake of waiting) wake();
        });
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.server.address();
  if (address === null || typeof address === 'string') throw new Error('expected a TCP address');
  const state: MailServer = {
    url: `smtp://127.0.0.1:${address.port}`,
    mails,
    answer: 'take',
    offered: 0,
    pace: async () => undefined,
    async mailTo(recipient, count = 1) {
      for (;;) {
        const mail = mails.filter(({ to }) => to.includes(recipient))[count - 1];
        if (mail) return mail;
        await new Promise<void>((resolve) => {
          const wake = (): void => {
            waiting.delete(wake);
            resolve();
          };
          waiting.add(wake);
        });
      }
    },
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  };
  return state;
}

const refusal = (answer: 'later' | 'never'): Error =>
  Object.assign(new Error('Refused by the test'), { responseCode: answer === 'later' ? 450 : 550 });

function decoded(headers: string, body: string): string {
  const encoding = /^content-transfer-encoding: *(\S+)/im.exec(headers)?.[1]?.toLowerCase();
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString();
  if (encoding !== 'quoted-printable') return body.replaceAll('\r\n', '\n');
  const bytes = body
    .replace(/=\r\n/g, '')
    .replaceAll('\r\n', '\n')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString();
}

/** Returns the token of the link in a mail or a text. */
export function tokenIn(text: string): string {
  const token = /#([\w-]{43})/.exec(text)?.[1];
  if (token === undefined) throw new Error(`no link in ${text}`);
  return token;
}
