import type { FieldError } from '../../platform/errors.ts';

/** The client's own id of a message, under either of its names. */
export type ClientIds = { readonly customerMessageId?: string | undefined; readonly messageId?: string | undefined };

/** Returns the client's own id of a message; null without one. */
export const clientIdOf = ({ customerMessageId, messageId }: ClientIds): string | null =>
  customerMessageId ?? messageId ?? null;

/** Returns the client's own id of one destination of a bulk message; null without one. */
export const bulkClientId = (
  { ids, customerMessageId }: { readonly ids?: readonly string[]; readonly customerMessageId?: string },
  at: number,
): string | null => ids?.[at] ?? customerMessageId ?? null;

/** Returns the error for two different values under two names of one field. */
export function aliasFaults(name: string, value: unknown, alias: string, other: unknown): FieldError[] {
  if (value === undefined || other === undefined || value === other) return [];
  return [{ field: alias, message: `is another name of ${name}, and has another value` }];
}

/** Returns the error for two different ids in one body. */
export const clientIdFaults = ({ customerMessageId, messageId }: ClientIds): FieldError[] =>
  aliasFaults('customerMessageId', customerMessageId, 'messageId', messageId);
