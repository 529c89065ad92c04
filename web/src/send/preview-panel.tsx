import { Alert, List, Stack } from '@mantine/core';
import type { FormErrors } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { sameOriginUrl } from '../api/media.ts';
import { senderQuery, type TemplateOption } from '../api/networks.ts';
import { type Fact, Facts } from '../ui/values/facts.tsx';
import { useFormat } from '../ui/values/format.ts';
import { Money } from '../ui/values/money.tsx';
import { PhonePreview } from '../ui/message/phone-preview.tsx';
import { Section } from '../ui/section.tsx';
import { type Channel, type Draft, isNetwork, repliesOf } from './draft.ts';
import { placeOf } from './faults.ts';
import type { Preview } from './message.ts';

type PreviewPanelProps = {
  readonly channel: Channel;
  readonly draft: Draft;
  readonly template: TemplateOption | undefined;
  readonly preview: Preview | undefined;
};

/** The preview of the message, its price, and the reasons that prevent sending it. */
export function PreviewPanel({ errors, ...shown }: PreviewPanelProps & { readonly errors: FormErrors }) {
  const { channel, draft, preview } = shown;
  const { t } = useTranslation('send');
  const facts = useFacts(draft, preview);
  /** Problems already shown at form fields are not repeated; credit does not matter for a simulation. */
  const isNew = (field: string): boolean => {
    const place = placeOf(channel, field);
    return field === 'credit' ? !draft.simulation : place === null || errors[place] === undefined;
  };
  return (
    <Section title={t('preview')}>
      <Stack gap="md">
        <Phone {...shown} />
        <Facts facts={facts} />
        {preview && <Problems channel={channel} problems={preview.problems.filter(({ field }) => isNew(field))} />}
      </Stack>
    </Section>
  );
}

function Phone({ channel, draft, template, preview }: PreviewPanelProps) {
  const sender = useSenderName(channel, draft);
  const isCard = channel === 'RCS' && draft.RCS.kind === 'card';
  if (!isCard) {
    const isText = channel === 'SMS' || draft[channel].kind === 'text';
    const replies = channel === 'RCS' ? repliesOf(draft) : [];
    const buttons = isText ? replies : (template?.buttons ?? []);
    const text = isText ? draft.text : template === undefined ? '' : (preview?.text ?? '');
    return <PhonePreview channel={channel} sender={sender} text={text} buttons={buttons} />;
  }
  const { cardTitle, text, picture } = draft;
  const image = picture?.isImage ? sameOriginUrl(picture.url) : undefined;
  const title = cardTitle === '' ? undefined : cardTitle;
  return (
    <PhonePreview
      channel={channel}
      sender={sender}
      text={text}
      image={image}
      title={title}
      buttons={repliesOf(draft)}
    />
  );
}

function useSenderName(channel: Channel, draft: Draft): string {
  const network = isNetwork(channel) ? channel : 'RCS';
  const { data = [] } = useQuery({ ...senderQuery(network), enabled: isNetwork(channel) });
  if (!isNetwork(channel)) return draft.smsSender;
  return data.find(({ value }) => value === draft[channel].sender)?.label ?? '';
}

function useFacts(draft: Draft, preview: Preview | undefined): readonly Fact[] {
  const { t, i18n } = useTranslation('send');
  const format = useFormat();
  if (preview === undefined) return [{ label: t('price'), value: '–' }];
  const { price, currency, country, parts, unitPrice, channel } = preview;
  const priced =
    price === null ? t(country === null ? 'priceLater' : 'noPrice') : <Money amount={price} currency={currency} />;
  const countries = new Intl.DisplayNames([i18n.language], { type: 'region' });
  return [
    { label: t('price'), value: draft.simulation ? t('free') : priced },
    ...(channel === 'SMS' && preview.text !== '' ? [{ label: t('parts'), value: format.number(parts) }] : []),
    ...(channel === 'SMS' && unitPrice !== null && parts > 1
      ? [{ label: t('partPrice'), value: <Money amount={unitPrice} currency={currency} /> }]
      : []),
    ...(country === null ? [] : [{ label: t('country'), value: countries.of(country) ?? country }]),
  ];
}

type ProblemsProps = { readonly channel: Channel; readonly problems: Preview['problems'] };

function Problems({ channel, problems }: ProblemsProps) {
  const { t } = useTranslation('send');
  if (problems.length === 0) return null;
  return (
    <Alert color="amber" title={t('problems')}>
      <List size="sm">
        {problems.map(({ field, message }) => (
          <List.Item key={`${field} ${message}`}>
            {t(`field.${placeOf(channel, field) ?? field}`, { defaultValue: field })}: {message}
          </List.Item>
        ))}
      </List>
    </Alert>
  );
}
