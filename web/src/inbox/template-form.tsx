import { Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { FileText, Send } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { MessageText } from '../ui/message.tsx';
import { EmptyState, ErrorState, Muted, TableSkeleton } from '../ui/parts.tsx';
import { fillPlaceholders } from '../ui/values.tsx';
import { Problem, type Reply, useReply } from './answer-form.tsx';
import classes from './inbox.module.css';

const TYPING_MS = 300;

type TemplateFormProps = {
  /** The conversation, or the recipient of a new one. */
  readonly target: Pick<Reply, 'chatId' | 'channel' | 'destination' | 'channelIdentity'>;
  /** Reason why the template cannot be sent yet, as a sentence. */
  readonly disabledReason?: string | undefined;
  readonly onSent: (chatId: string) => void;
};

/** The form for an approved template: its values, a preview and the send button. */
export function TemplateForm(props: TemplateFormProps) {
  const { t } = useTranslation('inbox');
  const [search, setSearch] = useState('');
  const [settled] = useDebouncedValue(search, TYPING_MS);
  const [chosen, setChosen] = useState('');
  const templates = useQuery({
    queryKey: ['whatsapp-templates', 'approved', settled],
    queryFn: ({ signal }) => listTemplates(settled, signal),
    placeholderData: keepPreviousData,
  });
  if (templates.isError) return <ErrorState error={templates.error} onRetry={() => void templates.refetch()} />;
  if (templates.isPending) return <TableSkeleton rows={3} />;
  const { data, total } = templates.data;
  if (total === 0 && settled === '')
    return <EmptyState icon={FileText} title={t('template.none')} text={t('template.noneText')} />;
  const template = data.find(({ id }) => id === chosen) ?? data[0];
  return (
    <Stack>
      {(total > data.length || settled !== '') && (
        <TextInput
          label={t('template.search')}
          value={search}
          onChange={(event) => setSearch(event.currentTarget.value)}
        />
      )}
      <NativeSelect
        label={t('template.choose')}
        data={data.map(({ id, name, language }) => ({ value: id, label: `${name} (${language})` }))}
        value={template?.id ?? ''}
        onChange={(event) => setChosen(event.currentTarget.value)}
      />
      {template && <Values key={template.id} template={template} {...props} />}
    </Stack>
  );
}

function Values({
  template,
  target,
  disabledReason: because,
  onSent,
}: TemplateFormProps & { readonly template: Template }) {
  const { t } = useTranslation('inbox');
  const [values, setValues] = useState<readonly string[]>(() => template.placeholders.map(() => ''));
  const [headerLink, setHeaderLink] = useState('');
  const reply = useReply(onSent);
  const isLinked = needsHeaderLink(template);
  const isFilled =
    values.every((value) => value.trim() !== '') && (!isLinked || headerLink !== '' || template.headerLink !== null);
  const filled = { template, values, headerLink };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (isFilled && because === undefined) reply.run({ ...target, template: toMessageTemplate(filled) });
      }}
    >
      <Stack>
        {template.placeholders.map((label, at) => (
          <TextInput
            key={label}
            required
            label={t('template.value', { label })}
            maxLength={1024}
            value={values[at] ?? ''}
            onChange={({ currentTarget: { value } }) => setValues(values.with(at, value))}
          />
        ))}
        {isLinked && (
          <TextInput
            type="url"
            required={template.headerLink === null}
            label={t('template.headerLink')}
            description={template.headerLink === null ? undefined : t('template.headerKept')}
            value={headerLink}
            onChange={(event) => setHeaderLink(event.currentTarget.value)}
          />
        )}
        <Preview template={template} values={values} />
        {reply.error !== null && <Problem error={reply.error} />}
        <Group justify="flex-end">
          {because !== undefined && <Muted>{because}</Muted>}
          <Button
            type="submit"
            rightSection={<Send size={16} />}
            loading={reply.busy}
            disabled={!isFilled || because !== undefined}
          >
            {t('template.send')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

type PreviewProps = { readonly template: Template; readonly values: readonly string[] };

function Preview(filled: PreviewProps) {
  const { t } = useTranslation('inbox');
  return (
    <div role="group" aria-label={t('template.preview')}>
      <Text size="sm" fw={500} mb={4}>
        {t('template.preview')}
      </Text>
      <div className={classes.bubble} data-ours="true" data-preview="true">
        <MessageText text={textOf(filled)} />
      </div>
    </div>
  );
}

/** The maximum number of options; others are found by searching. */
const MAX_TEMPLATES = 50;

const listTemplates = (search: string, signal: AbortSignal) =>
  ok(
    api.GET('/api/message-server/whatsapp/templates', {
      params: { query: { status: 'APPROVED', limit: MAX_TEMPLATES, ...(search !== '' && { search }) } },
      signal,
    }),
  );
type Template = Awaited<ReturnType<typeof listTemplates>>['data'][number];

const HEADERS_WITH_FILE: readonly unknown[] = ['IMAGE', 'VIDEO', 'DOCUMENT'];

/** Returns true if the header is a file, for which each message can give a link. */
const needsHeaderLink = ({ components }: Template): boolean =>
  components.some((component) => {
    const { type, format }: { type?: unknown; format?: unknown } = component;
    return type === 'HEADER' && HEADERS_WITH_FILE.includes(format);
  });

type Filled = { readonly template: Template; readonly values: readonly string[]; readonly headerLink: string };

/** The template with its values, in the format of a message. */
const toMessageTemplate = ({ template, values, headerLink }: Filled) => ({
  id: template.id,
  ...(template.placeholders.length > 0 && { variables: [...values] }),
  ...(headerLink !== '' && { headerLink }),
});

/** The text of header, body and footer with the values filled in; missing values keep their placeholder. */
function textOf({ template, values }: Pick<Filled, 'template' | 'values'>): string {
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
