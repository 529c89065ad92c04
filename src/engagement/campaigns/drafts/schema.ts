import { type Static, Type } from 'typebox';
import { id, instant, orNull } from '../../../platform/lib/schema.ts';
import type { DraftEntry, DraftRow } from './sql.ts';

export const DraftId = Type.Object({ id: Type.String({ format: 'uuid' }) });

const name = Type.String({ maxLength: 200, description: 'The name that lists show; may be empty.' });
const content = Type.Record(Type.String({ maxLength: 50 }), Type.Unknown(), {
  maxProperties: 100,
  description: 'The content of the editor, in its own format: it is stored without checks.',
});
const campaignId = Type.Optional(
  orNull(id('The campaign that it changes; null or omitted: a campaign that does not exist yet.')),
);

export const DraftIn = Type.Object({
  version: Type.Integer({
    minimum: 0,
    maximum: 2_147_483_646,
    description: 'The version that it changes; 0: it is new.',
  }),
  campaignId,
  name,
  content,
});
export type DraftIn = Static<typeof DraftIn>;

const entry = {
  id: Type.String({ format: 'uuid' }),
  version: Type.Integer(),
  campaignId: orNull(Type.Integer()),
  name,
  updatedAt: instant(),
  updatedBy: orNull(Type.String({ description: 'The name of the user who saved it last.' })),
};
export const DraftEntryOut = Type.Object(entry);
export const DraftOut = Type.Object({ ...entry, content });

export const toDraftEntryOut = ({ updatedAt, ...row }: DraftEntry): Static<typeof DraftEntryOut> => ({
  ...row,
  updatedAt: updatedAt.toISOString(),
});

/** Writes a draft as JSON without parsing its content. */
export const toDraftText = ({ content: form, ...row }: DraftRow): string =>
  `${JSON.stringify(toDraftEntryOut(row)).slice(0, -1)},"content":${form}}`;
