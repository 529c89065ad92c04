import { type Static, Type } from 'typebox';
import { TRAFFIC_TYPES } from '../channels/carrier.ts';
import { templateQualityOf } from '../channels/whatsapp/templates.ts';
import { orNull } from '../core/schema.ts';
import type { WantedFile } from '../media/media.ts';
import { mediaReference } from '../media/store.ts';
import { placeholdersOf } from './content.ts';
import type { Template } from './store.ts';

const Text = (maxLength: number, description: string) => Type.String({ minLength: 1, maxLength, description });
const Url = (description: string) =>
  Type.String({
    pattern: '^https?://[^\\s]+$',
    maxLength: 2048,
    description,
    'x-message': 'must be an http or https URL of at most 2,048 characters',
  });
const postbackData = Text(2048, 'Returned to you when the button is tapped.');
const label = Text(25, 'The text of the button.');
const degrees = (maximum: number) => Type.Number({ minimum: -maximum, maximum });
const oneOf = (values: string[], description: string) => Type.Enum(values, { type: 'string', description });

const mediaId = Type.Optional(Type.Integer({ minimum: 1, description: 'Instead of url: one of your files (media).' }));

/** A suggestion in the network's own form (RBM API, agentMessages). */
const Suggestion = Type.Union([
  Type.Object({ reply: Type.Object({ text: label, postbackData }) }),
  Type.Object({
    action: Type.Object({
      text: label,
      postbackData,
      fallbackUrl: Type.Optional(Url('Opened when the handset does not support the action.')),
      openUrlAction: Type.Optional(
        Type.Object({
          url: Url('The URL to open.'),
          application: Type.Optional(oneOf(['BROWSER', 'WEBVIEW'], 'Where it is opened.')),
          webviewViewMode: Type.Optional(oneOf(['FULL', 'HALF', 'TALL'], 'How much of the screen it covers.')),
          description: Type.Optional(Text(500, 'For screen readers.')),
        }),
      ),
      dialAction: Type.Optional(Type.Object({ phoneNumber: Text(20, 'E.164.') })),
      viewLocationAction: Type.Optional(
        Type.Object({
          latLong: Type.Optional(Type.Object({ latitude: degrees(90), longitude: degrees(180) })),
          label: Type.Optional(Text(100, 'The name of the place.')),
          query: Type.Optional(Text(200, 'A search term, instead of a location.')),
        }),
      ),
      createCalendarEventAction: Type.Optional(
        Type.Object({
          startTime: Type.String({ format: 'date-time' }),
          endTime: Type.String({ format: 'date-time' }),
          title: Text(100, 'The title of the event.'),
          description: Type.Optional(Text(500, 'The description of the event.')),
        }),
      ),
      shareLocationAction: Type.Optional(Type.Object({})),
    }),
  }),
]);
const suggestions = (maxItems: number) => Type.Optional(Type.Array(Suggestion, { maxItems }));

const Card = Type.Object({
  title: Type.Optional(Text(200, 'Up to 200 characters.')),
  description: Type.Optional(Text(2000, 'Up to 2,000 characters.')),
  media: Type.Optional(
    Type.Object({
      url: Type.Optional(Url('An image or a video of up to 100 MiB.')),
      mediaId,
      thumbnailUrl: Type.Optional(Url('Shown until the media has loaded; at most 100 kB.')),
      height: Type.Optional(oneOf(['SHORT', 'MEDIUM', 'TALL'], 'MEDIUM by default.')),
      forceRefresh: Type.Optional(
        Type.Boolean({ description: 'Fetches the file again even if the network has cached it.' }),
      ),
    }),
  ),
  suggestions: suggestions(4),
});
type Card = Static<typeof Card>;

/** The body of an RCS message, in a send or in a template. */
export const RcsBody = Type.Union([
  Type.Object({
    type: Type.Literal('TEXT'),
    text: Text(3072, 'Up to 3,072 characters.'),
    suggestions: suggestions(11),
  }),
  Type.Object({
    type: Type.Literal('CARD'),
    card: Card,
    orientation: Type.Optional(oneOf(['VERTICAL', 'HORIZONTAL'], 'VERTICAL by default.')),
    imageAlignment: Type.Optional(oneOf(['LEFT', 'RIGHT'], 'Position of the image in a HORIZONTAL card.')),
    suggestions: suggestions(11),
  }),
  Type.Object({
    type: Type.Literal('CAROUSEL'),
    cards: Type.Array(Card, { minItems: 2, maxItems: 10 }),
    width: Type.Optional(oneOf(['SMALL', 'MEDIUM'], 'MEDIUM by default.')),
    suggestions: suggestions(11),
  }),
  Type.Object({
    type: Type.Literal('FILE'),
    url: Type.Optional(Url('A file of up to 100 MiB.')),
    mediaId,
    thumbnailUrl: Type.Optional(Url('Shown instead of the file; at most 100 kB.')),
    suggestions: suggestions(11),
  }),
]);
export type RcsBody = Static<typeof RcsBody>;

