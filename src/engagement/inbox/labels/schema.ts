import { type Static, Type } from 'typebox';
import { id } from '../../../platform/lib/schema.ts';

/** The colours of labels, by name: a client chooses shades that are readable on its background. */
const LABEL_COLORS = ['gray', 'red', 'orange', 'yellow', 'green', 'teal', 'blue', 'purple', 'pink'] as const;

const Name = Type.String({ minLength: 1, maxLength: 40, pattern: String.raw`\S`, 'x-message': 'must not be empty' });
const Color = Type.Enum([...LABEL_COLORS], { type: 'string' });

export const LabelIn = Type.Object({ name: Name, color: Color });
export const LabelPatch = Type.Partial(LabelIn);
export const LabelOut = Type.Object({ id: Type.Integer(), name: Type.String(), color: Color });
export type LabelIn = Static<typeof LabelIn>;
export type LabelColor = (typeof LABEL_COLORS)[number];

export const LabelId = Type.Object({ id: id() });
export const LabelIds = Type.Object({
  labelIds: Type.Array(id(), { maxItems: 20, uniqueItems: true, description: 'All labels of the conversation.' }),
});
