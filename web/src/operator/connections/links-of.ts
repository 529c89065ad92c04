import type { Kind } from './connection.ts';
import { FIELDS, filledOf, settingsOf } from './fields.ts';
import type { LinkValues } from './settings-fields.tsx';

/** What is sent of the form: nothing of what was left empty. */
export const linksOf = (kind: Kind, { settings, secret }: LinkValues) => ({
  kind,
  settings: filledOf(settingsOf(kind), settings),
  secret: filledOf(FIELDS[kind].secret, secret),
});