/** The network's limit for a complete message. */
const MAX_BYTES = 250_000;

type File = { readonly url?: string; readonly mediaId?: number; thumbnailUrl?: string; forceRefresh?: boolean };

/** Lists the files of a body, each with its path. */
function filesIn(body: RcsBody, path: string): { readonly at: string; readonly file: File }[] {
  if (body.type === 'FILE') return [{ at: path, file: body }];
  if (body.type === 'CARD') return body.card.media ? [{ at: `${path}.card.media`, file: body.card.media }] : [];
  const cards = body.type === 'CAROUSEL' ? body.cards : [];
  return cards.flatMap(({ media }, i) => (media ? [{ at: `${path}.cards[${i}].media`, file: media }] : []));
}

/** Lists the files of a body that are the account's own uploads. */
export const filesOfBody = (body: RcsBody, path = 'body'): WantedFile[] =>
  filesIn(body, path).flatMap(({ at, file: { mediaId: id } }) =>
    id === undefined ? [] : [{ field: `${at}.mediaId`, id }],
  );

/** Finds errors in a body that its schema cannot express: the invalid fields with a message each. */
export function findBodyErrors(body: RcsBody, path = 'body'): { field: string; message: string }[] {
  const cards = body.type === 'CARD' ? [body.card] : body.type === 'CAROUSEL' ? body.cards : [];
  const empty = cards.flatMap((card, i) =>
    card.title === undefined && card.description === undefined && card.media === undefined
      ? [
          {
            field: body.type === 'CARD' ? `${path}.card` : `${path}.cards[${i}]`,
            message: 'must have a title, a description or media',
          },
        ]
      : [],
  );
  const vague = filesIn(body, path).filter(({ file }) => (file.url === undefined) === (file.mediaId === undefined));
  const faults = [
    ...empty,
    ...vague.map(({ at }) => ({ field: `${at}.url`, message: 'exactly one of url and mediaId is required' })),
  ];
  const tooLong = Buffer.byteLength(JSON.stringify(body)) > MAX_BYTES;
  return tooLong ? [...faults, { field: path, message: 'must be at most 250,000 bytes long' }] : faults;
}

type Json = { readonly [key: string]: unknown };

/** Converts a body to the network's `contentMessage`. */
export function toContentMessage(body: RcsBody): Json {
  const chips = body.suggestions && body.suggestions.length > 0 ? { suggestions: body.suggestions } : {};
  return { ...contentOf(body), ...chips };
}

function contentOf(body: RcsBody): Json {
  switch (body.type) {
    case 'TEXT':
      return { text: body.text };
    case 'FILE':
      return { contentInfo: fileOf(body) };
    case 'CARD':
      return { richCard: { standaloneCard: standalone(body) } };
    case 'CAROUSEL':
      return {
        richCard: { carouselCard: { cardWidth: body.width ?? 'MEDIUM', cardContents: body.cards.map(cardOf) } },
      };
  }
}

function standalone({ card, orientation = 'VERTICAL', imageAlignment }: Extract<RcsBody, { type: 'CARD' }>): Json {
  const alignment = orientation === 'HORIZONTAL' ? { thumbnailImageAlignment: imageAlignment ?? 'LEFT' } : {};
  return { cardOrientation: orientation, ...alignment, cardContent: cardOf(card) };
}

function cardOf({ media, ...card }: Card): Json {
  if (!media) return card;
  const { height = 'MEDIUM', ...file } = media;
  return { ...card, media: { height, contentInfo: fileOf(file) } };
}

const fileOf = (file: File): Json => ({
  fileUrl: file.mediaId === undefined ? file.url : mediaReference(file.mediaId),
  ...(file.thumbnailUrl !== undefined && { thumbnailUrl: file.thumbnailUrl }),
  ...(file.forceRefresh !== undefined && { forceRefresh: file.forceRefresh }),
});

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

const CampaignComponents = Type.Array(
  Type.Object({ type: Type.String({ maxLength: 40 }) }, { additionalProperties: true }),
  {
    maxItems: 20,
    description:
      'For campaigns, instead of variables: the components of a message in the form of the network, as in a send. Texts in ' +
      'them may have contact fields: {{firstName|friend}}.',
  },
);

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
  campaignComponents: Type.Optional(CampaignComponents),
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
  campaignComponents: Type.Optional(orNull(CampaignComponents)),
  headerLink: Type.Optional(orNull(HeaderLink)),
  headerMediaId: Type.Optional(HeaderMediaId),
});
export type WhatsappTemplatePatch = Static<typeof WhatsappTemplatePatch>;

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
  campaignComponents: orNull(Type.Array(Type.Object({}, { additionalProperties: true }))),
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
  campaignComponents: template.campaignComponents === null ? null : [...template.campaignComponents],
  headerLink: template.headerLink,
});

export const toRcsOut = (template: Template) => ({
  ...toOut(template),
  content: typeof template.content === 'object' && template.content !== null ? template.content : {},
  trafficType: template.trafficType,
});
