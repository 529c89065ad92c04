// Writes docs/carriers.md: names, values and defaults from the schemas in src/carriers/*/settings.ts, meanings from
// here (a setting without one does not compile); --check fails when the file is out of date.
import { RcsSettings } from '../src/carriers/rcs/settings.ts';
import { SmppSettings } from '../src/carriers/smpp/settings.ts';
import { WhatsappSettings } from '../src/carriers/whatsapp/settings.ts';
import { checkOrWrite } from './generated-file.ts';

/** How the operator says it, where `connection add` has an option of its own; all else goes through `--set`. */
const SMPP_OPTIONS: Partial<Record<keyof SmppSettings, string>> = {
  host: '--host',
  port: '--port',
  systemId: '--system-id',
  bind: '--bind',
  binds: '--binds',
  window: '--window',
  tps: '--tps',
  tls: '--tls',
};

const SMPP: Record<keyof SmppSettings, string> = {
  host: 'Name or address of the carrier.',
  port: 'Its port.',
  tls: 'TLS from the first byte.',
  tlsCa: 'Certificate authority in PEM; without it the well-known ones count.',
  tlsServername: 'The name that the certificate must carry when it is not `host`.',
  tlsInsecure: 'Takes any certificate: for a test link only.',
  systemId: 'The user name that the carrier gave out.',
  systemType: 'Sent with the bind, where the carrier asks for it.',
  interfaceVersion: 'SMPP version sent with the bind: 51 is 3.3, 52 is 3.4, 80 is 5.0.',
  addressRange: 'Sent with the bind: the numbers whose messages this bind wants to receive.',
  bind: 'How to bind: both directions on one bind (`trx`), a pair of binds, or one direction only.',
  binds: 'Connections at the same time; with `tx+rx` pairs of them.',
  window: 'Messages without an answer that one bind may have. It bounds what a crash can leave in doubt.',
  tps: 'Parts a second over all binds; 0 is without a limit.',
  serviceType: 'Sent with every message.',
  alphaAddress: 'Type of number and numbering plan of senders with letters.',
  longAddress: 'The same for senders that are international numbers.',
  shortAddress: 'The same for short codes.',
  destinationAddress: 'The same for destinations.',
  plusPrefix: 'Writes international numbers with their plus.',
  defaultAlphabet: 'What data_coding 0 means at this carrier.',
  gsmDataCoding: 'data_coding of text in the default alphabet; some carriers want 241 (0xF1).',
  longMode:
    'How long texts are joined: user data header with an 8 or 16 bit reference, sar parameters, or message_payload.',
  validity: 'How the end of validity is written.',
  enquireSeconds: 'Silence after which enquire_link asks whether the carrier is there.',
  submitTimeoutSeconds: 'A submit without an answer for this long has the outcome "unknown".',
  bindTimeoutSeconds: 'A bind without an answer for this long is tried again.',
  throttlePauseMs: 'First pause after "too fast"; it doubles up to 30 s while the carrier goes on refusing.',
  dlrWithoutEsmClass: 'Takes a text that looks like a receipt for one although esm_class does not say so.',
  acceptedMeansDelivered: 'Takes the receipt state ACCEPTD, which is not final here, for a delivery.',
  dlrOffsetMinutes: "The carrier's clock in receipt texts, in minutes ahead of UTC.",
};

const WHATSAPP: Record<keyof WhatsappSettings, string> = {
  baseUrl: 'Where the Graph API is, without a path; plain HTTP is for this machine only.',
  apiVersion: 'Its version, a part of each path.',
  wabaId: 'The business account.',
  appId: 'The app that samples of templates with files go by.',
  phoneNumberIds: 'Its numbers that are sent from; callbacks about others are passed over.',
  concurrency: 'Messages without an answer at a time, over all numbers.',
  tps: 'Messages a second of each number; 0 is without a limit.',
  submitTimeoutSeconds: 'A message without an answer for this long has the outcome "unknown".',
  connectTimeoutSeconds: 'A connection that takes longer is given up, and tried again.',
  throttlePauseMs: 'First pause of a number after "too fast"; it doubles up to 30 s.',
  mediaHosts: 'Hosts, beside that of `baseUrl`, that files may be fetched from with the access token.',
};

