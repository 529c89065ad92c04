import { type Command, Option } from 'commander';
import { operatorName } from '../../../identity/audit/record.ts';
import type { CommandContext } from '../../../platform/cli.ts';
import { transaction } from '../../../platform/db/transaction.ts';
import { loadSecretKey } from '../../../platform/secret-key.ts';
import { type Added, addConnection, callbackUrlOf } from '../add.ts';
import type { NewConnection } from '../save.ts';
import type { ConnectionKind } from '../sql.ts';
import { readJsonFile, readSettings } from './read-settings.ts';

/** `connection add smpp`, `whatsapp` and `rcs`. What their options leave out is given with `--set`. */
export function registerAddCommands(add: Command, context: CommandContext): void {
  addSmpp(add, context);
  addWhatsapp(add, context);
  addRcs(add, context);
}

type Named = { name: string; set: string[] };
type SmppFlags = Named & {
  host: string;
  port: number;
  systemId: string;
  password: string;
  bind: string;
  binds: number;
  window: number;
  tps: number;
  tls?: true;
};

function addSmpp(add: Command, context: CommandContext): void {
  add
    .command('smpp')
    .description('add an SMPP 3.4 carrier')
    .requiredOption('--name <name>', 'name of the connection')
    .requiredOption('--host <host>', 'host of the carrier')
    .option('--port <port>', 'port of the carrier', Number, 2775)
    .requiredOption('--system-id <id>', 'system_id')
    .requiredOption('--password <password>', 'password')
    .addOption(new Option('--bind <mode>', 'bind mode').choices(['trx', 'tx+rx', 'tx', 'rx']).default('trx'))
    .option('--binds <n>', 'binds at the same time', Number, 1)
    .option('--window <n>', 'unanswered messages a bind', Number, 10)
    .option('--tps <n>', 'parts a second over all binds; 0 is no limit', Number, 0)
    .option('--tls', 'TLS from the first byte')
    .option('--set <name=value...>', 'any other setting, see docs/carriers.md', [])
    .action(async ({ name, password, set, ...flags }: SmppFlags) => {
      const settings = { ...flags, tls: flags.tls ?? false, ...readSettings(set) };
      const { id } = await create(context, { name, kind: 'smpp', settings, secret: password });
      context.report(
        { id, name },
        () => `Connection ${name} (id ${id}) was added. Give it a route: route add --channel SMS --connection ${name}`,
      );
    });
}

type WhatsappFlags = Named & {
  wabaId: string;
  phoneNumberId: string[];
  accessToken: string;
  appSecret: string;
  appId?: string;
  verifyToken?: string;
};

function addWhatsapp(add: Command, context: CommandContext): void {
  add
    .command('whatsapp')
    .description('add a WhatsApp business account (Cloud API)')
    .requiredOption('--name <name>', 'name of the connection; part of its callback address')
    .requiredOption('--waba-id <id>', 'id of the business account')
    .requiredOption('--phone-number-id <id...>', 'ids of its phone numbers')
    .requiredOption('--access-token <token>', 'token of a system user')
    .requiredOption('--app-secret <secret>', 'secret of the app, which signs the callbacks')
    .option('--app-id <id>', 'id of the app, for templates with files')
    .option('--verify-token <token>', 'what Meta asks the callback address for; made up when left out')
    .option('--set <name=value...>', 'any other setting, see docs/carriers.md', [])
    .action(async ({ name, wabaId, phoneNumberId, set, accessToken, appSecret, ...flags }: WhatsappFlags) => {
      const app = flags.appId === undefined ? {} : { appId: flags.appId };
      const settings = { wabaId, ...app, phoneNumberIds: phoneNumberId, ...readSettings(set) };
      const secret = { accessToken, appSecret, ...(flags.verifyToken && { verifyToken: flags.verifyToken }) };
      const { id, tokens } = await create(context, { name, kind: 'whatsapp', settings, secret });
      const added = { id, name, callbackUrl: callbackUrl(context, 'whatsapp', name), ...tokens };
      context.report(added, ({ callbackUrl: url }) =>
        [
          `Connection ${name} (id ${id}) was added. Tell Meta where its callbacks go:`,
          `  callback URL  ${url}`,
          `  verify token  ${tokens['verifyToken']}`,
          ...phoneNumberId.map((number) => give(number, name)),
        ].join('\n'),
      );
    });
}

type RcsFlags = Named & { serviceAccount: string; clientToken?: string };

function addRcs(add: Command, context: CommandContext): void {
  add
    .command('rcs')
    .description('add a Google RBM partner account')
    .requiredOption('--name <name>', 'name of the connection; part of its callback address')
    .requiredOption('--service-account <file>', 'the key file of the service account, as Google hands it out')
    .option('--client-token <token>', 'what Google signs the callbacks with; made up when left out')
    .option('--set <name=value...>', 'any other setting, see docs/carriers.md', [])
    .action(async ({ name, serviceAccount, set, ...flags }: RcsFlags) => {
      const own = flags.clientToken === undefined ? {} : { clientToken: flags.clientToken };
      const secret = { ...(await readJsonFile('--service-account', serviceAccount)), ...own };
      const { id, tokens } = await create(context, { name, kind: 'rcs', settings: readSettings(set), secret });
      const added = { id, name, callbackUrl: callbackUrl(context, 'rcs', name), ...tokens };
      context.report(added, ({ callbackUrl: url }) =>
        [
          `Connection ${name} (id ${id}) was added. Tell Google where its callbacks go:`,
          `  webhook URL   ${url}`,
          `  client token  ${tokens['clientToken']}`,
          give('<agent id>', name),
        ].join('\n'),
      );
    });
}

const give = (id: string, name: string): string =>
  `Give it to an account: sender assign --id ${id} --connection ${name} --account <account>`;

const callbackUrl = (context: CommandContext, kind: ConnectionKind, name: string): string | null =>
  callbackUrlOf(context.config().publicUrl, { kind, name });

type Input = Omit<NewConnection, 'sandbox' | 'kind'> & { readonly kind: ConnectionKind };

async function create(context: CommandContext, input: Input): Promise<Added> {
  const key = await loadSecretKey(context.config());
  const wanted = { ...input, by: operatorName() };
  return context.withDatabase((pool) => transaction(pool, (tx) => addConnection(tx, key, wanted)));
}
