import { Code, Group, NativeSelect, SimpleGrid, Stack, Textarea, TextInput } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import type { ListSearch } from '../ui/data-table.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { PhonePreview } from '../ui/message.tsx';
import { Muted } from '../ui/parts.tsx';
import { placeholderNames, type Tone } from '../ui/values.tsx';
import { MS, numbersQuery, PG } from './account.tsx';

/** Dialog that creates a template: on WhatsApp for approval, on RCS immediately. */
export function TemplateDialog({ channel }: { readonly channel: TemplateChannel }) {
  const { t } = useTranslation('account');
  return (
    <FormDialog<TemplateDraft, unknown>
      title={t(`template.title.${channel}`)}
      size="xl"
      values={EMPTY_DRAFT}
      validate={{
        name: (name) => (name.trim() === '' ? t('template.missing') : null),
        text: (text) => (text.trim() === '' ? t('template.missing') : null),
        phoneNumberId: (id) => (channel === 'WHATSAPP' && id === '' ? t('template.missing') : null),
      }}
      run={(draft) => createTemplate(channel, draft)}
      refresh={[['templates']]}
      done={t(`template.made.${channel}`)}
      action={t(`template.submit.${channel}`)}
    >
      {(form) => {
        const { header, text, footer, replies } = form.values;
        return (
          <SimpleGrid cols={{ base: 1, sm: 2 }} spacing="lg">
            <Stack>{channel === 'WHATSAPP' ? <WhatsappFields form={form} /> : <RcsFields form={form} />}</Stack>
            <div>
              <PhonePreview
                channel={channel}
                sender=""
                title={header || undefined}
                text={[text, footer].filter((each) => each.trim() !== '').join('\n\n')}
                buttons={channel === 'RCS' ? repliesIn(replies) : []}
              />
            </div>
          </SimpleGrid>
        );
      }}
    </FormDialog>
  );
}

type FieldsProps = { readonly form: UseFormReturnType<TemplateDraft> };

function WhatsappFields({ form }: FieldsProps) {
  const { t } = useTranslation('account');
  const { data } = useQuery(numbersQuery);
  const numbers = (data?.data ?? []).map(({ phoneNumberId, displayPhoneNumber, verifiedName }) => ({
    value: phoneNumberId,
    label: [verifiedName, displayPhoneNumber].filter(Boolean).join(' · ') || phoneNumberId,
  }));
  return (
    <>
      <Muted>{t('template.approval')}</Muted>
      <NativeSelect
        label={t('template.number')}
        data={[{ value: '', label: t('template.chooseNumber') }, ...numbers]}
        {...form.getInputProps('phoneNumberId')}
      />
      <TextInput
        label={t('column.name')}
        description={t('template.nameHint')}
        maxLength={512}
        {...form.getInputProps('name')}
      />
      <SimpleGrid cols={2}>
        <TextInput label={t('column.language')} placeholder="en_GB" {...form.getInputProps('language')} />
        <NativeSelect
          label={t('column.category')}
          data={CATEGORIES.map((value) => ({ value, label: t(`category.${value}`) }))}
          {...form.getInputProps('category')}
        />
      </SimpleGrid>
      <TextInput label={t('template.header')} maxLength={60} {...form.getInputProps('header')} />
      <Textarea
        label={t('template.text')}
        description={t('template.textHint', { skipInterpolation: true })}
        autosize
        minRows={3}
        maxLength={1024}
        {...form.getInputProps('text')}
      />
      <PlaceholderFields form={form} />
      <TextInput label={t('template.footer')} maxLength={60} {...form.getInputProps('footer')} />
    </>
  );
}

function RcsFields({ form }: FieldsProps) {
  const { t } = useTranslation('account');
  return (
    <>
      <TextInput label={t('column.name')} maxLength={200} data-autofocus {...form.getInputProps('name')} />
      <Textarea
        label={t('template.text')}
        description={t('template.rcsHint', { skipInterpolation: true })}
        autosize
        minRows={4}
        maxLength={3072}
        {...form.getInputProps('text')}
      />
      <Textarea
        label={t('template.replies')}
        description={t('template.repliesHint')}
        autosize
        minRows={2}
        {...form.getInputProps('replies')}
      />
    </>
  );
}

export const CHANNELS = ['WHATSAPP', 'RCS'] as const;
export type TemplateChannel = (typeof CHANNELS)[number];
export const STATES = ['APPROVED', 'PENDING', 'REJECTED', 'PAUSED'] as const;

/** The network may report further statuses, which get a neutral tone. */
export const TONES: Readonly<Record<string, Tone>> = {
  APPROVED: 'good',
  PENDING: 'progress',
  IN_APPEAL: 'progress',
  REJECTED: 'bad',
  DISABLED: 'bad',
  PAUSED: 'paused',
  DELETED: 'neutral',
};

type Search = ListSearch & { readonly q: string; readonly status: string };

const queryOf = ({ page, limit, q, status }: Search) => ({
  page,
  limit,
  ...(q !== '' && { search: q }),
  ...(status !== '' && { status }),
});

const listWhatsapp = (search: Search, signal: AbortSignal) =>
  ok(api.GET(`${MS}/whatsapp/templates`, { params: { query: queryOf(search) }, signal }));
const listRcs = (search: Search, signal: AbortSignal) =>
  ok(api.GET(`${MS}/rcs/templates`, { params: { query: queryOf(search) }, signal }));

type WhatsappTemplate = Awaited<ReturnType<typeof listWhatsapp>>['data'][number];
type RcsTemplate = Awaited<ReturnType<typeof listRcs>>['data'][number];

