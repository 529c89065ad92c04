import { Checkbox, MultiSelect, NativeSelect, NumberInput, Text, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { SecretOnce } from '../ui/actions.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { useFormat } from '../ui/format.ts';
import { Muted } from '../ui/parts.tsx';
import { type Endpoint, ENDPOINTS, typesQuery, WEBHOOK_KEYS, WEBHOOKS } from './endpoints.ts';

const CHANNELS = ['SMS', 'RCS', 'WHATSAPP'] as const;
const RETRIES = ['full', 'short', 'none'] as const;

type Values = {
  readonly url: string;
  readonly name: string;
  readonly eventTypes: string[];
  readonly channels: string[];
  readonly numbers: string;
  readonly countries: string;
  readonly failedOnly: boolean;
  readonly retry: string;
  readonly maxPerSecond: number | string;
};

const wordsOf = (text: string): string[] => text.split(/[\s,;]+/).filter((word) => word !== '');

function bodyOf(
  { url, name, eventTypes, channels, numbers, countries, failedOnly, retry, maxPerSecond }: Values,
  endpoint?: Endpoint,
) {
  const [ownNumbers, ownCountries] = [wordsOf(numbers), wordsOf(countries.toUpperCase())];
  const { campaignIds, tags, verifyServiceIds } = endpoint?.filters ?? {};
  return {
    url: url.trim(),
    eventTypes,
    retry: RETRIES.find((plan) => plan === retry) ?? 'full',
    maxPerSecond: maxPerSecond === '' ? null : Number(maxPerSecond),
    ...(name.trim() !== '' && { name: name.trim() }),
    filters: {
      ...(campaignIds && { campaignIds }),
      ...(tags && { tags }),
      ...(verifyServiceIds && { verifyServiceIds }),
      ...(channels.length > 0 && { channels: CHANNELS.filter((channel) => channels.includes(channel)) }),
      ...(ownNumbers.length > 0 && { numbers: ownNumbers }),
      ...(ownCountries.length > 0 && { countries: ownCountries }),
      ...(failedOnly && { failedOnly }),
    },
  };
}

/** Returns the secret of a new endpoint; empty for one that was there. */
const save = async (values: Values, endpoint: Endpoint | undefined): Promise<string> => {
  const body = bodyOf(values, endpoint);
  if (!endpoint) return (await ok(api.POST(ENDPOINTS, { body }))).secret;
  await ok(api.PATCH(`${ENDPOINTS}/{id}`, { params: { path: { id: endpoint.id } }, body }));
  return '';
};

function valuesOf(endpoint: Endpoint | undefined): Values {
  const { filters = {} } = endpoint ?? {};
  return {
    url: endpoint?.url ?? '',
    name: endpoint?.name ?? '',
    eventTypes: [...(endpoint?.eventTypes ?? ['message.*'])],
    channels: filters.channels ?? [],
    numbers: filters.numbers?.join(', ') ?? '',
    countries: filters.countries?.join(', ') ?? '',
    failedOnly: filters.failedOnly ?? false,
    retry: endpoint?.retry ?? 'full',
    maxPerSecond: endpoint?.maxPerSecond ?? '',
  };
}

/** Dialog that adds an endpoint, whose secret is shown once, or changes the given one. */
export function EndpointDialog({ endpoint }: { readonly endpoint?: Endpoint }) {
  const { t } = useTranslation('webhooks');
  const { data: types = [] } = useQuery(typesQuery);
  const patterns = ['*', ...new Set(types.map(({ type }) => `${type.split('.')[0]}.*`))];
  return (
    <FormDialog<Values, string>
      title={t(endpoint ? 'edit.title' : 'register.title')}
      values={valuesOf(endpoint)}
      validate={{ url: (url) => (url.trim() === '' ? t('register.urlMissing') : null) }}
      run={(values) => save(values, endpoint)}
      refresh={WEBHOOK_KEYS}
      action={t(endpoint ? 'edit.submit' : 'register.submit')}
      {...(endpoint
        ? { done: t('edit.done') }
        : {
            result: (secret) => <SecretOnce label={t('secret.label')} secret={secret} note={t('secret.note')} />,
            finish: t('secret.done'),
          })}
    >
      {(form) => (
        <>
          <UrlField {...form.getInputProps('url')} />
          <TextInput label={t('field.name')} maxLength={100} {...form.getInputProps('name')} />
          <MultiSelect
            label={t('field.eventTypes')}
            description={t('field.eventTypesHint')}
            data={[...patterns, ...types.map(({ type }) => type)]}
            searchable
            hidePickedOptions
            {...form.getInputProps('eventTypes')}
          />
          <MultiSelect
            label={t('field.channels')}
            placeholder={t('field.any')}
            data={[...CHANNELS]}
            {...form.getInputProps('channels')}
          />
          <TextInput
            label={t('field.numbers')}
            description={t('field.numbersHint')}
            dir="ltr"
            {...form.getInputProps('numbers')}
          />
          <TextInput
            label={t('field.countries')}
            description={t('field.countriesHint')}
            dir="ltr"
            {...form.getInputProps('countries')}
          />
          <Checkbox label={t('field.failedOnly')} {...form.getInputProps('failedOnly', { type: 'checkbox' })} />
          <NativeSelect
            label={t('fact.retry')}
            data={RETRIES.map((value) => ({ value, label: t(`retry.${value}`) }))}
            {...form.getInputProps('retry')}
          />
          <NumberInput
            label={t('fact.maxPerSecond')}
            placeholder={t('field.any')}
            min={1}
            max={10_000}
            allowDecimal={false}
            {...form.getInputProps('maxPerSecond')}
          />
        </>
      )}
    </FormDialog>
  );
}

function UrlField(props: object) {
  const { t } = useTranslation('webhooks');
  return (
    <TextInput
      label={t('register.url')}
      description={t('register.urlHint')}
      placeholder="https://example.com/events"
      type="url"
      maxLength={2048}
      data-autofocus
      {...props}
    />
  );
}

/** Dialog that changes the URL of the webhook of the specification; the secret and the event format stay the same. */
export function AddressDialog({ url }: { readonly url: string }) {
  const { t } = useTranslation('webhooks');
  return (
    <FormDialog
      title={t('address.title')}
      values={{ callbackUrl: url }}
      run={(body) => ok(api.PUT(`${WEBHOOKS}/delivery-status`, { body }))}
      refresh={WEBHOOK_KEYS}
      done={t('address.done')}
      action={t('address.submit')}
    >
      {(form) => (
        <>
          <UrlField {...form.getInputProps('callbackUrl')} />
          <Muted>{t('address.text')}</Muted>
        </>
      )}
    </FormDialog>
  );
}

/** Dialog that rotates the secret of an endpoint; both secrets sign events for a day. */
export function RotateDialog({ endpoint: { id } }: { readonly endpoint: Endpoint }) {
  const { t } = useTranslation('webhooks');
  const format = useFormat();
  return (
    <FormDialog
      title={t('rotate.title')}
      values={{}}
      run={() => ok(api.POST(`${ENDPOINTS}/{id}/secret`, { params: { path: { id } } }))}
      refresh={WEBHOOK_KEYS}
      action={t('rotate.submit')}
      result={({ secret, previousSecretUntil }) => {
        const until = previousSecretUntil === null ? '' : format.brief(new Date(previousSecretUntil));
        return <SecretOnce label={t('secret.label')} secret={secret} note={t('rotate.note', { until })} />;
      }}
      finish={t('secret.done')}
    >
      {() => <Text size="sm">{t('rotate.text')}</Text>}
    </FormDialog>
  );
}
