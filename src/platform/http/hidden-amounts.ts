import type { FastifySchema } from 'fastify';
import type { StoredAnswer } from '../idempotency/answers.ts';
import { type AmountReader, isAmountSchema, isTextWithAmounts, seesAmounts, textFor } from '../lib/amounts.ts';
import { isRecord } from '../lib/is-record.ts';

/** Recipient of a stored response. */
type Reader = AmountReader & { readonly caller: string };

const NOT_SHOWN = 'The first answer is only for callers with the scope "money": use another Idempotency-Key';

/**
 * Returns the body of a stored response as this reader may see it. Without the scope `money`, the fields that the
 * route's schema marks as amounts are null, as in a new response. Errors of such a route may contain amounts in their
 * text, so another caller gets them without it.
 */
export function bodyFor(reader: Reader, answer: StoredAnswer, schema: FastifySchema | undefined): string {
  const responses = isRecord(schema?.response) ? schema.response : {};
  const { status, type, body, caller } = answer;
  if (type === null || seesAmounts(reader)) return body;
  const isSuccess = status < 400;
  // Errors of a route whose responses have an amount only within a reason have none.
  if (!has(isSuccess ? isAmountOrText : isAmountSchema, responses)) return body;
  if (isSuccess) return JSON.stringify(withoutAmounts(reader, JSON.parse(body), responses[status]));
  if (caller === reader.caller) return body;
  return JSON.stringify({ ...JSON.parse(body), message: NOT_SHOWN, details: undefined });
}

type Test = (schema: Record<string, unknown>) => boolean;

const has = (test: Test, schema: unknown): boolean =>
  isRecord(schema) && (test(schema) || Object.values(schema).some((part) => has(test, part)));

const isAmountOrText: Test = (schema) => isAmountSchema(schema) || isTextWithAmounts(schema);

function withoutAmounts(reader: Reader, value: unknown, schema: unknown): unknown {
  if (!isRecord(schema)) return value;
  if (isAmountSchema(schema)) return null;
  if (isTextWithAmounts(schema) && typeof value === 'string') return textFor(reader, value);
  if (Array.isArray(value)) return value.map((item) => withoutAmounts(reader, item, schema['items']));
  const branches = [schema['anyOf'], schema['oneOf']].flat();
  const rest = branches.reduce((shown, branch) => withoutAmounts(reader, shown, branch), value);
  const properties = schema['properties'];
  if (!isRecord(rest) || !isRecord(properties)) return rest;
  return Object.fromEntries(
    Object.entries(rest).map(([name, field]) => [name, withoutAmounts(reader, field, properties[name])]),
  );
}
