import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pool } from 'pg';
import type { Secrets } from './flows.ts';

/** A secret, by its description, and where it was found. */
export type Leak = { readonly secret: string; readonly where: string };

type Needle = { readonly secret: string; readonly octets: Buffer };

/** From this length on, the second half of a secret is searched for as well: truncated texts may hold only that. */
const HALVED_FROM_LENGTH = 32;
const PART_OCTETS = 1024 * 1024;

/**
 * Returns the forms in which a secret may be written: as it is, in Base64, hex and URL encoding, and its second half.
 */
export const needlesOf = (secrets: Secrets): Needle[] =>
  [...secrets].flatMap(([secret, value]) => {
    const octets = Buffer.from(value);
    const forms = new Set([
      value,
      octets.toString('base64').replace(/=+$/, ''),
      octets.toString('hex'),
      encodeURIComponent(value),
      ...(value.length >= HALVED_FROM_LENGTH ? [value.slice(value.length / 2)] : []),
    ]);
    return [...forms].map((form) => ({ secret, octets: Buffer.from(form) }));
  });

/** Searches one text or buffer; returns a leak for each secret that it holds. */
export function findIn(needles: readonly Needle[], where: string, hay: string | Buffer): Leak[] {
  const octets = typeof hay === 'string' ? Buffer.from(hay) : hay;
  const found = needles.filter((needle) => octets.includes(needle.octets));
  return [...new Set(found.map(({ secret }) => secret))].map((secret) => ({ secret, where }));
}

/** Searches every row of every table, as text. */
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

/** Searches every file of a folder and its subfolders. PostgreSQL creates and removes files all the time. */
export async function findInFiles(needles: readonly Needle[], folder: string): Promise<Leak[]> {
  const leaks: Leak[] = [];
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile()) leaks.push(...(await findInFile(needles, path).catch(ignoreGone)));
  }
  return leaks;
}

/** Searches a file in parts that overlap by more than the length of any secret. */
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
