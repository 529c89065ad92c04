import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pool } from 'pg';
import type { Secrets } from './flows.ts';

/** Where a secret was found. */
export type Leak = { readonly secret: string; readonly where: string };

type Needle = { readonly secret: string; readonly octets: Buffer };

/** Of a long secret each half is looked for as well: what cuts texts may leave one. */
const HALF_FROM = 32;
const PART_OCTETS = 1024 * 1024;

/** A secret as it might be written: as it is, in Base64 and hex, in a URL; and its second half. */
export const needlesOf = (secrets: Secrets): Needle[] =>
  [...secrets].flatMap(([secret, value]) => {
    const octets = Buffer.from(value);
    const forms = new Set([
      value,
      octets.toString('base64').replace(/=+$/, ''),
      octets.toString('hex'),
      encodeURIComponent(value),
      ...(value.length >= HALF_FROM ? [value.slice(value.length / 2)] : []),
    ]);
    return [...forms].map((form) => ({ secret, octets: Buffer.from(form) }));
  });

export function findIn(needles: readonly Needle[], where: string, hay: string | Buffer): Leak[] {
  const octets = typeof hay === 'string' ? Buffer.from(hay) : hay;
  const found = needles.filter((needle) => octets.includes(needle.octets));
  return [...new Set(found.map(({ secret }) => secret))].map((secret) => ({ secret, where }));
}

/** Every row of every table, as text. */
export async function findInDatabase(needles: readonly Needle[], pool: Pool): Promise<Leak[]> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `SELECT c.oid::regclass::text AS name FROM pg_class c
      WHERE c.relnamespace IN ('public'::regnamespace) AND c.relkind IN ('r', 'm') ORDER BY 1`,
  );
  const leaks: Leak[] = [];
  for (const { name } of tables) {
    const { rows } = await pool.query<{ row: string }>(`SELECT t::text AS row FROM ${name} t`);
    leaks.push(...findIn(needles, `table ${name}`, rows.map(({ row }) => row).join('\n')));
  }
  return leaks;
}

/** Every file of a folder and of those in it. PostgreSQL makes and removes files all the time. */
export async function findInFiles(needles: readonly Needle[], folder: string): Promise<Leak[]> {
  const leaks: Leak[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) leaks.push(...(await findInFile(needles, path).catch(ignoreGone)));
  }
  return leaks;
}

/** In parts that overlap by more than any secret is long. */
async function findInFile(needles: readonly Needle[], path: string): Promise<Leak[]> {
  const overlap = Math.max(...needles.map(({ octets }) => octets.length));
  const leaks: Leak[] = [];
  let before = Buffer.alloc(0);
  for await (const chunk of createReadStream(path, { highWaterMark: PART_OCTETS })) {
    const part = Buffer.concat([before, chunk]);
    leaks.push(...findIn(needles, path, part));
    before = part.subarray(-overlap);
  }
  return leaks;
}

function ignoreGone(error: NodeJS.ErrnoException): Leak[] {
  if (error.code === 'ENOENT') return [];
  throw error;
}
