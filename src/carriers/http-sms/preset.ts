import Type, { type Static, type TProperties } from 'typebox';
import { parseSettings } from '../parse-settings.ts';
import { Answer, Inbound, Receipts, Request, Verify } from './protocol.ts';

const NEEDS = ['baseUrl', 'account', 'apiKey', 'signingKey'] as const;

const PROPERTIES = {
  baseUrl: Type.Optional(Type.String()),
  /** Settings that a connection must give in addition. */
  needs: Type.Array(Type.Enum([...NEEDS])),
  probePath: Type.Optional(Type.String()),
  request: Request,
  answer: Answer,
  receipts: Receipts,
  inbound: Inbound,
  verify: Verify,
} satisfies TProperties;

const Preset = Type.Object(PROPERTIES, { additionalProperties: false });

/** The protocol of a well-known carrier, with all defaults. */
export type Preset = Static<typeof Preset>;

/** Validates the protocol of a well-known carrier and fills in the defaults. */
export const definePreset = (protocol: unknown): Preset => parseSettings(Preset, protocol);
