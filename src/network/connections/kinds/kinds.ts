import type { Connection, ConnectionKind } from '../sql.ts';
import type { Kind } from './kind.ts';
import { rcsKind } from './rcs.ts';
import { smppKind } from './smpp.ts';
import { whatsappKind } from './whatsapp.ts';

const KINDS: Readonly<Record<ConnectionKind, Kind>> = { smpp: smppKind, whatsapp: whatsappKind, rcs: rcsKind };

export const kindOf = ({ kind }: Pick<Connection, 'kind'>): Kind => KINDS[kind];
