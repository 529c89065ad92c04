import {
  ActionIcon,
  Alert,
  Button,
  Grid,
  Group,
  NativeSelect,
  SegmentedControl,
  Skeleton,
  Stack,
  Text,
  Textarea,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Braces, ChevronLeft, ChevronRight } from 'lucide-react';
import { type ReactNode, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../api/load.ts';
import { fieldOf, senderQuery, templateQuery } from '../api/networks.ts';
import { CompletionList, useOptions, useTextAndCaret } from '../ui/completion.tsx';
import { useFormat } from '../ui/format.ts';
import { PartsCounter, PhonePreview } from '../ui/message.tsx';
import { ErrorState, OnDemand, Section } from '../ui/parts.tsx';
import { Facts, Money, useFieldName } from '../ui/values.tsx';
import { type Channel, chainOf } from './campaign.ts';
import { type Draft, ENCODINGS } from './draft.ts';
import {
  completePlaceholder,
  type Field,
  type FieldPaneProps,
  fieldsQuery,
  type OpenPlaceholder,
  openPlaceholderAt,
} from './field-pane.tsx';
import { MAX_OFFSET, type Preview, priceOf, type Sample, usePartsOf, usePreview } from './preview.tsx';
import type { DraftForm } from './use-editor.ts';

type SamplePreviewProps = {
  readonly draft: Draft;
  readonly preview: ReturnType<typeof usePreview>;
  readonly at: number;
  readonly onMove: (at: number) => void;
};

/** Messages to one recipient on each channel, starting with SMS. */
function SamplePreview({ draft, preview: { data, error, refetch }, at, onMove }: SamplePreviewProps) {
  const { t } = useTranslation('campaigns');
  const chain = chainOf(draft.sendingMode);
  const [wanted, setWanted] = useState<Channel | null>(null);
  const usual = chain.includes('SMS') ? 'SMS' : (chain[0] ?? 'SMS');
  const channel = wanted !== null && chain.includes(wanted) ? wanted : usual;
  const sender = useSenderName(draft, channel);
  if (error !== null && data === undefined) return <ErrorState error={error} onRetry={() => void refetch()} />;
  if (data === undefined) return <Skeleton h={380} />;
  const sample = data.data[0];
  const step = sample?.steps.find((each) => each.channel === channel);
  return (
    <Stack gap="sm">
      {chain.length > 1 && (
        <SegmentedControl
          aria-label={t('text.channel')}
          data={chain.map((value) => ({ value, label: t(`ui:channel.${value}`) }))}
          value={channel}
          onChange={setWanted}
        />
      )}
      <Mover sample={sample} total={data.total} at={at} onMove={onMove} />
      <PhonePreview channel={channel} sender={sender} text={step?.text ?? (channel === 'SMS' ? draft.smsBody : '')} />
      {sample && <About sample={sample} channel={channel} currency={data.currency} draft={draft} />}
    </Stack>
  );
}

function useSenderName(draft: Draft, channel: Channel): string {
  const network = channel === 'RCS' ? 'RCS' : 'WHATSAPP';
  const { data = [] } = useQuery({ ...senderQuery(network), enabled: channel !== 'SMS' });
  if (channel === 'SMS') return draft.smsSender;
  const id = channel === 'RCS' ? draft.rcsAgentId : draft.whatsappPhoneNumberId;
  return data.find(({ value }) => value === id)?.label ?? '';
}

type MoverProps = Pick<SamplePreviewProps, 'at' | 'onMove'> & {
  readonly sample: Sample | undefined;
  readonly total: Preview['total'];
};

function Mover({ sample, total, at, onMove }: MoverProps) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  if (sample === undefined)
    return (
      <Text size="sm" c="dimmed" ta="center">
        {t('text.nobody')}
      </Text>
    );
  return (
    <Group justify="space-between" wrap="nowrap">
      <ActionIcon variant="default" aria-label={t('text.previous')} disabled={at === 0} onClick={() => onMove(at - 1)}>
        <ChevronLeft size={16} />
      </ActionIcon>
      <Stack gap={0} ta="center" style={{ minWidth: 0 }} role="status">
        <Text size="sm" fw={500} truncate dir="auto">
          {sample.name || sample.phoneNumber || t('samples.unnamed')}
        </Text>
        <Text size="xs" c="dimmed" className="tabular">
          {t('text.place', { place: format.number(at + 1), total: format.number(total) })}
        </Text>
      </Stack>
      <ActionIcon
        variant="default"
        aria-label={t('text.next')}
        disabled={at + 1 >= total || at >= MAX_OFFSET}
        onClick={() => onMove(at + 1)}
      >
        <ChevronRight size={16} />
      </ActionIcon>
    </Group>
  );
}

