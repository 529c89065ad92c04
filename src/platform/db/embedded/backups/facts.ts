import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readIfExists } from '../../private-file.ts';
import { StartupError } from '../../startup-error.ts';
import { sync } from './copy-folder.ts';

/** Metadata of a backup. */
export type BackupFacts = {
  readonly startedAt: Date;
  /** Time to which the backup is restored. */
  readonly finishedAt: Date;
};

const fileOf = (backup: string): string => join(backup, 'backup.json');

export async function writeFacts(backup: string, facts: BackupFacts): Promise<void> {
  await writeFile(fileOf(backup), `${JSON.stringify(facts, null, 2)}\n`, { mode: 0o600 });
  await sync(fileOf(backup));
}

/** Reads the metadata of a backup. Throws a StartupError if the folder is not a backup. */
export async function readFacts(backup: string): Promise<BackupFacts> {
  const text = await readIfExists(fileOf(backup));
  const facts: unknown = text === undefined ? null : JSON.parse(text);
  if (!isStored(facts))
    throw new StartupError(`${backup} is not a backup: name a folder that \`backup create\` has written.`);
  return { startedAt: new Date(facts.startedAt), finishedAt: new Date(facts.finishedAt) };
}

type Stored = { readonly [K in keyof BackupFacts]: string };

const isStored = (facts: unknown): facts is Stored =>
  typeof facts === 'object' &&
  facts !== null &&
  ['startedAt', 'finishedAt'].every((name) => typeof Object(facts)[name] === 'string');
