import { type Command, Option } from 'commander';
import type { CommandContext } from '../../platform/cli.ts';
import { listConnectionStatus } from '../../network/connections/sql.ts';
import type { Db } from '../../platform/db/query.ts';
import { AppError, invalidFields } from '../../platform/errors.ts';
import type { Channel } from '../../platform/lib/channel.ts';
import { toE164 } from '../../platform/lib/phone/phone.ts';
import type { SandboxInbound } from './inbound.ts';
import { RCS_NAME, WHATSAPP_NAME } from './networks.ts';
import { SMSC_NAME } from './smsc.ts';
import { notifySandbox } from './sql.ts';

const NAMES: Readonly<Record<Channel, string>> = { SMS: SMSC_NAME, WHATSAPP: WHATSAPP_NAME, RCS: RCS_NAME };
/** With the other fields and JSON escapes the payload stays below the limit of a NOTIFY. */
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
