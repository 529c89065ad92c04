import type { Kind } from './connection.ts';
import { FIELDS, filledOf, settingsOf } from './fields.ts';
import type { LinkValues } from './settings-fields.tsx';

/** The request body for a new connection; empty fields are left out. */
export const toConnectionBody = (kind: Kind, { settings, secret }: LinkValues) => ({
  kind,
  settings: filledOf(settingsOf(kind), settings),
  secret: filledOf(FIELDS[kind].secret, secret),
});
