import { type Command, InvalidArgumentError } from 'commander';
import { type CommandContext, table } from '../../platform/cli.ts';
import { type Capacity, calculateCapacity, type Demand, type Setup, usualPeak } from './calculate.ts';
import { COSTS, MEASURED_ON, type Range } from './figures.ts';

type Flags = {
  readonly perDay: number;
  readonly peakPerSecond?: number;
  readonly shareBulk: number;
  readonly shareCampaigns: number;
  readonly parts: number;
  readonly webhooks?: true;
  readonly inbound: number;
  readonly keepDays: number;
};

/** `capacity`: calculates, without a database, what machines and disks an amount of messages needs. */
export function registerCapacityCommand(program: Command, context: CommandContext): void {
  program
    .command('capacity')
    .description('calculate the cores, disks and connections that an amount of messages needs, from measured figures')
    .requiredOption('--per-day <messages>', 'messages sent a day', toAmount)
    .option(
      '--peak-per-second <messages>',
      'messages a second at the peak; by default a fifth of the day within an hour',
      toAmount,
    )
    .option('--share-bulk <share>', 'how much of it comes in bulk requests, from 0 to 1', toShare, 0)
    .option('--share-campaigns <share>', 'how much of it are campaigns; what is left is sent one by one', toShare, 0)
    .option('--parts <number>', 'parts of an SMS on average', toParts, 1)
    .option('--webhooks', 'two webhook events for each message')
    .option('--inbound <messages>', 'messages received a day', toAmount, 0)
    .option('--keep-days <days>', 'days that messages are kept (RETENTION_DAYS)', toAmount, 90)
    .action((flags: Flags, command: Command) => {
      if (flags.shareBulk + flags.shareCampaigns > 1)
        command.error('error: --share-bulk and --share-campaigns must not be more than 1 together.');
      const demand = toDemand(flags);
      const capacity = calculateCapacity(demand);
      context.report({ demand, ...capacity, measuredOn: MEASURED_ON, figures: COSTS }, () => show(demand, capacity));
    });
}

function toDemand({ perDay, peakPerSecond, webhooks, inbound, ...rest }: Flags): Demand {
  return {
    ...rest,
    perDay,
    peakPerSecond: peakPerSecond ?? usualPeak(perDay),
    eventsPerMessage: webhooks === true ? 2 : 0,
    inboundPerDay: inbound,
  };
}

/** A number of at most 15 digits, so that no sum is beyond what a double counts. */
const toNumber = (text: string): number => (/^\d{1,15}(\.\d{1,9})?$/.test(text) ? Number(text) : Number.NaN);

function toAmount(text: string): number {
  const amount = toNumber(text);
  if (Number.isNaN(amount)) throw new InvalidArgumentError('It must be a number of at least 0.');
  return amount;
}

function toShare(text: string): number {
  const share = toNumber(text);
  if (!(share <= 1)) throw new InvalidArgumentError('It must be a number from 0 to 1.');
  return share;
}

function toParts(text: string): number {
  const parts = toNumber(text);
  if (!(parts >= 1)) throw new InvalidArgumentError('It must be a number of at least 1.');
  return parts;
}

const SETUPS: Readonly<Record<Setup, string>> = {
  'one machine':
    'one machine (docs/deployment.md). If it must go on after the loss of a machine: two to five machines, whatever the load.',
  'two to five machines': 'two to five machines, with PostgreSQL on its own (docs/deployment.md#two-to-five-machines).',
  cells: 'more than one database server: cells, each with some of the accounts (docs/runbooks/scale-out.md#3-cells).',
};

function show(demand: Demand, capacity: Capacity): string {
  const { gatewayMemoryOctets, gatewayProcesses, connections, coresToHave } = capacity;
  const rows: [string, string, string][] = [
    ['CPU of the gateway at the peak', ...both(capacity.gatewayCores, cores)],
    ['CPU of PostgreSQL at the peak', ...both(capacity.postgresCores, cores)],
    ['cores to have (half of them free at the peak)', '', `${coresToHave} cores`],
    ['processes of the gateway', '', String(gatewayProcesses)],
    ['memory of the gateway', '', octets(gatewayMemoryOctets)],
    ['indexes of two days, for the memory of PostgreSQL', '', octets(capacity.hotIndexOctets)],
    ['connections to PostgreSQL', '', String(connections)],
    ['WAL a second at the peak', ...both(capacity.walOctetsPerSecond, octets)],
    ['WAL a day', ...both(capacity.walOctetsPerDay, octets)],
    [`data of ${demand.keepDays} days with indexes`, ...both(capacity.dataOctets, octets)],
    ['disk to have (half as much again, and 16 GB of WAL)', '', octets(capacity.diskToHaveOctets)],
    ['one backup', ...both(capacity.backupOctets, octets)],
    ['archived WAL a day', ...both(capacity.archiveOctetsPerDay, octets)],
  ];
  return [
    table(['', 'from', 'to'], rows),
    '',
    `Set-up: ${SETUPS[capacity.setup]}`,
    '',
    `The peak is ${number(demand.peakPerSecond)} messages a second. Measured on ${MEASURED_ON}.`,
    'The two columns are the lowest and the highest that was measured; a slow disk or a shared processor can be worse.',
    'Nothing was measured on more than two cores: above that, half or twice as much is possible.',
    'Contacts, files and your own backups of other things are not in it.',
  ].join('\n');
}

const both = (range: Range, format: (value: number) => string): [string, string] => [
  format(range[0]),
  format(range[1]),
];
const number = (value: number): string => value.toLocaleString('en', { maximumSignificantDigits: 2 });
const cores = (value: number): string => `${number(value)} cores`;

/** Decimal units, as disks are sold. */
function octets(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB', 'PB'];
  const at = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, value)) / 3)));
  return `${number(value / 1000 ** at)} ${units[at]}`;
}
