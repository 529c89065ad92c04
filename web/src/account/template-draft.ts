import { api, ok } from '../api/client.ts';
import { placeholderNames } from '../ui/values/placeholders.ts';
import { MS } from './account.ts';
import type { TemplateChannel } from './template.ts';

/** The values of the form for a new template. */
export type TemplateDraft = {
  readonly phoneNumberId: string;
  readonly name: string;
  readonly language: string;
  readonly category: string;
  readonly header: string;
  readonly text: string;
  readonly footer: string;
  /** The contact field for each placeholder, by the placeholder's name. */
  readonly fields: Readonly<Record<string, string>>;
  readonly examples: Readonly<Record<string, string>>;
  /** Suggested replies, one per line. */
  readonly replies: string;
};

export const EMPTY_DRAFT: TemplateDraft = {
  phoneNumberId: '',
  name: '',
  language: 'en',
  category: 'UTILITY',
  header: '',
  text: '',
  footer: '',
  fields: {},
  examples: {},
  replies: '',
};

export const CATEGORIES = ['UTILITY', 'MARKETING', 'AUTHENTICATION'] as const;
const NUMBER = /^\d+$/;

/** The placeholder names of a text, each once; numbered ones in numeric order. */
export function placeholdersIn(text: string): string[] {
  const names = [...new Set(placeholderNames(text))];
  return names.every((name) => NUMBER.test(name)) ? names.sort((a, b) => Number(a) - Number(b)) : names;
}

export const repliesIn = (lines: string): string[] =>
  lines
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

export const createTemplate = (channel: TemplateChannel, draft: TemplateDraft): Promise<unknown> =>
  channel === 'RCS' ? createRcs(draft) : createWhatsapp(draft);

const createRcs = ({ name, text, replies }: TemplateDraft) =>
  ok(
    api.POST(`${MS}/rcs/templates`, {
      body: {
        name: name.trim(),
        body: {
          type: 'TEXT',
          text,
          suggestions: repliesIn(replies).map((reply) => ({ reply: { text: reply, postbackData: reply } })),
        },
      },
    }),
  );

function createWhatsapp(draft: TemplateDraft) {
  const { phoneNumberId, name, language, category, text, fields } = draft;
  const names = placeholdersIn(text);
  const body = {
    phoneNumberId,
    name: name.trim(),
    language: language.trim(),
    category: CATEGORIES.find((each) => each === category) ?? 'UTILITY',
    components: componentsOf(draft),
    ...(names.some((each) => !NUMBER.test(each)) && { parameterFormat: 'NAMED' as const }),
    ...(names.every((each) => fields[each]) && { variables: names.map((each) => fields[each] ?? '') }),
  };
  return ok(api.POST(`${MS}/whatsapp/templates`, { body }));
}

/** The components of a WhatsApp template in Meta's format. */
const componentsOf = ({ header, text, footer, examples }: TemplateDraft) => [
  ...(header.trim() === '' ? [] : [{ type: 'HEADER', format: 'TEXT', text: header.trim() }]),
  { type: 'BODY', text, ...exampleOf(text, examples) },
  ...(footer.trim() === '' ? [] : [{ type: 'FOOTER', text: footer.trim() }]),
];

/** The network requires an example for each placeholder. */
function exampleOf(text: string, examples: TemplateDraft['examples']) {
  const names = placeholdersIn(text);
  if (names.length === 0) return {};
  if (names.every((name) => NUMBER.test(name)))
    return { example: { body_text: [names.map((name) => examples[name] ?? name)] } };
  const named = names.map((name) => ({ param_name: name, example: examples[name] ?? name }));
  return { example: { body_text_named_params: named } };
}
