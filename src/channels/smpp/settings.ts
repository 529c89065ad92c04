import Type, { type Static } from 'typebox';
import { compileReceiptTlvs, compileTlvs, MAX_MESSAGE_TLVS } from '../message-tlvs.ts';
import { parseSettings, throttlePause } from '../settings.ts';

const text = (description: string, maxLength: number) => Type.String({ description, maxLength, default: '' });
const flag = (description: string, fallback: boolean) => Type.Boolean({ description, default: fallback });
const seconds = (description: string, fallback: number) =>
  Type.Number({ description, minimum: 0.05, maximum: 3600, default: fallback });

const tonNpi = (description: string, ton: number, npi: number) =>
  Type.Object(
    {
      ton: Type.Integer({ minimum: 0, maximum: 255, default: ton }),
      npi: Type.Integer({ minimum: 0, maximum: 255, default: npi }),
    },
    { description, default: {}, additionalProperties: false },
  );

/** The settings of one SMPP connection. The defaults fit most carriers. */
export const SmppSettings = Type.Object(
  {
    host: Type.String({ description: 'Host name or IP address of the carrier.', minLength: 1, maxLength: 253 }),
    port: Type.Integer({ description: 'Port of the carrier.', minimum: 1, maximum: 65_535, default: 2775 }),
    tls: flag('TLS from the first byte.', false),
    tlsCa: Type.Optional(
      Type.String({ description: 'Certificate authority in PEM; the well-known authorities by default.' }),
    ),
    tlsServername: Type.Optional(
      Type.String({ description: 'Name that the certificate must contain if it differs from `host`.', minLength: 1 }),
    ),
    tlsInsecure: flag('Accepts any certificate: for test links only.', false),

    systemId: Type.String({ description: 'The user name that the carrier issued.', minLength: 1, maxLength: 15 }),
    systemType: text('System type that is sent with the bind, if the carrier requires one.', 12),
    interfaceVersion: Type.Enum([0x33, 0x34, 0x50], {
      description: 'SMPP version sent with the bind: 51 is 3.3, 52 is 3.4, 80 is 5.0.',
      default: 0x34,
    }),
    addressRange: text('Address range that is sent with the bind: the numbers whose messages this bind receives.', 40),
    bind: Type.Enum(['trx', 'tx+rx', 'tx', 'rx'], {
      description: 'Bind mode: both directions on one bind (`trx`), a pair of binds, or one direction only.',
      default: 'trx',
    }),
    binds: Type.Integer({
      description: 'Number of connections; with `tx+rx`, of pairs of connections.',
      minimum: 1,
      maximum: 64,
      default: 1,
    }),
    window: Type.Integer({
      description: 'Maximum unanswered messages per bind, which is also what a crash can leave in doubt.',
      minimum: 1,
      maximum: 10_000,
      default: 10,
    }),
    // Enforced by the dispatcher, not by the carrier.
    tps: Type.Number({ description: 'Parts per second over all binds; 0 means no limit.', minimum: 0, default: 0 }),

    tlvs: Type.Array(Type.String({ pattern: '^[^\\s,]{1,300}$', maxLength: 300 }), {
      description:
        'Optional parameters of every message, as TAG=VALUE or TAG:TYPE=VALUE: `0x1400=1101234`. TYPE is cstring, octets (bytes in hexadecimal), int8, int16 or int32. A value may contain `{{dlt.entityId}}`, `{{dlt.templateId}}`, `{{dlt.chain}}` or `{{tlv.0x1401}}`, which are parameters of the message; without them the parameter is omitted.',
      maxItems: MAX_MESSAGE_TLVS,
      default: [],
    }),
    messageTlvs: Type.Optional(
      Type.Array(Type.String({ maxLength: 6 }), {
        description: 'Tags of the parameters that messages may bring: `0x1400`. By default all that accounts may send.',
        maxItems: 50,
      }),
    ),
    receiptTlvs: Type.Array(Type.String({ maxLength: 40 }), {
      description: 'Parameters of receipts that are shown in the status of a message, as TAG=NAME: `0x1403=operator`.',
      maxItems: MAX_MESSAGE_TLVS,
      default: [],
    }),
    serviceType: text('Service type that is sent with every message.', 5),
    alphaAddress: tonNpi('Type of number and numbering plan of alphanumeric senders.', 5, 0),
    longAddress: tonNpi('Type of number and numbering plan of senders that are international numbers.', 1, 1),
    shortAddress: tonNpi('Type of number and numbering plan of senders that are short codes.', 3, 0),
    destinationAddress: tonNpi('Type of number and numbering plan of destinations.', 1, 1),
    plusPrefix: flag('Writes international numbers with their plus sign.', false),
    defaultAlphabet: Type.Enum(['gsm', 'latin1', 'ascii', 'utf8'], {
      description: 'Alphabet of data_coding 0 at this carrier.',
      default: 'gsm',
    }),
    ia5AsDefault: flag(
      'Reads inbound texts with data_coding 1 (IA5) in the alphabet of data_coding 0: some peers write GSM there.',
      false,
    ),
    gsmDataCoding: Type.Integer({
      description: 'data_coding of text in the default alphabet; some carriers require 241 (0xF1).',
      minimum: 0,
      maximum: 255,
      default: 0,
    }),
    longMode: Type.Enum(['udh8', 'udh16', 'sar', 'payload'], {
      description:
        'Method of sending long texts: with an 8-bit or 16-bit reference in the user data header, SAR parameters, or message_payload.',
      default: 'udh8',
    }),
    validity: Type.Enum(['absolute', 'relative', 'empty'], {
      description: 'Format of the validity period: an absolute time, a duration, or left to the carrier.',
      default: 'absolute',
    }),

    enquireSeconds: seconds('Idle time after which enquire_link checks the connection.', 30),
    submitTimeoutSeconds: seconds('Time without a response after which the outcome of a submit is "unknown".', 60),
    maxSubmitTimeouts: Type.Integer({
      description:
        'Consecutive submits without a response after which a bind counts as stuck, although the link is alive: it is closed, and then tried again, at first with one message at a time. Never more than the window.',
      minimum: 1,
      maximum: 10_000,
      default: 10,
    }),
    bindTimeoutSeconds: seconds('Time without a response after which a bind is tried again.', 30),
    throttlePauseMs: throttlePause('when the carrier throttles'),

    dlrWithoutEsmClass: flag(
      'Treats a text that looks like a receipt as one, even if esm_class does not indicate it.',
      true,
    ),
    longReceipts: Type.Enum(['all', 'any', 'first', 'last'], {
      description:
        'The parts of a long text whose delivery makes it delivered: all of them, any one, the first, or the last, for carriers that report a long text once. A part that fails ends it always. With `all`, a text of which some parts were delivered and none failed is delivered when its validity ends.',
      default: 'all',
    }),
    acceptedMeansDelivered: flag('Treats the receipt state ACCEPTD, which is not final here, as delivered.', false),
    dlrOffsetMinutes: Type.Integer({
      description: "Minutes by which the carrier's clock in receipt texts is ahead of UTC.",
      minimum: -14 * 60,
      maximum: 14 * 60,
      default: 0,
    }),
  },
  { additionalProperties: false },
);

export type SmppSettings = Static<typeof SmppSettings>;
/** The parts of a long text whose delivery makes it delivered. */
export type LongReceipts = SmppSettings['longReceipts'];

/**
 * Validates stored or posted settings and fills in the defaults. Throws an Error whose message names the invalid
 * fields.
 */
export function parseSmppSettings(json: unknown): SmppSettings {
  const settings = parseSettings(SmppSettings, json);
  if (settings.interfaceVersion < 0x34 && (settings.longMode === 'sar' || settings.longMode === 'payload')) {
    throw new Error(`longMode: ${settings.longMode} needs optional parameters, which version 0x33 does not have`);
  }
  if (settings.interfaceVersion < 0x34 && settings.tlvs.length > 0)
    throw new Error('tlvs: version 0x33 does not have optional parameters');
  compileTlvs(settings);
  compileReceiptTlvs(settings.receiptTlvs);
  return settings;
}
