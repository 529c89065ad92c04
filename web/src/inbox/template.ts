import { api, ok } from '../api/client.ts';

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

/** What the person would read; nothing while a value is missing. */
export const previewTemplate = (filled: Filled) =>
  ok(
    api.POST('/api/partner-gateway/v1/messages/preview', {
      body: { channel: 'WHATSAPP', template: filledIn(filled) },
    }),
  );
