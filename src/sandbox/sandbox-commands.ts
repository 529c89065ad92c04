import { type Command, Option } from 'commander';
import { GATEWAY_ACCOUNT_ID, operatorAuthor, operatorName } from '../accounts/audit.ts';
import type { Channel } from '../core/channels.ts';
import type { CommandContext } from '../core/cli.ts';
import type { Db } from '../core/db/query.ts';
import { AppError, invalidFields } from '../core/errors.ts';
import type { App } from '../core/http/app.ts';
import { toE164 } from '../core/phone.ts';
import { countRealConnections, listConnectionStatus } from '../routing/connection-store.ts';
import { RCS_NAME, type SandboxInbound, SMSC_NAME, SOCIAL_PAGES_PATH, WHATSAPP_NAME } from './sandbox.ts';
import {
  describeOpen,
  type EndedMessages,
  endOpenMessages,
  listOpenMessages,
  notifySandbox,
  type OpenMessages,
  restoreSandbox,
  retireSandbox,
} from './sandbox-store.ts';
import type { SandboxSocial } from './social-server.ts';

export type SandboxRouteDeps = {
  /** Serves the pages of the sandbox's social networks; null without a sandbox. */
  readonly socialPage: SandboxSocial['page'] | null;
};

/** Registers the consent pages of the sandbox's social networks, if it runs. They are part of no contract. */
export function sandboxRoutes(app: App, { socialPage }: SandboxRouteDeps): void {
  if (!socialPage) return;
  app.get(`${SOCIAL_PAGES_PATH}/*`, { schema: { hide: true } }, async (request, reply) => {
    const { pathname, searchParams } = new URL(request.raw.url ?? '/', 'http://localhost');
    const answer = socialPage(pathname.slice(SOCIAL_PAGES_PATH.length + 1), searchParams);
    if (typeof answer === 'string') throw new AppError('unavailable');
    return reply
      .code(answer.status)
      .headers({ ...answer.headers, 'referrer-policy': 'no-referrer' })
      .send(answer.body);
  });
}

const NAMES: Readonly<Record<Channel, string>> = { SMS: SMSC_NAME, WHATSAPP: WHATSAPP_NAME, RCS: RCS_NAME };
/** Maximum length of a text: with the other fields and JSON escapes, the payload stays below the limit of a NOTIFY. */
const MAX_TEXT_LENGTH = 1600;

type Flags = { channel: 'sms' | 'whatsapp' | 'rcs'; from: string; to: string; text: string };

/** Registers `sandbox inbound`, which simulates an inbound message to the running program. */
export function registerSandboxInbound(sandbox: Command, context: CommandContext): void {
  sandbox
    .command('inbound')
    .description('simulate an inbound message to the running program through its sandbox')
    .addOption(new Option('--channel <channel>', 'channel').choices(['sms', 'whatsapp', 'rcs']).default('sms'))
    .requiredOption('--from <number>', 'phone number of the sender, in E.164 format')
    .option('--to <number>', 'number to which it is sent (SMS)', '9000')
    .requiredOption('--text <text>', 'text of the message')
    .action(async (flags: Flags) => {
      const inbound = readFlags(flags);
      await context.withDatabase(async (pool) => {
        await requireRunningSandbox(pool, inbound.channel);
        await notifySandbox(pool, JSON.stringify(inbound));
      });
      context.report(inbound, ({ from, channel }) => `Sent a message from ${from} on ${channel}.`);
    });
}

/** Registers `sandbox retire` and `sandbox restore`. */
export function registerSandboxRetirement(sandbox: Command, context: CommandContext): void {
  sandbox
    .command('retire')
    .description(
      'remove the built-in sandbox from routes, readiness, metrics and doctor, once a real carrier is connected',
    )
    .option('--end-messages', 'end its open messages: queued ones as DELETED, those without a receipt as EXPIRED')
    .action(async ({ endMessages }: { readonly endMessages?: true }) => {
      if (context.config().sandbox === 'on')
        throw new AppError('conflict', { message: 'SANDBOX=on starts the sandbox again: set it to auto or off first' });
      const by = operatorName();
      const ended = await context.withDatabase(async (pool) => {
        await requireOtherCarrier(pool);
        const before = await listOpenMessages(pool);
        if (before.length > 0 && !endMessages) throw stillOpen(before);
        const done = before.length > 0 ? await endOpenMessages(pool, { by, now: new Date() }) : NOTHING;
        const left = await retireSandbox(pool, operatorAuthor(GATEWAY_ACCOUNT_ID, by));
        if (left.length > 0) throw stillOpen(left);
        return done;
      });
      context.report({ retired: true, ...ended }, ({ withdrawn, givenUp }) =>
        [
          'The sandbox is retired: nothing leads to it, and readiness, metrics and doctor omit it.',
          ...(withdrawn + givenUp > 0 ? [`${withdrawn} messages were withdrawn, ${givenUp} were given up.`] : []),
          '`sandbox restore` brings it back.',
        ].join('\n'),
      );
    });

  sandbox
    .command('restore')
    .description('run the built-in sandbox next to real carriers again, from the next start of serve')
    .action(async () => {
      if (context.config().sandbox === 'off')
        throw new AppError('conflict', {
          message: 'SANDBOX=off keeps the sandbox from starting: set it to auto first',
        });
      const author = operatorAuthor(GATEWAY_ACCOUNT_ID, operatorName());
      const connections = await context.withDatabase((pool) => restoreSandbox(pool, author));
      if (connections.length === 0)
        throw new AppError('not_found', {
          message: 'The sandbox is not enabled: start the program with SANDBOX=on',
        });
      context.report({ connections }, () => 'The sandbox runs again from the next start of serve.');
    });
}

const NOTHING: EndedMessages = { withdrawn: 0, givenUp: 0 };

async function requireOtherCarrier(db: Db): Promise<void> {
  if ((await countRealConnections(db)) === 0)
    throw new AppError('conflict', {
      message: 'No other carrier is connected: add one first (`connection add`), or start the program with SANDBOX=off',
    });
}

const stillOpen = (open: readonly OpenMessages[]): AppError =>
  new AppError('conflict', {
    message: `Messages are open on the sandbox (${describeOpen(open)}): let them end, or end them with --end-messages; those that are being submitted need a second call`,
  });

const CHANNEL_OF = { sms: 'SMS', whatsapp: 'WHATSAPP', rcs: 'RCS' } as const;

function readFlags({ channel, from, to, text }: Flags): SandboxInbound {
  const number = toE164(from);
  if (number === null) throw invalidFields([{ field: '--from', message: 'must be a phone number in E.164 format' }]);
  if (!/^\+?\d{1,20}$/.test(to)) throw invalidFields([{ field: '--to', message: 'must be 1 to 20 digits' }]);
  if (text === '' || text.length > MAX_TEXT_LENGTH)
    throw invalidFields([{ field: '--text', message: `must have 1 to ${MAX_TEXT_LENGTH} characters` }]);
  return { channel: CHANNEL_OF[channel], from: number, to, text };
}

async function requireRunningSandbox(db: Db, channel: Channel): Promise<void> {
  const status = (await listConnectionStatus(db)).find(({ name }) => name === NAMES[channel]);
  if (!status?.up)
    throw new AppError('unavailable', { message: 'No program with a sandbox is running: start one with SANDBOX=on' });
}
