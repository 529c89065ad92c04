import { type Command, InvalidArgumentError, Option } from 'commander';
import { operatorName } from '../accounts/audit.ts';
import { type CommandContext, table } from '../core/cli.ts';
import { transaction } from '../core/db/transaction.ts';
import { fromMicros } from '../core/money.ts';
import type { OnUnknown } from '../dispatch/store.ts';
import { describePolicy, registerPolicyCommands } from './policies.ts';
import { type ExplainedRoute, explainRoute, type MeasuredExplanation, type MeasuredRoute } from './router.ts';
import {
  ALL_WEEKDAYS,
  addRoute,
  describeConditions,
  type Hours,
  listRoutes,
  type Route,
  removeRoute,
} from './routes.ts';
import { deliveredShare, receiptSeconds } from './standings.ts';

type Flags = {
  readonly channel: 'SMS';
  readonly prefix: string;
  readonly connection: string;
  readonly priority: number;
  readonly onUnknown: OnUnknown;
  readonly weight?: number;
  readonly network?: string;
  readonly account?: number;
  readonly sender?: string;
  readonly hours?: Pick<Hours, 'from' | 'to'>;
  readonly weekdays?: number[];
  readonly timeZone: string;
};

type ExplainFlags = {
  readonly account?: number;
  readonly sender?: string;
  readonly network?: string;
  readonly at?: Date;
};

/** Registers `route add`, `list`, `remove`, `policy` and `explain`. A running program follows immediately. */
export function registerRouteCommands(program: Command, context: CommandContext): void {
  const route = program.command('route').description('routes of numbers to connections');

  route
    .command('add')
    .description('route numbers with this prefix to a connection; adding it again changes priority, policy and weight')
    .addOption(
      new Option('--channel <channel>', 'SMS; on RCS and WhatsApp the sender determines the connection')
        .choices(['SMS'])
        .default('SMS'),
    )
    .option('--prefix <digits>', 'leading digits without the plus; the longest matching prefix is used', '')
    .requiredOption('--connection <name>', 'name of the connection')
    .option('--priority <n>', 'among equal prefixes the lowest is used first, the others for failover', Number, 100)
    .option('--weight <n>', 'its part of the traffic of the routes with the same priority and a weight', Number)
    .option('--network <digits>', 'only numbers of this network: MCC and MNC, such as 22201')
    .option('--account <id>', 'only messages of this account', Number)
    .option('--sender <name>', 'only messages of this sender')
    .option('--hours <from-to>', 'only in these hours, such as 08:00-20:00', readHours)
    .option('--weekdays <days>', 'only on these days, 1 (Monday) to 7, such as 1-5 or 6,7', readWeekdays)
    .option('--time-zone <zone>', 'the time zone of hours and days, such as Europe/Rome', 'UTC')
    .addOption(
      new Option(
        '--on-unknown <policy>',
        'for single sends without a response: wait for a receipt, or send them once more',
      )
        .choices(['hold', 'resubmit'])
        .default('hold'),
    )
    .action(async (flags: Flags) => context.report(await add(context, flags), ({ id }) => `Route ${id} was added.`));

  route
    .command('list')
    .description('list all routes; for each prefix the first is used, the others for failover in their order')
    .action(async () => context.report(await context.withDatabase(listRoutes), describeRoutes));

  route
    .command('remove')
    .argument('<id>')
    .description('remove a route')
    .action(async (text: string) => {
      const id = Number(text);
      await context.withDatabase((pool) => transaction(pool, (tx) => removeRoute(tx, { id, by: operatorName() })));
      context.report({ id }, () => `Route ${id} was removed.`);
    });

  registerPolicyCommands(route, context);

  route
    .command('explain')
    .argument('<number>', 'the number in E.164 form, such as +393331234567', readNumber)
    .description('show how a message to a number would be routed, and why; nothing is sent')
    .option('--account <id>', 'the account that sends', Number)
    .option('--sender <name>', 'the sender of the message')
    .option('--network <digits>', 'the network of the number: MCC and MNC')
    .option('--at <time>', 'when it is sent, as ISO 8601; now by default', readTime)
    .action(async (destination: string, flags: ExplainFlags) => {
      const { account: accountId = null, sender = null, network = null, at = null } = flags;
      const question = { destination, accountId, sender, network, at };
      const explanation = await context.withDatabase((pool) => explainRoute(pool, question));
      context.report(explanation, describeExplanation, explanation.prefix !== null);
    });
}

