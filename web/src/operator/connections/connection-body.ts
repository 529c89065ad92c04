import { fieldsOf, filledOf, settingsOf } from './fields.ts';
import type { Kind } from './kind.ts';
import type { LinkValues } from './settings-fields.tsx';

/** The request body for a new connection; empty fields are omitted. */
export const toConnectionBody = (kind: Kind, { settings, secret }: LinkValues) => ({
  kind: kind.kind,
  settings: filledOf(settingsOf(kind), settings),
  secret: filledOf(fieldsOf(kind).secret, secret),
});
