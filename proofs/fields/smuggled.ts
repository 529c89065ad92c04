import type { Pool } from 'pg';
import { isSchema, type Route, type Schema } from '../lib/routes.ts';

/** A field that only the server sets, with a recognizable value. */
export type Smuggled = { readonly key: string; readonly value: unknown };

/**
 * Lists every field that some answer has, and every column of every table in both spellings. Fields that name an
 * account name the victim.
 */
export async function smuggledFields(pool: Pool, routes: readonly Route[], accountId: number): Promise<Smuggled[]> {
  const found = new Map<string, unknown>();
  for (const { answers } of routes)
    for (const answer of answers) for (const [key, schema] of propertiesIn(answer)) found.set(key, valueFor(schema));
  const { rows } = await pool.query<{ column: string; type: string }>(
    `SELECT DISTINCT column_name AS column, data_type AS type FROM information_schema.columns
      WHERE table_schema = 'public' ORDER BY 1`,
  );
  for (const { column, type } of rows) {
    found.set(column, valueOfColumn(type));
    found.set(camelCase(column), found.get(camelCase(column)) ?? valueOfColumn(type));
  }
  for (const key of ['accountId', 'account_id', 'account', 'tenant', 'tenantId']) found.set(key, accountId);
  return [...found].map(([key, value]) => ({ key, value }));
}

const camelCase = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

const TEXT_VALUE = 'smuggled';
const NUMBER_VALUE = 777;
const TIME_VALUE = '1999-09-09T09:09:09.999Z';

function valueFor({ type, format, enum: choices }: Schema): unknown {
  if (Array.isArray(choices)) return choices.at(-1);
  if (type === 'boolean') return true;
  if (type === 'integer' || type === 'number') return NUMBER_VALUE;
  if (type === 'array') return [TEXT_VALUE];
  return format === 'date-time' ? TIME_VALUE : TEXT_VALUE;
}

function valueOfColumn(type: string): unknown {
  if (type === 'boolean') return true;
  if (/int|numeric|double/.test(type)) return NUMBER_VALUE;
  if (type.startsWith('timestamp')) return TIME_VALUE;
  return type === 'ARRAY' ? [TEXT_VALUE] : TEXT_VALUE;
}

/** Yields every property that a schema describes, at any depth. */
function* propertiesIn(schema: unknown): Generator<[key: string, schema: Schema]> {
  if (Array.isArray(schema)) for (const each of schema) yield* propertiesIn(each);
  if (!isSchema(schema)) return;
  const { properties } = schema;
  if (isSchema(properties))
    for (const [key, inner] of Object.entries(properties)) if (isSchema(inner)) yield [key, inner];
  for (const [keyword, inner] of Object.entries(schema)) {
    if (keyword === 'properties' && isSchema(inner)) yield* propertiesIn(Object.values(inner));
    else if (['items', 'anyOf', 'oneOf', 'allOf', 'additionalProperties'].includes(keyword)) yield* propertiesIn(inner);
  }
}

/** Returns all property names of a schema, at any depth. */
export const fieldsOf = (schema: Schema | undefined): ReadonlySet<string> =>
  new Set([...propertiesIn(schema)].map(([key]) => key));
