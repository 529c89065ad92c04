// Writes docs/operations.md, all operations by area with the scope, the roles and the step-up that each needs, and all types of
// events, from docs/openapi.json and the table of rights; --check fails if the file is out of date.
import { readFile } from 'node:fs/promises';
import { RIGHTS, ROLES, SCOPES } from '../src/core/actor.ts';
import { checkOrWrite } from './generated-file.ts';

type Operation = {
  readonly operationId: string;
  readonly summary: string;
  readonly tags?: readonly string[];
  readonly 'x-scope'?: readonly string[];
  readonly 'x-roles'?: readonly string[];
  readonly 'x-step-up'?: boolean;
  readonly 'x-step-up-for'?: string;
};
type Tag = { readonly name: string; readonly description?: string };
type Description = {
  readonly tags: readonly Tag[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>;
};
type Row = Operation & { readonly method: string; readonly path: string };

const HEAD = `# All operations

This page is generated from [openapi.json](openapi.json) and the table of rights in \`src/core/actor.ts\`
(\`node scripts/generate-operations.ts\`). \`openapi.json\`, and \`/docs\` of a running server, describe request bodies, responses
and errors. See also the [API guide](api.md).

## Roles

A user has a role, and the role grants each scope for reading, for writing, or not at all. An API key has some of the
scopes of the user who made it, and never more than that user's role grants now. A request that lacks a right gets 403.
Users can only create keys and users with rights that they have themselves, and an account always keeps one admin.
Operators of the gateway have the role admin in the accounts that they switch to.`;

const AMOUNTS = `Without the scope \`money\`, amounts (prices, costs, credit) in other responses are null; without \`contacts\`, conversations
have no names. An export also needs the scopes of its content. The role sender is for people and programs that only send
and reply.`;

const OPERATIONS = `## Operations

\`contacts:read\` is the right to read within the scope \`contacts\`. An operation needs everything that is listed.
"Any credentials" are enough for operations about the caller itself. Where a step-up is needed, the user of a session must
have signed in, or confirmed who they are, within the last ten minutes ([second factors](second-factors.md#for-users)); keys
need none.`;

const EVENTS = `## Events

The [webhook of the specification](api.md#webhooks) gets the types in capital letters; [endpoints](api.md#several-endpoints) and [the
feed](how-to/events.md) get all others.`;

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

const code = (text: string): string => `\`${text}\``;

const rights = table(
  ['Scope', ...ROLES],
  SCOPES.map((scope) => [code(scope), ...ROLES.map((role) => RIGHTS[scope][role].replace('none', '–'))]),
);

function showScope(needed: readonly string[] = []): string {
  if (needed.length === 0) return 'no credentials';
  if (needed.includes('operator')) return 'operators';
  if (needed.includes('credentials')) return 'any credentials';
  return needed.map((entry) => entry.split(' or ').map(code).join(' or ')).join(', ');
}

function showRoles({ 'x-scope': needed = [], 'x-roles': roles = [] }: Operation): string {
  if (!needed.some((entry) => entry.includes(':'))) return '–';
  return roles.length === ROLES.length ? 'all' : roles.join(', ');
}

const showStepUp = ({ 'x-step-up': needed = false, 'x-step-up-for': requests = 'yes' }: Operation): string =>
  needed ? requests : '';

const showRow = (row: Row): string[] => [
  row.method,
  code(row.path),
  row.summary.replaceAll('|', '\\|'),
  code(row.operationId),
  showScope(row['x-scope']),
  showRoles(row),
  showStepUp(row),
];

const COLUMNS = ['Method', 'Path', 'Description', 'ID', 'Scope', 'Roles', 'Step-up'];

function showArea({ name, description }: Tag, rows: readonly Row[]): string {
  const own = rows.filter(({ tags }) => tags?.includes(name));
  return [
    `### ${name}`,
    ...(description === undefined ? [] : [`${description}.`]),
    table(COLUMNS, own.map(showRow)),
  ].join('\n\n');
}

const { tags, paths, webhooks }: Description = JSON.parse(
  await readFile(new URL('../docs/openapi.json', import.meta.url), 'utf8'),
);
const rows: Row[] = Object.entries(paths).flatMap(([path, operations]) =>
  Object.entries(operations).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
);
const events = table(
  ['Type', 'When'],
  Object.entries(webhooks).map(([type, { post }]) => [code(type), post.summary]),
);
const areas = tags.map((tag) => showArea(tag, rows));
const page = [HEAD, rights, AMOUNTS, OPERATIONS, ...areas, EVENTS, events].join('\n\n');
await checkOrWrite(new URL('../docs/operations.md', import.meta.url), `${page}\n`);
