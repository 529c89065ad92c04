import Type, { type Static } from 'typebox';
import { Request } from '../http-sms/protocol.ts';
import { parseHttpSmsSettings, type Resolved, resolveSettings } from '../http-sms/settings.ts';
import { parseSettings } from '../parse-settings.ts';
import { LookupAnswer } from './answer.ts';
import { LOOKUP_PRESET_NAMES, LOOKUP_PRESETS } from './presets.ts';

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
/** The stored settings of a lookup service. */
export type LookupSettings = Static<typeof LookupSettings>;

export type ResolvedLookup = {
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
export function resolveLookup({
  preset,
  baseUrl,
  account,
  request,
  answer,
  concurrency,
}: LookupSettings): ResolvedLookup {
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
