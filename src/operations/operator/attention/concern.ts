import type { AttentionKind } from './kinds.ts';
import type { Attention } from './sql.ts';

/** Makes an item that needs attention: a problem without other facts, except for `fields`. */
export const concern = (kind: AttentionKind, fields: Partial<Omit<Attention, 'kind'>>): Attention => ({
  kind,
  severity: 'error',
  count: null,
  accounts: null,
  compared: null,
  subject: null,
  subjectId: null,
  since: null,
  detail: null,
  ...fields,
});
