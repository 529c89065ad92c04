import { type Static, Type } from 'typebox';
import { placeholdersOf } from './placeholders.ts';
import { RcsBody } from './rcs-body.ts';
import type { Template } from './sql.ts';
import { orNull } from '../../platform/lib/schema.ts';
import { TRAFFIC_TYPES } from '../../carriers/traffic-type.ts';
import { templateQualityOf } from '../../carriers/whatsapp/template-changes.ts';

const Variables = Type.Array(
  Type.String({
    pattern: '^[^{}|]{1,64}(\\|[^{}]{0,200})?$',
    'x-message': 'must be a contact field, or one with a default: firstName|friend',
  }),
  {
    maxItems: 100,
    description:
      'For campaigns: the contact field of each placeholder, in the order of `placeholders`, with a default behind a `|`. ' +
      'By default, a named placeholder uses the field with its name.',
  },
);
const Components = Type.Array(Type.Object({ type: Type.String() }, { additionalProperties: true }), {
  minItems: 1,
  maxItems: 10,
  description: "In the network's own form: HEADER, BODY, FOOTER, BUTTONS.",
});
const Category = Type.Enum(['MARKETING', 'UTILITY', 'AUTHENTICATION'], { type: 'string' });
const HeaderLink = Type.String({
  pattern: '^https?://[^\\s]{1,2040}$',
  description: 'The file of a media header, for sends that name no other.',
  'x-message': 'must be an http or https URL',
});
const HeaderMediaId = Type.Integer({
  minimum: 1,
  description: 'One of your files, as the sample that the network requires for a media header.',
});
const Ttl = Type.Integer({
  minimum: -1,
  maximum: 2_592_000,
  description: 'Seconds for which the network tries to deliver the message.',
});

export const WhatsappTemplateIn = Type.Object({
  phoneNumberId: Type.String({
    minLength: 1,
    maxLength: 128,
    description: 'One of the numbers of the business account.',
  }),
  name: Type.String({ pattern: '^[a-z0-9_]{1,512}$', 'x-message': 'must have 1 to 512 characters of a-z, 0-9 and _' }),
  language: Type.String({
    pattern: '^[a-z]{2,3}(_[A-Z]{2,4})?$',
    'x-message': 'must be a language code such as pt_PT',
  }),
  category: Category,
  components: Components,
  parameterFormat: Type.Optional(Type.Enum(['POSITIONAL', 'NAMED'], { type: 'string' })),
  allowCategoryChange: Type.Optional(Type.Boolean()),
  messageSendTtlSeconds: Type.Optional(Ttl),
  variables: Type.Optional(Variables),
  headerLink: Type.Optional(HeaderLink),
  headerMediaId: Type.Optional(HeaderMediaId),
});

const EXAMPLE_COMPONENTS = [
  { type: 'BODY', text: 'Hello {{1}}, order {{2}} is on its way.', example: { body_text: [['Ada', '4711']] } },
  { type: 'FOOTER', text: 'Acme' },
];
export const WHATSAPP_TEMPLATE_EXAMPLE: Static<typeof WhatsappTemplateIn> = {
  phoneNumberId: '100000000000001',
  name: 'order_shipped',
  language: 'en',
  category: 'MARKETING',
  components: EXAMPLE_COMPONENTS,
  variables: ['firstName|there', 'order'],
};
export type WhatsappTemplateIn = Static<typeof WhatsappTemplateIn>;

export const WhatsappTemplatePatch = Type.Object({
  category: Type.Optional(Category),
  components: Type.Optional(Components),
  messageSendTtlSeconds: Type.Optional(Ttl),
  variables: Type.Optional(Variables),
  headerLink: Type.Optional(orNull(HeaderLink)),
  headerMediaId: Type.Optional(HeaderMediaId),
});
export type WhatsappTemplatePatch = Static<typeof WhatsappTemplatePatch>;

/** A traffic type of RCS, with this description. */
export const trafficType = (description: string) => Type.Enum([...TRAFFIC_TYPES], { type: 'string', description });

export const RcsTemplateIn = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 200 }),
  body: RcsBody,
  trafficType: Type.Optional(
    trafficType(
      'The purpose of its messages, also in campaigns; agents with several uses must state it for each message.',
    ),
  ),
  variables: Type.Optional(Variables),
});

export const RCS_TEMPLATE_EXAMPLE: Static<typeof RcsTemplateIn> = {
  name: 'Order shipped',
  body: {
    type: 'TEXT',
    text: 'Hello {{firstName}}, your order is on its way.',
    suggestions: [{ reply: { text: 'Thank you', postbackData: 'thanks' } }],
  },
  variables: ['firstName|there'],
};
export type RcsTemplateIn = Static<typeof RcsTemplateIn>;

export const Deleted = Type.Null({ description: 'Deleted' });

export const TemplateId = Type.Object({ id: Type.String() });

export const filterFields = {
  status: Type.Optional(
    Type.String({ maxLength: 40, description: 'Only templates with this status; without it, all but DELETED.' }),
  ),
  search: Type.Optional(Type.String({ maxLength: 200, description: 'A part of the name, in any case.' })),
};

const common = {
  id: Type.String(),
  name: Type.String(),
  status: Type.String({ description: 'Only an APPROVED template can be sent.' }),
  placeholders: Type.Array(Type.String(), { description: '`1` (in the body), `header.1`, `button.0.1`, or names.' }),
  variables: Type.Array(Type.String()),
  common: Type.Boolean({ description: 'Shared by all accounts; only the operator can change it.' }),
  createdAt: Type.String({ format: 'date-time' }),
  updatedAt: Type.String({ format: 'date-time' }),
};

export const WhatsappTemplateOut = Type.Object({
  ...common,
  language: Type.String(),
  category: Type.String(),
  reason: orNull(Type.String({ description: "Why it was rejected or paused, in the network's own words." })),
  quality: Type.Enum(['GREEN', 'YELLOW', 'RED', 'UNKNOWN'], {
    type: 'string',
    description: 'How people react to it; the network pauses a template that stays RED.',
  }),
  parameterFormat: Type.Enum(['POSITIONAL', 'NAMED'], { type: 'string' }),
  components: Type.Array(Type.Object({}, { additionalProperties: true })),
  headerLink: orNull(Type.String()),
});
export const RcsTemplateOut = Type.Object({
  ...common,
  content: Type.Object({}, { additionalProperties: true, description: "A contentMessage, in the network's own form." }),
  trafficType: orNull(trafficType('The purpose of its messages; null: as the operator has set it for the agent.')),
});

const toOut = (template: Template) => ({
  id: template.id,
  name: template.name,
  status: template.status,
  placeholders: placeholdersOf(template).map(({ label }) => label),
  variables: [...template.variables],
  common: template.ownerId === null,
  createdAt: template.createdAt.toISOString(),
  updatedAt: template.updatedAt.toISOString(),
});

export const toWhatsappOut = (template: Template) => ({
  ...toOut(template),
  language: template.language,
  category: template.category,
  reason: template.reason,
  quality: templateQualityOf(template.quality ?? ''),
  parameterFormat: template.named ? ('NAMED' as const) : ('POSITIONAL' as const),
  components: Array.isArray(template.content) ? template.content : [],
  headerLink: template.headerLink,
});

export const toRcsOut = (template: Template) => ({
  ...toOut(template),
  content: typeof template.content === 'object' && template.content !== null ? template.content : {},
  trafficType: template.trafficType,
});