type AboutProps = {
  readonly sample: Sample;
  readonly channel: Channel;
  readonly currency: string;
  readonly draft: Draft;
};

/** Returns the note shown as long as there is no text: on SMS it is typed, elsewhere it comes from a template. */
const emptyOf = (channel: Channel): string => (channel === 'SMS' ? 'text.empty' : 'text.emptyTemplate');

/** The fields that this channel's text uses and the recipient does not have. */
function useLacking({ missing }: Sample, channel: Channel, draft: Draft): readonly string[] {
  const network = channel === 'RCS' ? 'RCS' : 'WHATSAPP';
  const { data = [] } = useQuery({ ...templateQuery(network), enabled: channel !== 'SMS' });
  if (channel === 'SMS')
    return missing.filter((name) => draft.smsBody.includes(`{{${name}}}`) || draft.smsBody.includes(`{{${name}|`));
  const id = channel === 'RCS' ? draft.rcsTemplateId : draft.whatsappTemplateId;
  const used = data.find(({ value }) => value === id)?.variables.map(fieldOf) ?? [];
  return missing.filter((name) => used.includes(name));
}

/** Price and parts of this recipient's message, and the values it lacks. */
function About({ sample, channel, currency, draft }: AboutProps) {
  const { t } = useTranslation('campaigns');
  const format = useFormat();
  const step = sample.steps.find((each) => each.channel === channel);
  const price = step && priceOf(step);
  const isEmpty = sample.skip === 'text' && step?.text === '';
  const lacking = useLacking(sample, channel, draft);
  return (
    <Stack gap="xs">
      {sample.skip !== null && (
        <Alert color="amber">
          {isEmpty ? t(emptyOf(channel)) : t('text.skipped', { reason: t(`skip.${sample.skip}`) })}
        </Alert>
      )}
      {sample.skip === null && step?.reachable === false && (
        <Alert color="amber">{t(step.text === '' ? emptyOf(channel) : 'text.unreachable')}</Alert>
      )}
      {lacking.length > 0 && <Alert color="amber">{t('text.missing', { fields: format.list(lacking) })}</Alert>}
      <Facts
        facts={[
          {
            label: t('text.price'),
            value: price === null || price === undefined ? '–' : <Money amount={price} currency={currency} />,
          },
          ...(channel === 'SMS' && step ? [{ label: t('text.parts'), value: format.number(step.parts) }] : []),
        ]}
      />
    </Stack>
  );
}

const MAX_LENGTH = 5000;

type TextEditorProps = {
  readonly value: string;
  readonly error?: ReactNode;
  /** The previewed recipient; null if it is a number that is no contact. */
  readonly contactId: number | null;
  readonly onChange: (text: string) => void;
};

/**
 * A text area in which `{{` offers contact fields. Arrow keys, Enter, Tab or a click choose one; Escape closes the
 * list.
 */
function TextEditor({ value, error, contactId, onChange }: TextEditorProps) {
  const { t } = useTranslation('campaigns');
  const { data: fields = [] } = useQuery(fieldsQuery);
  const area = useRef<HTMLTextAreaElement>(null);
  const insert = useTextAndCaret(area, onChange);
  const { entries, options, close, look } = useCompletion(fields, (typed, name) =>
    insert(completePlaceholder(value, typed, name)),
  );
  return (
    <Stack gap="xs">
      <div style={{ position: 'relative' }}>
        <Textarea
          ref={area}
          label={t('text.label')}
          description={t('text.labelHint')}
          withAsterisk
          autosize
          minRows={6}
          maxRows={16}
          maxLength={MAX_LENGTH}
          value={value}
          error={error}
          dir="auto"
          {...options.field}
          onChange={(event) => {
            onChange(event.currentTarget.value);
            look(event.currentTarget);
          }}
          onClick={(event) => look(event.currentTarget)}
          onKeyDown={options.onKeyDown}
          onBlur={close}
        />
        {entries.length > 0 && <CompletionList label={t('text.fields')} entries={entries} options={options} />}
      </div>
      <Group>
        <FieldInsert
          fields={fields}
          contactId={contactId}
          onInsert={(placeholder) => {
            const at = area.current?.selectionEnd ?? value.length;
            insert({ text: value.slice(0, at) + placeholder + value.slice(at), caret: at + placeholder.length });
          }}
        />
      </Group>
    </Stack>
  );
}

