import type { LookupAnswer } from './answer.ts';

export const LOOKUP_PRESET_NAMES = ['twilio', 'telnyx'] as const;
export type LookupPresetName = (typeof LOOKUP_PRESET_NAMES)[number];

/** Request and response format of a lookup service. */
type LookupProtocol = { readonly baseUrl: string; readonly request: object; readonly answer: LookupAnswer };

/** The protocols of well-known lookup services, as publicly documented in November 2026. */
export const LOOKUP_PRESETS: Readonly<Record<LookupPresetName, LookupProtocol>> = {
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
