import type { Preset } from './preset.ts';
import { heliograph } from './presets/heliograph.ts';
import { infobip } from './presets/infobip.ts';
import { twilio } from './presets/twilio.ts';
import { vonage } from './presets/vonage.ts';

/** The carriers whose protocol is known, in the order in which people choose between them. */
export const PRESET_NAMES = ['heliograph', 'twilio', 'vonage', 'infobip'] as const;

export type PresetName = (typeof PRESET_NAMES)[number];

/** The protocols of well-known carriers. */
export const PRESETS: Readonly<Record<PresetName, Preset>> = { heliograph, twilio, vonage, infobip };
