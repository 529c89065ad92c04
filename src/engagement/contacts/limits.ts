import { AppError } from '../../platform/errors.ts';
import type { ContactBook } from './book/sql.ts';

/** Number of contacts that an account may have, and that it has. Null: no limit. */
export type Limits = {
  readonly planLimit: number | null;
  readonly extraLimit: number;
  readonly totalLimit: number | null;
  readonly used: number;
  readonly remaining: number | null;
};

/** Calculates the limits of an account. If it has more contacts than allowed (the limit was lowered), 0 remain. */
export function limitsOf({
  planLimit,
  extraLimit,
  contacts,
}: Pick<ContactBook, 'planLimit' | 'extraLimit' | 'contacts'>): Limits {
  const totalLimit = planLimit === null ? null : planLimit + extraLimit;
  const remaining = totalLimit === null ? null : Math.max(0, totalLimit - contacts);
  return { planLimit, extraLimit, totalLimit, used: contacts, remaining };
}

/** The error of an account that has as many contacts as its plan allows: 403. */
export const limitReached = ({ totalLimit }: Limits): AppError =>
  new AppError('forbidden', { message: `The contact limit of the plan (${totalLimit}) is reached` });
