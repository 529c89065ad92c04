import type { ConnectionKind } from '../../network/connections/kinds/kinds.ts';

/** Checks in addition to those of connections; the console has a name for each (web/src/operator). */
export const CHECKS = [
  'database',
  'sessions',
  'rights',
  'standbys',
  'archive',
  'sending',
  'clock',
  'disk',
  'files',
  'tls',
  'mail',
  'alerts',
  'secrets',
  'queue',
  'moves',
  'prices',
  'sandbox',
  'address',
  'from outside',
] as const;

/** A check (`check` if they could not even begin), or a connection or a server with its name. */
type Name =
  | (typeof CHECKS)[number]
  | 'check'
  | `${ConnectionKind} ${string}`
  | `notice to ${string}`
  | `reads from ${string}`;

/** The result of one check; `advice` is the remedy for a failed one. */
export type Finding = {
  readonly name: Name;
  readonly ok: boolean;
  readonly detail: string;
  readonly advice?: string;
};
