import type { LookupFunction } from 'node:net';
import Type, { type Static } from 'typebox';
import { createHttpClient, type HttpAnswer } from './http-client.ts';
import { Request } from './http-sms/protocol.ts';
import { compileRequests, sharedValues } from './http-sms/request.ts';
import { parseHttpSmsSettings, type Resolved, resolveSettings } from './http-sms/settings.ts';
import { compilePlace, type Document, type Read, toDocument } from './http-sms/template.ts';
import { parseSettings } from './settings.ts';

export type Found =
  /** The service responded; `network` (MCC and MNC) is null if it knows none. */
  | { readonly kind: 'answered'; readonly network: string | null; readonly ported: boolean | null }
  /** The service did not respond, or not about the number: nothing is known. `reason` is readable; `isOfNumber`: it
   * rejects this number. */
  | { readonly kind: 'failed'; readonly reason: string; readonly isOfNumber?: true };

export type NumberLookup = {
  /** Looks a number up, in E.164 with its plus; never rejects. */
  find(number: string): Promise<Found>;
  /** Ends lookups in progress as failed. */
  close(): Promise<void>;
};

type LookupContext = {
  /** Resolves names to addresses that may be dialled. */
  readonly lookup?: LookupFunction;
  /** Returns true if an address that is given instead of a name may be dialled. */
  readonly isAllowed?: (address: string) => boolean;
};

/**
 * Opens a service that knows the networks of numbers, as its settings or their preset describe. A response of 404
 * means that there is no such number, and so no network.
 */
export function createNumberLookup(settings: LookupSettings, apiKey: string, context: LookupContext): NumberLookup {
  const { http: resolved, answer } = resolveLookup(settings);
  const secrets = { apiKey, signingKey: '', callbackToken: '' };
  const requests = compileRequests(resolved, secrets);
  const shared = sharedValues(resolved, secrets, null);
  const read = compileAnswer(answer);
  const http = createHttpClient({
    connections: settings.concurrency,
    connectTimeoutMs: settings.timeoutSeconds * 1000,
    timeoutMs: settings.timeoutSeconds * 1000,
    maxBytes: MAX_ANSWER_BYTES,
    ...context,
  });
  return {
    async find(number) {
      const request = requests.send({ ...shared, to: number, toDigits: number.slice(1) });
      if (request === null) return failed('a header of the request would have characters that it cannot have');
      return foundIn(await http.request(request), read);
    },
    close: http.close,
  };
}

const MAX_ANSWER_BYTES = 64 * 1024;

const failed = (reason: string): Found => ({ kind: 'failed', reason });

type ReadAnswer = (document: Document) => Extract<Found, { kind: 'answered' }>;

function foundIn(answer: HttpAnswer, read: ReadAnswer): Found {
  if (answer.kind === 'failed') return failed(answer.reason);
  if (answer.status === 404) return { kind: 'answered', network: null, ported: null };
  const reason = `the service returned ${answer.status}`;
  if (answer.status === 400 || answer.status === 422) return { kind: 'failed', reason, isOfNumber: true };
  if (answer.status < 200 || answer.status > 299) return failed(reason);
  const document = toDocument(answer.body, answer.headers);
  return document.json === undefined && document.text.trim() === '' ? failed('the response is empty') : read(document);
}

function compileAnswer({ network, mcc, mnc, ported, portedIs = ['true'] }: LookupAnswer): ReadAnswer {
  const at = (place: string | undefined): Read => (place === undefined ? () => '' : compilePlace(place));
  const [readNetwork, readMcc, readMnc, readPorted] = [at(network), at(mcc), at(mnc), at(ported)];
  return (document) => {
    const both = readNetwork(document) || networkOf(readMcc(document), readMnc(document));
    const said = readPorted(document);
    return {
      kind: 'answered',
      network: /^\d{5,6}$/.test(both) ? both : null,
      ported: said === '' ? null : portedIs.includes(said),
    };
  };
}

/** Joins MCC and MNC. Some services write the network code as a number, without its leading zero. */
const networkOf = (mcc: string, mnc: string): string => (mnc === '' ? '' : `${mcc}${mnc.padStart(2, '0')}`);

export const LOOKUP_PRESET_NAMES = ['twilio', 'telnyx'] as const;
type LookupPresetName = (typeof LOOKUP_PRESET_NAMES)[number];

/** Request and response format of a lookup service. */
type LookupProtocol = { readonly baseUrl: string; readonly request: object; readonly answer: LookupAnswer };

