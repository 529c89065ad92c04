import { createSmppCarrier } from '../../../carriers/smpp/carrier.ts';
import { parseSmppSettings } from '../../../carriers/smpp/settings.ts';
import type { Kind } from './kind.ts';

/** SMPP 3.4. The secret is the password. */
export const smppKind: Kind = {
  channel: 'SMS',
  parseSettings: parseSmppSettings,
  parseSecret(secret) {
    if (typeof secret !== 'string') throw new Error('password: must be a text');
    return secret;
  },
  createCarrier: (settings, password) => createSmppCarrier(parseSmppSettings(settings), { password }),
  tpsOf: (settings) => parseSmppSettings(settings).tps,
  forTest: (settings) => ({ ...settings, binds: 1 }),
  addressOf: parseSmppSettings,
  limitsOf(settings) {
    const { window, binds, tps } = parseSmppSettings(settings);
    return { window: window * binds, perSecond: tps };
  },
  ownToken: null,
  createReader: null,
  createFileSource: null,
};
