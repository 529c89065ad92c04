import { api, ok } from '../../api/client.ts';
import { fillPlaceholders } from '../../ui/values/placeholders.ts';

/** The maximum number of options; others are found by searching. */
const MAX_TEMPLATES = 50;

export const listTemplates = (search: string, signal: AbortSignal) =>
  ok(
    api.GET('/api/message-server/whatsapp/templates', {
      params: { query: { status: 'APPROVED', limit: MAX_TEMPLATES, ...(search !== '' && { search }) } },
      signal,
    }),
  );
export type Template = Awaited<ReturnType<typeof listTemplates>>['data'][number];

const HEADERS_WITH_FILE: readonly unknown[] = ['IMAGE', 'VIDEO', 'DOCUMENT'];

/** Returns true if the header is a file, for which each message can give a link. */
export const needsHeaderLink = ({ components }: Template): boolean =>
  components.some((component) => {
    const { type, format }: { type?: unknown; format?: unknown } = component;
    return type === 'HEADER' && HEADERS_WITH_FILE.includes(format);
  });

type Filled = { readonly template: Template; readonly values: readonly string[]; readonly headerLink: string };

/** The template with its values, in the format of a message. */
export const toMessageTemplate = ({ template, values, headerLink }: Filled) => ({
  id: template.id,
  ...(template.placeholders.length > 0 && { variables: [...values] }),
  ...(headerLink !== '' && { headerLink }),
});

/** The text of header, body and footer with the values filled in; missing values keep their placeholder. */
export function textOf({ template, values }: Pick<Filled, 'template' | 'values'>): string {
  const given = new Map(template.placeholders.map((label, at) => [label, values[at]?.trim() ?? '']));
  return ['HEADER', 'BODY', 'FOOTER']
    .map((place) => {
      const text = template.components.map((component) => partOf(component, place)).join('');
      return fillPlaceholders(text, (name) => given.get(place === 'HEADER' ? `header.${name}` : name));
    })
    .filter((text) => text !== '')
    .join('\n\n');
}

function partOf(component: { readonly type?: unknown; readonly text?: unknown }, place: string): string {
  return component.type === place && typeof component.text === 'string' ? component.text : '';
}
