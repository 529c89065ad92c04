import { createSmppCarrier } from '../../../carriers/smpp/carrier.ts';
import { parseSmppSettings, SmppSettings } from '../../../carriers/smpp/settings.ts';
import type { Kind } from './kind.ts';
import type { Secret } from './secret.ts';
import { settingFields } from './setting-fields.ts';

/** The password is sealed unchanged. */
const SECRET: Secret = {
  fields: [{ name: 'password', description: 'The password of the system id.', type: 'text', generated: false }],
  toText({ password }) {
    if (typeof password !== 'string') throw new Error('password: must be a text');
    return password;
  },
  toFields: (password) => ({ password }),
};

/** SMPP 3.4. */
export const smppKind: Kind = {
  title: 'SMPP',
  leadsTo: 'an SMPP 3.4 carrier',
  channel: 'SMS',
  settings: settingFields(SmppSettings, {
    access: ['host', 'port', 'systemId'],
    main: ['tls', 'bind', 'binds', 'window', 'tps'],
  }),
  secret: SECRET,
  checkSecret: null,
  isGuarded: false,
  parseSettings: parseSmppSettings,
  createCarrier: (settings, password) => createSmppCarrier(parseSmppSettings(settings), { password }),
  tpsOf: (settings) => parseSmppSettings(settings).tps,
  forTest: (settings) => ({ ...settings, binds: 1 }),
  addressOf: parseSmppSettings,
  limitsOf(settings) {
    const { window, binds, tps } = parseSmppSettings(settings);
    return { window: window * binds, perSecond: tps };
  },
  senderIdsOf: () => [],
  showExchange: null,
  setup: null,
  callbacks: null,
  createFileSource: null,
  createTemplateClient: null,
};
