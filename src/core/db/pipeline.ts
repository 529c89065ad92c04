import pg, { type Connection, type PoolClient, type QueryResult, type QueryResultRow } from 'pg';
import { TYPES } from './pool.ts';
import type { Db, Statement } from './query.ts';

/** Statements that are collected and then sent as one transaction. */
export type Pipeline = Db & {
  /**
   * Sends the collected statements; a later one is rejected. Resolves when they are committed, and after the promises
   * of all of them. Rejects with the first error: then nothing is stored, and the other statements are rejected as
   * well. After an error that is not PostgreSQL's own the state of the connection is unknown.
   */
  send(client: PoolClient): Promise<void>;
};

/** The part of the driver's queries that its types omit: callbacks for sending and for arriving responses. */
type Answered = {
  name: string | undefined;
  text: string | undefined;
  submit(connection: NamedStatements): Error | null;
  handleRowDescription(message: unknown): void;
  handleDataRow(message: unknown): void;
  handleCommandComplete(message: unknown, connection: NamedStatements): void;
  handleError(error: Error, connection: NamedStatements): void;
  handleReadyForQuery(connection: NamedStatements): void;
};

/** A connection, and the names that are assumed to be known to the server as soon as their response arrives. */
type NamedStatements = Connection & { readonly submittedNamedStatements: Record<string, string> };

/**
 * Creates a pipeline. Its statements have one Sync after them, not one each: without BEGIN the server then treats them
 * as one transaction, which it commits at the Sync and rolls back at the first error, skipping the others (PostgreSQL
 * 18, 54.2.4). It also responds once and not after each statement. Five statements that store 21 single sends took 235
 * µs of CPU here and 307 µs in PostgreSQL, against 355 and 427 with BEGIN before and COMMIT after them: 4 % or more of
 * a single send. A read of one account took 111 and 103 µs against 162 and 157 (medians of three pairs, two cores,
 * November 2026).
 *
 * The driver has no such call, so this is the one module that reaches past its types.
 */
export function createPipeline(): Pipeline {
  const queries: Answered[] = [];
  let isSent = false;
  return {
    query<R extends QueryResultRow>(statement: Statement): Promise<QueryResult<R>> {
      if (isSent) return Promise.reject(new Error('the statements have been sent: this one came too late'));
      const { promise, resolve, reject } = Promise.withResolvers<QueryResult<R>>();
      // A text without values would otherwise be sent as a simple query, which is a separate transaction.
      const config = { ...statement, types: TYPES, queryMode: 'extended' };
      const query = new pg.Query<R>(config, (error, result) => (error ? reject(error) : resolve(result)));
      queries.push(answered(query));
      return promise;
    },
    send(client) {
      isSent = true;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      client.query(asOneQuery(queries, resolve, reject));
      return promise;
    },
  };
}

// The driver's class has these members; only its types do not.
const answered = (query: pg.Query): pg.Query & Answered => query as pg.Query & Answered;

/** Combines several queries into one, as the driver sees it: each response goes to the query whose turn it is. */
function asOneQuery(queries: readonly Answered[], committed: () => void, failed: (error: Error) => void): pg.Query {
  let turn = 0;
  const all = answered(new pg.Query(''));
  /** The driver records under this name that the server has parsed the statement. */
  const showName = (): void => {
    all.name = queries[turn]?.name;
    all.text = queries[turn]?.text;
  };
  showName();
  return Object.assign(all, {
    submit(connection: NamedStatements) {
      const refused = submitAll(queries, withoutSync(connection));
      if (!refused) connection.sync();
      return refused;
    },
    handleRowDescription: (message: unknown) => queries[turn]?.handleRowDescription(message),
    handleDataRow: (message: unknown) => queries[turn]?.handleDataRow(message),
    handleCommandComplete(message: unknown, connection: NamedStatements) {
      queries[turn]?.handleCommandComplete(message, connection);
      turn++;
      showName();
    },
    handleError(error: Error, connection: NamedStatements) {
      // The server has skipped the others, so their names are still unknown to it.
      for (const { name } of queries.slice(turn)) if (name) delete connection.submittedNamedStatements[name];
      const rolledBack = new Error('rolled back with another statement', { cause: error });
      for (const [i, query] of queries.entries()) query.handleError(i === turn ? error : rolledBack, connection);
      failed(error);
    },
    handleReadyForQuery(connection: NamedStatements) {
      for (const query of queries) query.handleReadyForQuery(connection);
      committed();
    },
  });
}

/** Returns the error of a statement that cannot be sent; the driver then calls `handleError`. */
function submitAll(queries: readonly Answered[], connection: NamedStatements): Error | null {
  try {
    return queries.reduce<Error | null>((refused, query) => refused ?? query.submit(connection), null);
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

/**
 * The connection as seen by queries that send no Sync themselves. A query whose values cannot be sent closes its
 * statement: then the Sync must not follow, since it would commit the others.
 */
const withoutSync = (connection: NamedStatements): NamedStatements =>
  Object.create(connection, {
    sync: { value: () => undefined },
    close: {
      value() {
        throw new TypeError('a value of the statement cannot be sent');
      },
    },
  });
