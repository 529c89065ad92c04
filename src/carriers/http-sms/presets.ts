import type { Preset } from './preset.ts';
import { aws } from './presets/aws.ts';
import { bird } from './presets/bird.ts';
import { heliograph } from './presets/heliograph.ts';
import { infobip } from './presets/infobip.ts';
import { plivo } from './presets/plivo.ts';
import { sinch } from './presets/sinch.ts';
import { telnyx } from './presets/telnyx.ts';
import { twilio } from './presets/twilio.ts';
import { vonage } from './presets/vonage.ts';

/** The carriers whose protocol is known, in the order of the selection list. */
export const PRESET_NAMES = [
  'heliograph',
  'twilio',
  'vonage',
  'infobip',
  'sinch',
  'bird',
  'plivo',
  'telnyx',
  'aws',
] as const;

export type PresetName = (typeof PRESET_NAMES)[number];

/** The protocols of well-known carriers. */
export const PRESETS: Readonly<Record<PresetName, Preset>> = {
  heliograph,
  twilio,
  vonage,
  infobip,
  sinch,
  bird,
  plivo,
  telnyx,
  aws,
};
