import { Button, Group, NativeSelect, Stack, Text, TextInput } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { FileText, Send } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { EmptyState } from '../../ui/empty-state.tsx';
import { ErrorState } from '../../ui/error-state.tsx';
import { MessageText } from '../../ui/message/message-text.tsx';
import { TableSkeleton } from '../../ui/table/table-skeleton.tsx';
import { Problem } from './answer-form.tsx';
import classes from '../inbox.module.css';
import { type Reply, useReply } from './reply.ts';
import { toMessageTemplate, listTemplates, type Template, textOf, needsHeaderLink } from './template.ts';

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
          {because !== undefined && (
            <Text size="sm" c="dimmed">
              {because}
            </Text>
          )}
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