/** The fields that complete the placeholder at the caret. */
function useCompletion(fields: readonly Field[], insert: (typed: OpenPlaceholder, name: string) => void) {
  const fieldName = useFieldName();
  const [typed, setTyped] = useState<OpenPlaceholder | null>(null);
  const wanted = typed?.name.toLowerCase() ?? '';
  const entries = (typed === null ? [] : fields)
    .map(({ name, description }) => ({ key: name, name: fieldName(name), detail: description || `{{${name}}}` }))
    .filter(({ key, name }) => `${key} ${name}`.toLowerCase().includes(wanted));
  const close = (): void => setTyped(null);
  const options = useOptions(
    entries.map(({ key }) => key),
    {
      onChoose: (at) => {
        if (typed !== null) insert(typed, entries[at]?.key ?? '');
        close();
      },
      onClose: close,
    },
  );
  const look = ({ value, selectionEnd }: HTMLTextAreaElement): void => setTyped(openPlaceholderAt(value, selectionEnd));
  return { entries, options, close, look };
}

/** The step for the SMS text with contact fields, next to a preview for each recipient. */
export function TextStep({ form }: { readonly form: DraftForm }) {
  const { t } = useTranslation('campaigns');
  const [at, setAt] = useState(0);
  const draft = form.getValues();
  const preview = usePreview(draft, { limit: 1, offset: at });
  const sample = preview.data?.data[0];
  const hasText = chainOf(draft.sendingMode).includes('SMS');
  return (
    <Grid mt="md" gap="md">
      <Grid.Col span={{ base: 12, md: 7 }}>
        <Section title={t('text.title')} description={hasText ? t('text.hint') : t('text.templates')}>
          {hasText && (
            <Stack gap="xs">
              <TextEditor
                value={draft.smsBody}
                error={form.errors['smsBody']}
                contactId={sample?.contactId ?? null}
                onChange={(text) => form.setFieldValue('smsBody', text)}
              />
              <Length text={textOf(sample) ?? draft.smsBody} form={form} />
              <NativeSelect
                label={t('encoding.label')}
                data={ENCODINGS.map((value) => ({ value, label: t(`encoding.${value}`) }))}
                {...form.getInputProps('encoding')}
              />
            </Stack>
          )}
          <TemplateNote form={form} />
        </Section>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 5 }}>
        <Section title={t('text.preview')} description={t('text.previewHint')}>
          <SamplePreview draft={draft} preview={preview} at={at} onMove={setAt} />
        </Section>
      </Grid.Col>
    </Grid>
  );
}

const textOf = (sample: Sample | undefined): string | undefined =>
  sample?.steps.find(({ channel }) => channel === 'SMS')?.text;

type LengthProps = { readonly text: string; readonly form: DraftForm };

/**
 * The length of the text as the previewed recipient would read it, since field values change the length; and a button that
 * shortens it, if it only needs Unicode for quotes, dashes and spaces.
 */
function Length({ text, form }: LengthProps) {
  const { t } = useTranslation('campaigns');
  const { data } = usePartsOf(text);
  const isLong = data?.encoding === 'UCS-2' && form.getValues().encoding === 'auto';
  const { data: smart, isPlaceholderData } = usePartsOf(isLong ? text : '', 'smart');
  if (text === '' || data === undefined) return null;
  const saved = !isLong || isPlaceholderData ? 0 : (data.parts ?? 0) - (smart?.parts ?? data.parts ?? 0);
  return (
    <Group gap="md">
      <PartsCounter {...data} />
      {saved > 0 && (
        <Button size="compact-xs" variant="light" onClick={() => form.setFieldValue('encoding', 'smart')}>
          {t('encoding.replace', { count: saved })}
        </Button>
      )}
    </Group>
  );
}

function TemplateNote({ form }: { readonly form: DraftForm }) {
  const { t } = useTranslation('campaigns');
  const { sendingMode, whatsappTemplateId, rcsTemplateId } = form.getValues();
  const lacking = chainOf(sendingMode).filter(
    (channel) => (channel === 'WHATSAPP' && whatsappTemplateId === '') || (channel === 'RCS' && rcsTemplateId === ''),
  );
  if (lacking.length === 0) return null;
  return (
    <Alert color="amber">
      {lacking.map((channel) => (
        <Text key={channel} size="sm">
          {t('text.noTemplate', { channel: t(`ui:channel.${channel}`) })}
        </Text>
      ))}
    </Alert>
  );
}

const LazyPane = lazyPart(() => import('./field-pane.tsx').then(({ FieldPane }) => ({ default: FieldPane })));

/** Button that inserts a contact field, with an optional default, at the caret. */
function FieldInsert(props: Omit<FieldPaneProps, 'button'>) {
  const { t } = useTranslation('campaigns');
  const button = (
    <Button variant="default" size="xs" leftSection={<Braces size={14} />}>
      {t('text.insert')}
    </Button>
  );
  return (
    <OnDemand button={button} kind="dialog">
      <LazyPane {...props} button={button} />
    </OnDemand>
  );
}
