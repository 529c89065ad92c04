// Writes docs/permissions.md, which scope, which roles and which step-up each operation needs, from docs/openapi.json and
// the table of rights; --check fails if the file is out of date.

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
type Description = {
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};
type Row = Operation & { readonly method: string; readonly path: string };

const HEAD = `# Permissions

This page is generated from the table in \`src/core/actor.ts\` and from [openapi.json](openapi.json)
(\`node scripts/generate-permissions.ts\`), where each operation has them as \`x-scope\`, \`x-roles\` and \`x-step-up\`.

A user has a role, and the role has scopes: some to read, some to write. An API key has some of the scopes of the user
who made it, and never more than that user's role has now. A request without what its operation needs gets 403. Nobody
can create a key or a user with rights that they lack, and an account always keeps one admin. Operators of the gateway
have the role admin in the accounts that they switch to.`;

const AMOUNTS = `Amounts (prices, costs, credit) in the answers of other operations are null without the scope \`money\`, and the names of
contacts in conversations are left out without \`contacts\`. An export also needs the scopes of its content.

A viewer can see exports, webhooks, money and social profiles, and a sender cannot: that role is for people and programs
that only send and reply.`;

const OPERATIONS = `## Operations

\`contacts:read\` stands for the scope \`contacts\` with the right to read. An operation needs everything that is listed.
"Any credentials" stands for operations about the caller itself, which no role or scope limits. With a step-up, the
user of a session must have signed in, or confirmed who they are, within the last ten minutes
([second factors](second-factors.md#for-users)); keys need none.`;

/** Headings that say more here than the name of the tag. */
const TITLES: Readonly<Record<string, string>> = { Operation: 'Health, metrics and callbacks of carriers' };

const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

const code = (text: string): string => `\`${text}\``;

const rights = table(
  ['Scope', ...ROLES],
  SCOPES.map((scope) => [code(scope), ...ROLES.map((role) => RIGHTS[scope][role].replace('none', '–'))]),
);

function showScope(needed: readonly string[] = []): string {
  if (needed.length === 0) return 'no credentials';
  if (needed.includes('operator')) return 'operators of the gateway';
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
  showScope(row['x-scope']),
  showRoles(row),
  showStepUp(row),
];

const { tags, paths }: Description = JSON.parse(
  await readFile(new URL('../docs/openapi.json', import.meta.url), 'utf8'),
);
const rows: Row[] = Object.entries(paths).flatMap(([path, operations]) =>
  Object.entries(operations).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
);
const areas = tags.map(({ name }) => {
  const own = rows.filter((row) => row.tags?.includes(name));
  return `### ${TITLES[name] ?? name}\n\n${table(['Method', 'Path', 'Description', 'Scope', 'Roles', 'Step-up'], own.map(showRow))}`;
});
const page = [HEAD, '## Roles', rights, AMOUNTS, OPERATIONS, ...areas].join('\n\n');
await checkOrWrite(new URL('../docs/permissions.md', import.meta.url), `${page}\n`);
