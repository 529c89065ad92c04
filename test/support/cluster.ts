import pg from 'pg';

declare module 'vitest' {
  interface ProvidedContext {
    /** The cluster of this run, as its superuser. */
    clusterUrl: string;
  }
}

/** The migrated database that every test database is a copy of. */
export const TEMPLATE = 'heliograph_template';

/** The same server and user, another database. */
export function databaseUrl(clusterUrl: string, database: string): string {
  const url = new URL(clusterUrl);
  url.pathname = `/${database}`;
  return url.href;
}

/** One statement on a connection of its own. */
export async function runOn(connectionString: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