/** The protocols of well-known lookup services, as publicly documented in November 2026. */
const LOOKUP_PRESETS: Readonly<Record<LookupPresetName, LookupProtocol>> = {
  // Lookup v2 with Line Type Intelligence (twilio.com/docs/lookup/v2-api/line-type-intelligence). The account is the
  // SID.
  twilio: {
    baseUrl: 'https://lookups.twilio.com',
    request: {
      method: 'GET',
      path: '/v2/PhoneNumbers/{{to}}',
      query: { Fields: 'line_type_intelligence' },
      auth: 'basic',
      username: '{{account}}',
      format: 'none',
    },
    answer: {
      mcc: '/line_type_intelligence/mobile_country_code',
      mnc: '/line_type_intelligence/mobile_network_code',
    },
  },
  // Number Lookup v2 (developers.telnyx.com/docs/identity/number-lookup). MCC and MNC are present for accounts that
  // have them enabled.
  telnyx: {
    baseUrl: 'https://api.telnyx.com',
    request: {
      method: 'GET',
      path: '/v2/number_lookup/{{to}}',
      query: { type: 'carrier' },
      auth: 'bearer',
      format: 'none',
    },
    answer: {
      mcc: '/data/carrier/mobile_country_code',
      mnc: '/data/carrier/mobile_network_code',
      ported: '/data/portability/ported_status',
      portedIs: ['Y'],
    },
  },
};

const Place = (description: string) =>
  Type.Optional(Type.String({ pattern: '^(/|header:[A-Za-z0-9-]|text:.*\\*)', maxLength: 500, description }));

/** Rules for reading the response of a lookup service. */
const LookupAnswer = Type.Object(
  {
    network: Place('Place of MCC and MNC together, such as 22201.'),
    mcc: Place('Place of the mobile country code.'),
    mnc: Place('Place of the mobile network code.'),
    ported: Place('Place of the porting flag.'),
    portedIs: Type.Optional(
      Type.Array(Type.String({ maxLength: 100 }), { minItems: 1, description: 'Values there that mean yes.' }),
    ),
  },
  {
    description: 'Places in the response. A place is a JSON pointer, `header:name`, or `text:before*after`.',
    additionalProperties: false,
  },
);
type LookupAnswer = Static<typeof LookupAnswer>;

export const LookupSettings = Type.Object(
  {
    preset: Type.Optional(
      Type.Enum([...LOOKUP_PRESET_NAMES], { description: 'A well-known service, whose protocol is then preset.' }),
    ),
    baseUrl: Type.Optional(Type.String({ description: 'Address of the API.', maxLength: 300 })),
    account: Type.Optional(
      Type.String({ description: 'The account there, `{{account}}` in templates.', pattern: '^[\\x21-\\x7e]{1,200}$' }),
    ),
    request: Type.Optional(Request),
    answer: Type.Optional(LookupAnswer),
    timeoutSeconds: Type.Number({
      description: 'Time after which a lookup fails.',
      minimum: 0.05,
      maximum: 60,
      default: 5,
    }),
    concurrency: Type.Integer({
      description: 'Maximum concurrent lookups, per process.',
      minimum: 1,
      maximum: 200,
      default: 20,
    }),
    waitMs: Type.Integer({
      description: 'Maximum time that a message waits for its network; then it is routed without it.',
      minimum: 0,
      maximum: 5000,
      default: 500,
    }),
    margins: Type.Boolean({
      description: 'Also look up numbers if only the cost depends on the network. No message waits for that.',
      default: false,
    }),
    price: Type.Number({ description: 'Cost of an answered lookup, in currency units.', minimum: 0, default: 0 }),
    maxAgeHours: Type.Integer({
      description: 'Time for which a network is cached.',
      minimum: 1,
      maximum: 8760,
      default: 720,
    }),
    maxUnknownHours: Type.Integer({
      description: 'Time for which a number without a network is not looked up again.',
      minimum: 1,
      maximum: 8760,
      default: 24,
    }),
  },
  { additionalProperties: false },
);
export type LookupSettings = Static<typeof LookupSettings>;

type ResolvedLookup = {
  /** Settings for the engine that makes requests of SMS carriers. */
  readonly http: Resolved;
  readonly answer: LookupAnswer;
};

/** Validates settings and fills in the defaults. Throws an Error whose message names the invalid fields. */
export function parseLookupSettings(json: unknown): LookupSettings {
  const settings = parseSettings(LookupSettings, json);
  resolveLookup(settings);
  return settings;
}

/** Returns the settings, completed from the preset. Throws an Error that begins with the field. */
function resolveLookup({ preset, baseUrl, account, request, answer, concurrency }: LookupSettings): ResolvedLookup {
  const known = preset === undefined ? undefined : LOOKUP_PRESETS[preset];
  const places = answer ?? known?.answer;
  if (!places || (places.network === undefined && (places.mcc === undefined || places.mnc === undefined)))
    throw new Error('answer: must state the place of network, or of mcc and mnc');
  const http = parseHttpSmsSettings({
    baseUrl: baseUrl ?? known?.baseUrl,
    request: request ?? known?.request,
    concurrency,
    ...(account !== undefined && { account }),
  });
  return { http: resolveSettings(http), answer: places };
}
