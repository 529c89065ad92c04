import { httpKind } from './http.ts';
import type { Kind } from './kind.ts';
import { rcsKind } from './rcs.ts';
import { smppKind } from './smpp.ts';
import { whatsappKind } from './whatsapp.ts';

/** The kinds of connections, in the order in which they are offered. */
export const CONNECTION_KINDS = ['smpp', 'http', 'whatsapp', 'rcs'] as const;

export type ConnectionKind = (typeof CONNECTION_KINDS)[number];

const KINDS: Readonly<Record<ConnectionKind, Kind>> = {
  smpp: smppKind,
  http: httpKind,
  whatsapp: whatsappKind,
  rcs: rcsKind,
};

/** Returns the kind of a connection. */
export const kindOf = ({ kind }: { readonly kind: ConnectionKind }): Kind => KINDS[kind];
