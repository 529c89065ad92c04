import {
  ActionIcon,
  Alert,
  Button,
  Grid,
  Group,
  NativeSelect,
  Paper,
  SegmentedControl,
  Skeleton,
  Stack,
  Text,
  Textarea,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Braces, ChevronLeft, ChevronRight } from 'lucide-react';
import { type KeyboardEvent, type ReactNode, type RefObject, useId, useRef, useState } from 'react';
import { flushSync } from 'react-dom';
import { useTranslation } from 'react-i18next';
import { lazyPart } from '../api/load.ts';
import { fieldOf, senderQuery, templateQuery } from '../api/networks.ts';
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
import classes from './text-editor.module.css';
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
  const id = useId();
  const area = useRef<HTMLTextAreaElement>(null);
  const insert = useInsert(area, onChange);
  const completion = useCompletion(fields, (typed, name) => insert(completePlaceholder(value, typed, name)));
  const { shown, active } = completion;
  const isOpen = shown.length > 0;
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
          aria-autocomplete="list"
          aria-haspopup="listbox"
          {...(isOpen && { 'aria-controls': id, 'aria-activedescendant': optionId(id, active) })}
          onChange={(event) => {
            onChange(event.currentTarget.value);
            completion.look(event.currentTarget);
          }}
          onClick={(event) => completion.look(event.currentTarget)}
          onKeyDown={completion.onKeyDown}
          onBlur={completion.close}
        />
        {isOpen && <FieldOptions id={id} fields={shown} active={active} onChoose={completion.choose} />}
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

/** Inserts a text synchronously, so that the caret can be placed behind it. */
function useInsert(area: RefObject<HTMLTextAreaElement | null>, onChange: (text: string) => void) {
  return ({ text, caret }: { readonly text: string; readonly caret: number }): void => {
    flushSync(() => onChange(text));
    area.current?.focus();
    area.current?.setSelectionRange(caret, caret);
  };
}

function useCompletion(fields: readonly Field[], choose: (typed: OpenPlaceholder, name: string) => void) {
  const fieldName = useFieldName();
  const [typed, setTyped] = useState<OpenPlaceholder | null>(null);
  const [active, setActive] = useState(0);
  const wanted = typed?.name.toLowerCase() ?? '';
  const shown =
    typed === null ? [] : fields.filter(({ name }) => `${name} ${fieldName(name)}`.toLowerCase().includes(wanted));
  const close = (): void => setTyped(null);
  const take = (at: number): void => {
    const field = shown[at];
    if (typed !== null && field !== undefined) choose(typed, field.name);
    close();
  };
  const keys: Readonly<Record<string, () => void>> = {
    ArrowDown: () => setActive((active + 1) % shown.length),
    ArrowUp: () => setActive((active + shown.length - 1) % shown.length),
    Enter: () => take(active),
    Tab: () => take(active),
    Escape: close,
  };
  return {
    shown,
    active: Math.min(active, Math.max(0, shown.length - 1)),
    close,
    choose: take,
    look({ value, selectionEnd }: HTMLTextAreaElement): void {
      setTyped(openPlaceholderAt(value, selectionEnd));
      setActive(0);
    },
    onKeyDown(event: KeyboardEvent): void {
      const act = shown.length > 0 ? keys[event.key] : undefined;
      if (act === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      act();
    },
  };
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
              <Length text={textOf(sample) ?? draft.smsBody} />
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

/** The length of the text as the previewed recipient would read it, since field values change the length. */
function Length({ text }: { readonly text: string }) {
  const { data } = usePartsOf(text);
  if (text === '' || data === undefined) return null;
  return <PartsCounter {...data} />;
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

const optionId = (list: string, at: number): string => `${list}-${at}`;

type FieldOptionsProps = {
  readonly id: string;
  readonly fields: readonly Field[];
  readonly active: number;
  readonly onChoose: (at: number) => void;
};

/** The fields that match the typed name. The focus stays in the text area, which refers to the active option. */
function FieldOptions({ id, fields, active, onChoose }: FieldOptionsProps) {
  const { t } = useTranslation('campaigns');
  const fieldName = useFieldName();
  return (
    <Paper className={classes.options} shadow="md" role="listbox" id={id} aria-label={t('text.fields')}>
      {fields.map(({ name, description }, at) => (
        <div
          key={name}
          id={optionId(id, at)}
          role="option"
          aria-selected={at === active}
          className={classes.option}
          // On mousedown rather than click: otherwise the text would lose the focus and the list would close.
          onMouseDown={(event) => {
            event.preventDefault();
            onChoose(at);
          }}
        >
          <Text size="sm" fw={500} component="span">
            {fieldName(name)}
          </Text>
          <Text size="xs" c="dimmed" component="span">
            {description || `{{${name}}}`}
          </Text>
        </div>
      ))}
    </Paper>
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
