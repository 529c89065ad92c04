// Writes docs/operations.md, all operations by area, from docs/openapi.json; --check fails if the file is out of date.
import { readFile } from 'node:fs/promises';
import { checkOrWrite } from './generated-file.ts';

type Operation = { readonly summary: string; readonly operationId: string; readonly tags?: readonly string[] };
type Tag = { readonly name: string; readonly description?: string };
type Description = {
  readonly tags: readonly Tag[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
};
type Row = Operation & { readonly method: string; readonly path: string };

const HEAD = `# All operations

This page is generated from [openapi.json](openapi.json) (\`node scripts/generate-operations.ts\`), which describes request
bodies, responses and errors; \`/docs\` of a running server shows the same. See also the [API guide](api.md).`;

const read = async (): Promise<Description> =>
  JSON.parse(await readFile(new URL('../docs/openapi.json', import.meta.url), 'utf8'));

const rowsOf = ({ paths }: Description): Row[] =>
  Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => ({ ...operation, method: method.toUpperCase(), path })),
  );

/** The areas in the order of the OpenAPI description, then those that it does not list. */
function areasOf({ tags }: Description, rows: readonly Row[]): Tag[] {
  const known = new Set(tags.map(({ name }) => name));
  const others = new Set(rows.flatMap((row) => row.tags ?? ['Others']).filter((name) => !known.has(name)));
  return [...tags, ...[...others].map((name) => ({ name }))];
}

const showRow = ({ method, path, operationId, summary }: Row): string =>
  `| ${method} | \`${path}\` | ${summary.replaceAll('|', '\\|')} | \`${operationId}\` |`;

function showArea({ name, description }: Tag, rows: readonly Row[]): string {
  const own = rows.filter(({ tags }) => (tags ?? ['Others']).includes(name));
  const lines = ['| | Path | Description | ID |', '|---|---|---|---|', ...own.map(showRow)];
  return [`## ${name}`, ...(description === undefined ? [] : [`${description}.`]), lines.join('\n')].join('\n\n');
}

const description = await read();
const rows = rowsOf(description);
const areas = areasOf(description, rows).filter(({ name }) =>
  rows.some(({ tags }) => (tags ?? ['Others']).includes(name)),
);
const page = [HEAD, ...areas.map((area) => showArea(area, rows))].join('\n\n');
await checkOrWrite(new URL('../docs/operations.md', import.meta.url), `${page}\n`);