const RCS: Record<keyof RcsSettings, string> = {
  baseUrl: "Where the RBM API is: the regional host must be that of the agents' hosting region.",
  concurrency: 'Requests at the same time.',
  tps: 'Messages a second over all workers; 0 is without a limit.',
  trafficType: 'What the messages are for; agents with several uses need it.',
  defaultTtlSeconds: 'The life of a message that has no validity of its own.',
  requestTimeoutSeconds: 'A request without an answer for this long is sent again under its id, which counts once.',
  connectTimeoutSeconds: 'A connection that takes longer is given up, and tried again.',
  resends: 'How often it is sent again before its outcome is "unknown".',
  throttlePauseMs: 'First pause after "too fast"; it doubles up to 30 s.',
  faultPauseSeconds: 'Rest after the service account was refused.',
  reachableCacheSeconds: 'How long a number counts as reached by RCS.',
  unreachableCacheSeconds: 'How long a number counts as not reached.',
  batchMinimum: 'Fewest numbers that the network checks in one request; fewer are asked for one by one.',
  capabilityConcurrency: 'Checks of numbers at the same time.',
};

type Schema = {
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly default?: string | number | boolean | readonly string[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
};

function valuesOf({ type, enum: choices, minimum, maximum, maxLength }: Schema): string {
  if (choices) return choices.map((choice) => `\`${choice}\``).join(', ');
  if (type === 'object') return 'ton, npi: 0 to 255';
  if (type === 'array') return 'list';
  if (minimum !== undefined) return maximum === undefined ? `${minimum} or more` : `${minimum} to ${maximum}`;
  if (type === 'boolean') return '`true`, `false`';
  return maxLength === undefined ? 'text' : `text, up to ${maxLength} characters`;
}

function defaultOf(schema: Schema, required: boolean): string {
  if (schema.properties)
    return Object.entries(schema.properties)
      .map(([key, part]) => `${key} ${part.default}`)
      .join(', ');
  if (schema.default !== undefined && schema.default !== '') return `\`${schema.default}\``;
  return required && schema.default === undefined ? 'required' : '–';
}

/** One table; `schema` as JSON. */
function tableOf(
  schema: Schema,
  meanings: Readonly<Record<string, string>>,
  options: Readonly<Record<string, string>>,
) {
  const rows = Object.entries(schema.properties ?? {}).map(([name, property]) => {
    const option = options[name] ? ` (\`${options[name]}\`)` : '';
    const required = schema.required?.includes(name) === true;
    return `| \`${name}\`${option} | ${valuesOf(property)} | ${defaultOf(property, required)} | ${meanings[name]} |`;
  });
  return ['| Setting | Values | Default | What it does |', '|---|---|---|---|', ...rows, ''].join('\n');
}

const asJson = (schema: object): Schema => JSON.parse(JSON.stringify(schema));

const TEXT = `# Settings of connections

This page is generated (\`node scripts/generate-carriers.ts\`) from \`src/carriers/*/settings.ts\`.

Add a connection with \`npm run -s heliograph -- connection add smpp\`, \`whatsapp\` or \`rcs\`. Settings with an option of
their own show it; the others are given with \`--set name=value\`, several of them after each other. Secrets are sealed
with SECRET_KEY before they are stored and never shown again. \`connection test\` tries a connection once.

## SMPP

\`\`\`
npm run -s heliograph -- connection add smpp --name acme --host smpp.example.com --port 2775 \\
  --system-id user1 --password secret12 --window 20 --tps 50 --set longMode=udh16 validity=relative
npm run -s heliograph -- route add --channel SMS --connection acme
\`\`\`

Types of number and numbering plans (\`alphaAddress\` and its neighbours) cannot be given on the command line yet.

${tableOf(asJson(SmppSettings), SMPP, SMPP_OPTIONS)}
## WhatsApp

\`\`\`
npm run -s heliograph -- connection add whatsapp --name meta --waba-id 102290129340398 \\
  --phone-number-id 106540352242922 --access-token TOKEN --app-secret SECRET
npm run -s heliograph -- sender assign --connection meta --id 106540352242922 --account acme
\`\`\`

The first prints the callback URL and the verify token that Meta asks for. The numbers of one connection share its
templates, so they are all one account's, or with \`--common\` everybody's.

${tableOf(asJson(WhatsappSettings), WHATSAPP, { wabaId: '--waba-id', appId: '--app-id', phoneNumberIds: '--phone-number-id' })}
## RCS

\`\`\`
npm run -s heliograph -- connection add rcs --name google --service-account key.json
npm run -s heliograph -- sender assign --connection google --id my_agent --account acme
\`\`\`

The first prints the webhook URL and the client token that Google asks for. An agent that an account has asked for
(\`POST /api/message-server/rcs/agents\`) gets its id with \`sender register\`.

${tableOf(asJson(RcsSettings), RCS, {})}`;

await checkOrWrite(new URL('../docs/carriers.md', import.meta.url), TEXT);
