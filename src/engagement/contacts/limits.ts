import { AppError } from '../../platform/errors.ts';
import type { ContactBook } from './book/sql.ts';

/** Contract 12: how many contacts an account may have and has. Null: no limit. */
export type Limits = {
  readonly planLimit: number | null;
  readonly extraLimit: number;
  readonly totalLimit: number | null;
  readonly used: number;
  readonly remaining: number | null;
};

/** More than the limit (it was lowered) leaves nothing; contacts that are there stay. */
export function limitsOf({ planLimit, extraLimit, contacts }: ContactBook): Limits {
  const totalLimit = planLimit === null ? null : planLimit + extraLimit;
  const remaining = totalLimit === null ? null : Math.max(0, totalLimit - contacts);
  return { planLimit, extraLimit, totalLimit, used: contacts, remaining };
}

export const limitReached = ({ totalLimit }: Limits): AppError =>
  new AppError('forbidden', { message: `The plan allows ${totalLimit} contacts, and there are as many` });
