import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { MIGRATIONS_DIR, migrate } from '../../src/platform/db/migrate.ts';
import { silentLog } from '../../src/platform/lib/log.ts';
import { createTestDatabase } from './database.ts';

type Before = {
  readonly pool: Pool;
  /** Applies the migration and those after it. Throws if it was not among them. */
  migrate(): Promise<void>;
};

/** Runs `work` on a database that has only the migrations before the named one. */
export async function withEarlierMigrations(name: string, work: (before: Before) => Promise<void>): Promise<void> {
  await using database = await createTestDatabase({ empty: true });
  const { pool } = database;
  const dir = await mkdtemp(join(tmpdir(), 'migrations-'));
  try {
    for (const file of await readdir(MIGRATIONS_DIR))
      if (file < name) await copyFile(join(MIGRATIONS_DIR, file), join(dir, file));
    await migrate(pool, { dir, log: silentLog });
    await work({
      pool,
      async migrate() {
        const applied = await migrate(pool, { dir: MIGRATIONS_DIR, log: silentLog });
        if (!applied.includes(name)) throw new Error(`${name} is not among the migrations that were applied`);
      },
    });
  } finally {
    await rm(dir, { recursive: true });
  }
}
