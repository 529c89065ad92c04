import type { QueryResult, QueryResultRow } from 'pg';
import type { Db } from '../../src/core/db/query.ts';

/** A node of EXPLAIN (FORMAT JSON), as far as the tests read it. */
type PlanNode = {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'Index Cond'?: string;
  Plans?: PlanNode[];
};

/** A table that a plan reads, and how. */
export type Scan = {
  readonly how: string;
  readonly table: string | null;
  readonly index: string | null;
  /** The condition on the index; subqueries without their numbers. */
  readonly condition: string | null;
};

const EMPTY = { rows: [], rowCount: 0, command: '', oid: 0, fields: [] };

/**
 * Explains how PostgreSQL would run the statements of `work`, with their values and the tables as they are; `generic` for
 * the plan that serves any values, which a session keeps of a named statement. Nothing is executed: every statement
 * returns no rows.
 */
export async function explain(
  on: Db,
  work: (db: Db) => Promise<unknown>,
  plan: 'for these values' | 'generic' = 'for these values',
): Promise<Scan[]> {
  const scans: Scan[] = [];
  const generic = plan === 'generic';
  const db: Db = {
    async query<R extends QueryResultRow>(query: { text: string; values: unknown[] }): Promise<QueryResult<R>> {
      const text = `EXPLAIN (FORMAT JSON${generic ? ', GENERIC_PLAN' : ''}) ${query.text}`;
      const { rows } = await on.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>({
        text,
        values: generic ? [] : query.values,
      });
      for (const { Plan } of rows.flatMap((row) => row['QUERY PLAN'])) collect(Plan, scans);
      return EMPTY;
    },
  };
  await work(db);
  return scans;
}

function collect(node: PlanNode, scans: Scan[]): void {
  const { 'Node Type': how, 'Relation Name': table = null, 'Index Name': index = null } = node;
  const condition = node['Index Cond']?.replaceAll(/(InitPlan|SubPlan) \d+/g, '$1') ?? null;
  if (how.includes('Scan')) scans.push({ how, table, index, condition });
  for (const child of node.Plans ?? []) collect(child, scans);
}
