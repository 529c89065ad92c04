import { open, seal, type SecretKey } from '../../../../platform/lib/secret-box.ts';

/** The URL of a webhook for alerts, which may contain a token, and the secret that signs its messages. */
export type Hook = { readonly url: string; readonly secret: string };

/** The id is not known before the insert, so the seal is bound to its purpose. */
const PLACE = 'alert_target.sealed';

/** Seals the URL and the secret of a webhook for the database. */
export const sealHook = (key: SecretKey, hook: Hook): Buffer => seal(key, JSON.stringify(hook), PLACE);

/** Opens them; null when they were sealed with another SECRET_KEY. */
export function openHook(key: SecretKey, sealed: Buffer | null): Hook | null {
  if (sealed === null) return null;
  try {
    return JSON.parse(open(key, sealed, PLACE).toString());
  } catch {
    return null;
  }
}
