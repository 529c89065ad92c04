import pg from 'pg';

declare module 'vitest' {
  interface ProvidedContext {
    /** The URL of the cluster of this run, as its superuser. */
    clusterUrl: string;
    /** True if browser tests check each page in every theme and width, not in one of each (vitest.config.ts). */
    everyLayout: boolean;
  }
}

/** The migrated database that every test database is copied from. */
export const TEMPLATE = 'heliograph_template';

/** Returns the URL of another database on the same server, with the same user. */
export function databaseUrl(clusterUrl: string, database: string): string {
  const url = new URL(clusterUrl);
  url.pathname = `/${database}`;
  return url.href;
}

/** Runs one statement on a separate connection. */
export async function runOn(connectionString: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