const add = (context: CommandContext, flags: Flags) => {
  const { account: accountId = null, weight = null, network = null, sender = null } = flags;
  const { channel, prefix, connection, priority, onUnknown } = flags;
  const conditions = { network, accountId, sender, hours: hoursOf(flags) };
  const input = { channel, prefix, connection, priority, onUnknown, weight, ...conditions, by: operatorName() };
  return context.withDatabase((pool) => transaction(pool, (tx) => addRoute(tx, input)));
};

/** Returns the hours of the flags; days without hours mean whole days. */
const hoursOf = ({ hours, weekdays, timeZone }: Flags): Hours | null =>
  hours === undefined && weekdays === undefined
    ? null
    : { ...(hours ?? { from: '00:00', to: '24:00' }), timeZone, weekdays: weekdays ?? ALL_WEEKDAYS };

function readHours(text: string): Pick<Hours, 'from' | 'to'> {
  const [, from, to] = /^(\d\d:\d\d)-(\d\d:\d\d)$/.exec(text) ?? [];
  if (from === undefined || to === undefined) throw new InvalidArgumentError('Write them as 08:00-20:00.');
  return { from, to };
}

function readWeekdays(text: string): number[] {
  const days = text.split(',').flatMap((part) => {
    const [, first, last = first] = /^([1-7])(?:-([1-7]))?$/.exec(part) ?? [];
    return ALL_WEEKDAYS.filter((day) => day >= Number(first) && day <= Number(last));
  });
  if (days.length === 0) throw new InvalidArgumentError('Write them as 1-5 or 6,7; 1 is Monday.');
  return [...new Set(days)].sort((a, b) => a - b);
}

function readNumber(text: string): string {
  const digits = text.replace(/^(\+|00)/, '');
  if (!/^\d{3,15}$/.test(digits)) throw new InvalidArgumentError('Write it as +393331234567.');
  return `+${digits}`;
}

function readTime(text: string): Date {
  const at = new Date(text);
  if (Number.isNaN(at.getTime())) throw new InvalidArgumentError('Write it as 2027-01-31T09:00:00Z.');
  return at;
}

const describeRoutes = (routes: readonly Route[]): string =>
  table(
    ['id', 'channel', 'prefix', 'order', 'connection', 'priority', 'weight', 'on unknown', 'only for'],
    routes.map((r) => [
      r.id,
      r.channel,
      r.prefix || '(all)',
      r.order,
      r.connection,
      r.priority,
      r.weight ?? '-',
      r.onUnknown,
      describeConditions(r) || '-',
    ]),
  );

function describeExplanation({ routes, reason, policy }: MeasuredExplanation): string {
  const conclusion = reason === null ? 'The message would be rejected: it has no route.' : `Used: ${reason}.`;
  if (routes.length === 0) return conclusion;
  const rows = routes.map((r) => [
    r.place ?? '-',
    r.id,
    r.prefix || '(all)',
    r.connection,
    r.priority,
    r.weight ?? '-',
    describeConditions(r) || '-',
    r.costMicros === null ? '-' : fromMicros(r.costMicros),
    describeQuality(r),
    verdictOn(r),
  ]);
  const headings = ['place', 'id', 'prefix', 'connection', 'priority', 'weight', 'only for', 'cost', 'quality', ''];
  const ordered = policy === null ? '' : `Ordered by policy ${policy.id}: ${describePolicy(policy)}.\n`;
  return `${table(headings, rows)}\n\n${ordered}${conclusion}`;
}

function describeQuality({ standing, quality }: MeasuredRoute): string {
  const share = quality && deliveredShare(quality);
  const seconds = quality && receiptSeconds(quality);
  const words = [
    ...(standing === null ? [] : [standing]),
    ...(quality === null || share === null ? [] : [`${(share * 100).toFixed(1)} % of ${quality.messages}`]),
    ...(seconds === null ? [] : [`receipts in ${seconds.toFixed(1)} s`]),
  ];
  return words.join(', ') || '-';
}

const OBSTACLES: Readonly<Record<ExplainedRoute['obstacles'][number], string>> = {
  network: 'another network, or an unknown one',
  account: 'another account',
  sender: 'another sender',
  hours: 'not at this time',
  prefix: 'a longer prefix decides',
  sandbox: 'sandbox and real carriers do not replace each other',
};

const verdictOn = ({ place, obstacles }: ExplainedRoute): string =>
  place === null
    ? obstacles.map((obstacle) => OBSTACLES[obstacle]).join('; ')
    : place === 1
      ? 'used first'
      : 'if those before fail';
