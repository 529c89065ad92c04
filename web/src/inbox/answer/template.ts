import { api, ok } from '../../api/client.ts';

/** As many as a list of choices can show; more are found by typing. */
const MOST = 50;

export const listTemplates = (search: string, signal: AbortSignal) =>
  ok(
    api.GET('/api/message-server/whatsapp/templates', {
      params: { query: { status: 'APPROVED', limit: MOST, ...(search !== '' && { search }) } },
      signal,
    }),
  );
export type Template = Awaited<ReturnType<typeof listTemplates>>['data'][number];

const HEADERS_WITH_FILE: readonly unknown[] = ['IMAGE', 'VIDEO', 'DOCUMENT'];

/** Whether the header is a file, which each message names by a link. */
export const wantsLink = ({ components }: Template): boolean =>
  components.some((component) => {
    const { type, format }: { type?: unknown; format?: unknown } = component;
    return type === 'HEADER' && HEADERS_WITH_FILE.includes(format);
  });

type Filled = { readonly template: Template; readonly values: readonly string[]; readonly headerLink: string };

/** As a message names it. */
export const filledIn = ({ template, values, headerLink }: Filled) => ({
  id: template.id,
  ...(template.placeholders.length > 0 && { variables: [...values] }),
  ...(headerLink !== '' && { headerLink }),
});

/** What the person will read: the texts of header, body and footer; a value that is missing stays its placeholder. */
export function textOf({ template, values }: Pick<Filled, 'template' | 'values'>): string {
  const given = new Map(template.placeholders.map((label, at) => [label, values[at]?.trim() ?? '']));
  return ['HEADER', 'BODY', 'FOOTER']
    .map((place) => {
      const text = template.components.map((component) => partOf(component, place)).join('');
      return text.replaceAll(/\{\{\s*([^{}|]+?)\s*\}\}/g, (whole, name: string) => {
        const label = place === 'HEADER' ? `header.${name}` : name;
        return given.get(label) || whole;
      });
    })
    .filter((text) => text !== '')
    .join('\n\n');
}

function partOf(component: { readonly type?: unknown; readonly text?: unknown }, place: string): string {
  return component.type === place && typeof component.text === 'string' ? component.text : '';
}
