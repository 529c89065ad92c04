import { Button, Group, Input, NativeSelect, Radio, SimpleGrid, Stack, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { ImagePlus } from 'lucide-react';
import { useTranslation } from 'react-i18next';
import { sendingQuery } from '../api/data.ts';
import { lazyPart } from '../api/load.ts';
import type { Media } from '../api/media.ts';
import { type Network, type TemplateOption, templateQuery } from '../api/networks.ts';
import { GuardedButton } from '../ui/actions.tsx';
import { openDialog } from '../ui/dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { PartsCounter } from '../ui/message.tsx';
import { ErrorState } from '../ui/parts.tsx';
import { type Channel, type DraftForm, hasText, KINDS } from './draft.ts';
import type { Preview } from './faults.tsx';

type ContentFieldsProps = {
  readonly channel: Channel;
  readonly form: DraftForm;
  readonly template: TemplateOption | undefined;
  readonly preview: Preview | undefined;
};

/** The maximum characters that the API accepts. */
const MAX_LENGTHS = { SMS: 1530, WHATSAPP: 4096, RCS: 3072 } as const;
const MAX_CARD_LENGTHS = 2000;

/** The fields for the content: a text, a template with its values, or a card. */
export function ContentFields({ channel, form, template, preview }: ContentFieldsProps) {
  const { t } = useTranslation('send');
  const isCard = channel === 'RCS' && form.values.RCS.kind === 'card';
  return (
    <Stack gap="md">
      {channel !== 'SMS' && <KindChoice channel={channel} form={form} />}
      {channel !== 'SMS' && form.values[channel].kind === 'template' && (
        <TemplateFields channel={channel} form={form} template={template} />
      )}
      {isCard && <CardFields form={form} />}
      {hasText(channel, form.values) && (
        <Stack gap="xs">
          <Textarea
            label={t(isCard ? 'cardText' : 'text')}
            description={channel === 'WHATSAPP' ? t('windowHint') : undefined}
            withAsterisk={!isCard}
            autosize
            minRows={5}
            maxRows={16}
            maxLength={isCard ? MAX_CARD_LENGTHS : MAX_LENGTHS[channel]}
            dir="auto"
            {...form.getInputProps('text')}
          />
          {channel === 'SMS' && <TextLength form={form} preview={preview} />}
        </Stack>
      )}
      {channel === 'RCS' && form.values.RCS.kind !== 'template' && <Replies form={form} />}
    </Stack>
  );
}

type KindChoiceProps = { readonly channel: 'WHATSAPP' | 'RCS'; readonly form: DraftForm };

function KindChoice({ channel, form }: KindChoiceProps) {
  const { t } = useTranslation('send');
  return (
    <Radio.Group label={t('kind')} {...form.getInputProps(`${channel}.kind`)}>
      <Group mt="xs" gap="lg">
        {KINDS[channel].map((kind) => (
          <Radio key={kind} value={kind} label={t(`kinds.${kind}`)} />
        ))}
      </Group>
    </Radio.Group>
  );
}

function CardFields({ form }: { readonly form: DraftForm }) {
  const { t } = useTranslation('send');
  return (
    <>
      <PictureField form={form} />
      <TextInput label={t('cardTitle')} maxLength={200} dir="auto" {...form.getInputProps('cardTitle')} />
    </>
  );
}

function Replies({ form }: { readonly form: DraftForm }) {
  const { t } = useTranslation('send');
  return (
    <Textarea
      label={t('replies')}
      description={t('repliesHint')}
      autosize
      minRows={2}
      maxRows={4}
      dir="auto"
      {...form.getInputProps('replies')}
    />
  );
}

type TemplateFieldsProps = {
  readonly channel: Network;
  readonly form: DraftForm;
  readonly template: TemplateOption | undefined;
};

/** The fields for an approved template and its values. */
function TemplateFields({ channel, form, template }: TemplateFieldsProps) {
  const { t } = useTranslation('send');
  const { data = [], error, isPending, refetch } = useQuery(templateQuery(channel));
  if (error !== null) return <ErrorState error={error} onRetry={() => void refetch()} />;
  return (
    <>
      <NativeSelect
        label={t('template')}
        description={!isPending && data.length === 0 ? t('noTemplate') : t('templateHint')}
        data={[{ value: '', label: t('choose') }, ...data.map(({ value, label }) => ({ value, label }))]}
        disabled={isPending}
        withAsterisk
        {...form.getInputProps(`${channel}.templateId`)}
      />
      {template?.wantsFile && (
        <TextInput
          type="url"
          label={t('headerLink')}
          description={t('headerLinkHint')}
          withAsterisk
          maxLength={2048}
          {...form.getInputProps(`${channel}.headerLink`)}
        />
      )}
      {template && template.placeholders.length > 0 && (
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          {template.placeholders.map((name) => (
            <Value key={name} name={name} channel={channel} form={form} />
          ))}
        </SimpleGrid>
      )}
    </>
  );
}

type ValueProps = { readonly name: string; readonly channel: Network; readonly form: DraftForm };

function Value({ name, channel, form }: ValueProps) {
  const { t } = useTranslation('send');
  const { variables } = form.values[channel];
  return (
    <TextInput
      label={t('value', { name: `{{${name}}}` })}
      withAsterisk
      maxLength={1024}
      dir="auto"
      value={variables[name] ?? ''}
      error={form.errors[`variables.${name}`]}
      onChange={(event) => {
        form.setFieldValue(`${channel}.variables`, { ...variables, [name]: event.currentTarget.value });
        form.clearFieldError(`variables.${name}`);
      }}
    />
  );
}

/** Characters that word processors and phones insert, and their equivalents in GSM 03.38. */
const PLAIN: Readonly<Record<string, string>> = {
  '“': '"',
  '”': '"',
  '„': '"',
  '‘': "'",
  '’': "'",
  '‚': "'",
  '«': '"',
  '»': '"',
  '–': '-',
  '—': '-',
  '‑': '-',
  '…': '...',
  '•': '-',
  '\u00a0': ' ',
  '\u202f': ' ',
};

const isPlainable = (character: string): boolean => Object.hasOwn(PLAIN, character);
const plain = (text: string): string => Array.from(text, (character) => PLAIN[character] ?? character).join('');

type TextLengthProps = { readonly form: DraftForm; readonly preview: Preview | undefined };

/** The length of the text, with a button that replaces the characters that force UCS-2. */
function TextLength({ form, preview }: TextLengthProps) {
  const { t } = useTranslation('send');
  if (form.values.text === '' || preview === undefined || preview.text === '') return null;
  return (
    <Group justify="space-between" gap="xs">
      <PartsCounter {...preview} />
      {preview.unsupported.some(isPlainable) && (
        <Button size="compact-sm" variant="default" onClick={() => form.setFieldValue('text', plain(form.values.text))}>
          {t('plain')}
        </Button>
      )}
    </Group>
  );
}

const MediaDialog = lazyPart(() => import('../ui/media-picker.tsx').then((file) => ({ default: file.MediaDialog })));

/** The field for a card's image or video, from the account's files. */
function PictureField({ form }: { readonly form: DraftForm }) {
  const { t } = useTranslation('send');
  const { picture } = form.values;
  const choose = ({ id, name, url, mimeType }: Media): void => {
    form.setFieldValue('picture', { id, name, url, isImage: mimeType.startsWith('image/') });
    form.clearFieldError('picture');
  };
  return (
    <Input.Wrapper label={t('picture')} labelElement="div" error={form.errors['picture']}>
      <Group mt={4} gap="xs">
        <GuardedButton
          need={{ scope: 'media', write: false }}
          variant="default"
          size="xs"
          leftSection={<ImagePlus size={15} />}
          onClick={() => openDialog(<MediaDialog title={t('pictureChoose')} onChoose={choose} />)}
        >
          {picture === null ? t('pictureChoose') : picture.name}
        </GuardedButton>
        {picture !== null && (
          <Button variant="subtle" color="gray" size="xs" onClick={() => form.setFieldValue('picture', null)}>
            {t('pictureRemove')}
          </Button>
        )}
      </Group>
    </Input.Wrapper>
  );
}

/** The field for parameters of SMPP, for accounts that may send some. */
export function TlvField({ form }: { readonly form: DraftForm }) {
  const { t } = useTranslation('send');
  const format = useFormat();
  const { data } = useQuery(sendingQuery);
  if (data === undefined || data.tlvTags.length === 0) return null;
  return (
    <Textarea
      label={t('tlvs')}
      description={t('tlvsHint', { tags: format.list(data.tlvTags) })}
      autosize
      minRows={1}
      maxRows={10}
      spellCheck={false}
      autoComplete="off"
      {...form.getInputProps('tlvs')}
    />
  );
}