/** A template of either channel; fields that RCS templates lack are null. */
export type Template = Pick<
  RcsTemplate,
  'id' | 'name' | 'status' | 'placeholders' | 'variables' | 'common' | 'updatedAt'
> & {
  readonly channel: TemplateChannel;
  readonly language: string | null;
  readonly category: string | null;
  /** Reason why the network rejected or paused it. */
  readonly reason: string | null;
  /** The network's rating of people's reactions to it. */
  readonly quality: 'GREEN' | 'YELLOW' | 'RED' | 'UNKNOWN' | null;
  readonly content: Content;
};

/** The text that a recipient reads. */
type Content = {
  readonly title: string;
  readonly text: string;
  readonly footer: string;
  readonly buttons: readonly string[];
};

export async function listTemplates(channel: TemplateChannel, search: Search, signal: AbortSignal) {
  if (channel === 'RCS') {
    const page = await listRcs(search, signal);
    return { ...page, data: page.data.map(fromRcs) };
  }
  const page = await listWhatsapp(search, signal);
  return { ...page, data: page.data.map(fromWhatsapp) };
}

const fromWhatsapp = (template: WhatsappTemplate): Template => ({
  ...template,
  channel: 'WHATSAPP',
  content: {
    title: textOf(partOf(template.components, 'HEADER'), 'text'),
    text: textOf(partOf(template.components, 'BODY'), 'text'),
    footer: textOf(partOf(template.components, 'FOOTER'), 'text'),
    buttons: listOf(partOf(template.components, 'BUTTONS'), 'buttons').map((button) => textOf(button, 'text')),
  },
});

const fromRcs = (template: RcsTemplate): Template => {
  const { content } = template;
  const card = memberOf(memberOf(memberOf(content, 'richCard'), 'standaloneCard'), 'cardContent');
  const chips = listOf(content, 'suggestions').map((each) => memberOf(each, 'reply') ?? memberOf(each, 'action'));
  return {
    ...template,
    channel: 'RCS',
    language: null,
    category: null,
    reason: null,
    quality: null,
    content: {
      title: textOf(card, 'title'),
      text: textOf(content, 'text') || textOf(card, 'description'),
      footer: '',
      buttons: chips.map((chip) => textOf(chip, 'text')),
    },
  };
};

/** A member of a JSON value from a network, whose format is not guaranteed; undefined if there is none. */
function memberOf(json: unknown, name: string): unknown {
  return typeof json === 'object' && json !== null ? Reflect.get(json, name) : undefined;
}

function textOf(json: unknown, name: string): string {
  const value = memberOf(json, name);
  return typeof value === 'string' ? value : '';
}

function listOf(json: unknown, name: string): readonly unknown[] {
  const value = memberOf(json, name);
  return Array.isArray(value) ? value : [];
}

const partOf = (components: readonly unknown[], type: string): unknown =>
  components.find((component) => textOf(component, 'type').toUpperCase() === type);

export const deleteTemplate = ({ channel, id }: Template) =>
  channel === 'RCS'
    ? ok(api.DELETE(`${MS}/rcs/templates/{id}`, { params: { path: { id } } }))
    : ok(api.DELETE(`${MS}/whatsapp/templates/{id}`, { params: { path: { id } } }));

/** The values of the form for a new template. */
type TemplateDraft = {
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

const EMPTY_DRAFT: TemplateDraft = {
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

const CATEGORIES = ['UTILITY', 'MARKETING', 'AUTHENTICATION'] as const;
const NUMBER = /^\d+$/;

/** The placeholder names of a text, each once; numbered ones in numeric order. */
function placeholdersIn(text: string): string[] {
  const names = [...new Set(placeholderNames(text))];
  return names.every((name) => NUMBER.test(name)) ? names.sort((a, b) => Number(a) - Number(b)) : names;
}

const repliesIn = (lines: string): string[] =>
  lines
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

const createTemplate = (channel: TemplateChannel, draft: TemplateDraft): Promise<unknown> =>
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

type PlaceholderFieldsProps = { readonly form: UseFormReturnType<TemplateDraft> };

/** For each placeholder of the text: an example for the network, and the contact field that fills it in campaigns. */
function PlaceholderFields({ form }: PlaceholderFieldsProps) {
  const { t } = useTranslation('account');
  const { data = [] } = useQuery({
    queryKey: ['campaigns', 'placeholders'],
    queryFn: ({ signal }) => ok(api.GET(`${PG}/contacts/placeholders`, { signal })),
    enabled: useSession().may({ scope: 'campaigns' }),
  });
  const names = placeholdersIn(form.values.text);
  return (
    <Stack gap="xs">
      {names.map((name) => (
        <Group key={name} gap="xs" align="flex-end" wrap="nowrap">
          <Code mb={8} className="foreign-text">{`{{${name}}}`}</Code>
          <TextInput
            label={t('template.example')}
            aria-label={t('template.exampleOf', { name })}
            value={form.values.examples[name] ?? ''}
            onChange={(event) =>
              form.setFieldValue('examples', { ...form.values.examples, [name]: event.currentTarget.value })
            }
            style={{ flex: 1 }}
          />
          <NativeSelect
            label={t('template.field')}
            aria-label={t('template.fieldOf', { name })}
            data={[
              { value: '', label: t('template.anyField') },
              ...data.map((field) => ({ value: field.name, label: field.name })),
            ]}
            value={form.values.fields[name] ?? ''}
            onChange={(event) =>
              form.setFieldValue('fields', { ...form.values.fields, [name]: event.currentTarget.value })
            }
            style={{ flex: 1 }}
          />
        </Group>
      ))}
    </Stack>
  );
}
