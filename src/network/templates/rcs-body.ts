import { type Static, Type } from 'typebox';
import type { WantedFile } from '../../media/find-for-send.ts';
import { referenceTo } from '../../media/reference.ts';

const Words = (maxLength: number, description: string) => Type.String({ minLength: 1, maxLength, description });
const Url = (description: string) =>
  Type.String({
    pattern: '^https?://[^\\s]+$',
    maxLength: 2048,
    description,
    'x-message': 'must be an http or https address of at most 2,048 characters',
  });
const postbackData = Words(2048, 'Comes back to you when it is tapped.');
const label = Words(25, 'What the button says.');
const degrees = (most: number) => Type.Number({ minimum: -most, maximum: most });
const oneOf = (values: string[], description: string) => Type.Enum(values, { type: 'string', description });

const mediaId = Type.Optional(Type.Integer({ minimum: 1, description: 'In place of url: a file of yours (media).' }));

/** As the network writes it (protocol sheet rcs, section 2). */
const Suggestion = Type.Union([
  Type.Object({ reply: Type.Object({ text: label, postbackData }) }),
  Type.Object({
    action: Type.Object({
      text: label,
      postbackData,
      fallbackUrl: Type.Optional(Url('Opened where the handset cannot do the action.')),
      openUrlAction: Type.Optional(
        Type.Object({
          url: Url('What is opened.'),
          application: Type.Optional(oneOf(['BROWSER', 'WEBVIEW'], 'Where.')),
          webviewViewMode: Type.Optional(oneOf(['FULL', 'HALF', 'TALL'], 'How much of the screen.')),
          description: Type.Optional(Words(500, 'For screen readers.')),
        }),
      ),
      dialAction: Type.Optional(Type.Object({ phoneNumber: Words(20, 'E.164.') })),
      viewLocationAction: Type.Optional(
        Type.Object({
          latLong: Type.Optional(Type.Object({ latitude: degrees(90), longitude: degrees(180) })),
          label: Type.Optional(Words(100, 'The name of the place.')),
          query: Type.Optional(Words(200, 'Searched for instead of a place.')),
        }),
      ),
      createCalendarEventAction: Type.Optional(
        Type.Object({
          startTime: Type.String({ format: 'date-time' }),
          endTime: Type.String({ format: 'date-time' }),
          title: Words(100, 'Of the event.'),
          description: Type.Optional(Words(500, 'Of the event.')),
        }),
      ),
      shareLocationAction: Type.Optional(Type.Object({})),
    }),
  }),
]);
const suggestions = (maxItems: number) => Type.Optional(Type.Array(Suggestion, { maxItems }));

const Card = Type.Object({
  title: Type.Optional(Words(200, 'Up to 200 characters.')),
  description: Type.Optional(Words(2000, 'Up to 2,000 characters.')),
  media: Type.Optional(
    Type.Object({
      url: Type.Optional(Url('A picture or a video of up to 100 MiB.')),
      mediaId,
      thumbnailUrl: Type.Optional(Url('Shown until it has loaded; at most 100 kB.')),
      height: Type.Optional(oneOf(['SHORT', 'MEDIUM', 'TALL'], 'MEDIUM unless said otherwise.')),
      forceRefresh: Type.Optional(Type.Boolean({ description: 'Fetched again although the network has it.' })),
    }),
  ),
  suggestions: suggestions(4),
});
type Card = Static<typeof Card>;

/** What an RCS message holds, in a send or in a template. */
export const RcsBody = Type.Union([
  Type.Object({
    type: Type.Literal('TEXT'),
    text: Words(3072, 'Up to 3,072 characters.'),
    suggestions: suggestions(11),
  }),
  Type.Object({
    type: Type.Literal('CARD'),
    card: Card,
    orientation: Type.Optional(oneOf(['VERTICAL', 'HORIZONTAL'], 'VERTICAL unless said otherwise.')),
    imageAlignment: Type.Optional(oneOf(['LEFT', 'RIGHT'], 'Of the picture in a HORIZONTAL card.')),
    suggestions: suggestions(11),
  }),
  Type.Object({
    type: Type.Literal('CAROUSEL'),
    cards: Type.Array(Card, { minItems: 2, maxItems: 10 }),
    width: Type.Optional(oneOf(['SMALL', 'MEDIUM'], 'MEDIUM unless said otherwise.')),
    suggestions: suggestions(11),
  }),
  Type.Object({
    type: Type.Literal('FILE'),
    url: Type.Optional(Url('A file of up to 100 MiB.')),
    mediaId,
    thumbnailUrl: Type.Optional(Url('Shown for it; at most 100 kB.')),
    suggestions: suggestions(11),
  }),
]);
export type RcsBody = Static<typeof RcsBody>;

/** The network's limit for a whole message. */
const MOST_OCTETS = 250_000;

type File = { readonly url?: string; readonly mediaId?: number; thumbnailUrl?: string; forceRefresh?: boolean };

/** The files of a body, each with where it stands. */
function filesIn(body: RcsBody, path: string): { readonly at: string; readonly file: File }[] {
  if (body.type === 'FILE') return [{ at: path, file: body }];
  if (body.type === 'CARD') return body.card.media ? [{ at: `${path}.card.media`, file: body.card.media }] : [];
  const cards = body.type === 'CAROUSEL' ? body.cards : [];
  return cards.flatMap(({ media }, i) => (media ? [{ at: `${path}.cards[${i}].media`, file: media }] : []));
}

/** Those that are the account's own. */
export const filesOfBody = (body: RcsBody, path = 'body'): WantedFile[] =>
  filesIn(body, path).flatMap(({ at, file: { mediaId: id } }) =>
    id === undefined ? [] : [{ field: `${at}.mediaId`, id }],
  );

/** What is wrong with a body that its schema cannot judge: fields and sentences. */
export function faultsOfBody(body: RcsBody, path = 'body'): { field: string; message: string }[] {
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
  const tooLong = Buffer.byteLength(JSON.stringify(body)) > MOST_OCTETS;
  return tooLong ? [...faults, { field: path, message: 'must be at most 250,000 octets long' }] : faults;
}

type Json = { readonly [key: string]: unknown };

/** The network's `contentMessage`. */
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
  fileUrl: file.mediaId === undefined ? file.url : referenceTo(file.mediaId),
  ...(file.thumbnailUrl !== undefined && { thumbnailUrl: file.thumbnailUrl }),
  ...(file.forceRefresh !== undefined && { forceRefresh: file.forceRefresh }),
});
