import Type, { type Static } from 'typebox';
import { parseSettings } from '../parse-settings.ts';

const text = (maxLength: number, fallback = '') => Type.String({ maxLength, default: fallback });
const flag = (fallback: boolean) => Type.Boolean({ default: fallback });
const seconds = (fallback: number) => Type.Number({ minimum: 0.05, maximum: 3600, default: fallback });

/** Type of number and numbering plan. */
const tonNpi = (ton: number, npi: number) =>
  Type.Object(
    {
      ton: Type.Integer({ minimum: 0, maximum: 255, default: ton }),
      npi: Type.Integer({ minimum: 0, maximum: 255, default: npi }),
    },
    { default: {}, additionalProperties: false },
  );

/** The settings of one SMPP connection. The defaults are those of the protocol sheet smpp, section 15. */
export const SmppSettings = Type.Object(
  {
    host: Type.String({ minLength: 1, maxLength: 253 }),
    port: Type.Integer({ minimum: 1, maximum: 65_535, default: 2775 }),
    tls: flag(false),
    /** A certificate authority in PEM; by default the well-known authorities are trusted. */
    tlsCa: Type.Optional(Type.String()),
    /** The name that the certificate must contain when it differs from `host`. */
    tlsServername: Type.Optional(Type.String({ minLength: 1 })),
    /** Accepts any certificate: for test links only. */
    tlsInsecure: flag(false),

    systemId: Type.String({ minLength: 1, maxLength: 15 }),
    systemType: text(12),
    interfaceVersion: Type.Enum([0x33, 0x34, 0x50], { default: 0x34 }),
    addressRange: text(40),
    bind: Type.Enum(['trx', 'tx+rx', 'tx', 'rx'], { default: 'trx' }),
    /** Number of connections, or of connection pairs with `tx+rx`. */
    binds: Type.Integer({ minimum: 1, maximum: 64, default: 1 }),
    /** Maximum unanswered messages per bind. */
    window: Type.Integer({ minimum: 1, maximum: 10_000, default: 10 }),
    /** Parts per second over all binds; 0 means no limit. Enforced by the dispatcher, not by the carrier. */
    tps: Type.Number({ minimum: 0, default: 0 }),

    serviceType: text(5),
    alphaAddress: tonNpi(5, 0),
    longAddress: tonNpi(1, 1),
    shortAddress: tonNpi(3, 0),
    destinationAddress: tonNpi(1, 1),
    /** Writes international numbers with their plus sign. */
    plusPrefix: flag(false),
    /** The alphabet that data_coding 0 stands for at this carrier. */
    defaultAlphabet: Type.Enum(['gsm', 'latin1', 'ascii', 'utf8'], { default: 'gsm' }),
    /** The data_coding of text in the default alphabet; some carriers require 0xF1 (241). */
    gsmDataCoding: Type.Integer({ minimum: 0, maximum: 255, default: 0 }),
    longMode: Type.Enum(['udh8', 'udh16', 'sar', 'payload'], { default: 'udh8' }),
    validity: Type.Enum(['absolute', 'relative', 'empty'], { default: 'absolute' }),

    enquireSeconds: seconds(30),
    submitTimeoutSeconds: seconds(60),
    bindTimeoutSeconds: seconds(30),
    throttlePauseMs: Type.Integer({ minimum: 1, maximum: 30_000, default: 1000 }),

    /** Treats a text that looks like a receipt as one even if esm_class does not say so. */
    dlrWithoutEsmClass: flag(true),
    /** Treats the state ACCEPTED, which is otherwise not final, as a delivery. */
    acceptedMeansDelivered: flag(false),
    /** Minutes by which the carrier's clock in receipt texts is ahead of UTC. */
    dlrOffsetMinutes: Type.Integer({ minimum: -14 * 60, maximum: 14 * 60, default: 0 }),
  },
  { additionalProperties: false },
);

/** The settings of one SMPP connection. */
export type SmppSettings = Static<typeof SmppSettings>;

/**
 * Validates stored or posted settings and fills in the defaults. Throws an Error whose message names the invalid fields.
 */
export function parseSmppSettings(json: unknown): SmppSettings {
  const settings = parseSettings(SmppSettings, json);
  if (settings.interfaceVersion < 0x34 && (settings.longMode === 'sar' || settings.longMode === 'payload')) {
    throw new Error(`longMode: ${settings.longMode} needs optional parameters, which version 0x33 does not have`);
  }
  return settings;
}
