import type { Preset } from '../protocol.ts';
import { aws } from './aws.ts';
import { bird } from './bird.ts';
import { heliograph } from './heliograph.ts';
import { infobip } from './infobip.ts';
import { plivo } from './plivo.ts';
import { sinch } from './sinch.ts';
import { telnyx } from './telnyx.ts';
import { twilio } from './twilio.ts';
import { vonage } from './vonage.ts';

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
