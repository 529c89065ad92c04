import { Checkbox, MultiSelect, NativeSelect, NumberInput, SimpleGrid, TextInput } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { api, ok } from '../api/send.ts';
import { useSession } from '../api/session.ts';
import { SecretOnce } from '../ui/actions.tsx';
import { FormDialog } from '../ui/form-dialog.tsx';
import { MANAGE_NEED, type Service, VERIFY, VERIFY_KEYS } from './service-list.tsx';

const CHANNELS = ['SMS', 'RCS', 'WHATSAPP'] as const;
const MODES = ['monitor', 'standard', 'strict', 'off'] as const;

type Values = {
  readonly name: string;
  readonly brand: string;
  readonly channels: string[];
  readonly codeLength: number | string;
  readonly mode: string;
  readonly allow: string;
  readonly maxCostPerHour: number | string;
  readonly maxCostPerDay: number | string;
  readonly discreet: boolean;
};

function valuesOf(service: Service | undefined): Values {
  const guard = service?.guard ?? {};
  return {
    name: service?.name ?? '',
    brand: service?.brand ?? '',
    channels: service?.workflow.map(({ channel }) => channel) ?? ['SMS'],
    codeLength: service?.codeLength ?? 6,
    ...guardValues(guard, service ? 'standard' : 'monitor'),
  };
}

const guardValues = (guard: NonNullable<Service['guard']>, mode: string) => ({
  mode: guard.mode ?? mode,
  allow: guard.countries?.allow?.join(', ') ?? '',
  maxCostPerHour: guard.maxCostPerHour ?? '',
  maxCostPerDay: guard.maxCostPerDay ?? '',
  discreet: guard.discreet ?? false,
});

const countriesOf = (text: string): string[] =>
  text
    .toUpperCase()
    .split(/[\s,;]+/)
    .filter((word) => word !== '');

/** Returns the body of a request; what the form does not show stays as it is. */
function bodyOf(values: Values, service: Service | undefined) {
  const { maxCostPerHour: _hour, maxCostPerDay: _day, countries, ...guard } = service?.guard ?? {};
  const { allow: _allow, ...otherCountries } = countries ?? {};
  const allow = countriesOf(values.allow);
  const chosen = { ...otherCountries, ...(allow.length > 0 && { allow }) };
  return {
    name: values.name.trim(),
    brand: values.brand.trim(),
    codeLength: Number(values.codeLength),
    workflow: values.channels.flatMap((name) => {
      const channel = CHANNELS.find((each) => each === name);
      return channel ? [service?.workflow.find((step) => step.channel === channel) ?? { channel }] : [];
    }),
    guard: {
      ...guard,
      mode: MODES.find((mode) => mode === values.mode) ?? 'standard',
      discreet: values.discreet,
      ...(Object.keys(chosen).length > 0 && { countries: chosen }),
      ...(values.maxCostPerHour !== '' && { maxCostPerHour: Number(values.maxCostPerHour) }),
      ...(values.maxCostPerDay !== '' && { maxCostPerDay: Number(values.maxCostPerDay) }),
    },
  };
}

/** Returns the challenge secret of a new service; empty for one that was there. */
async function save(values: Values, service: Service | undefined): Promise<string> {
  const body = bodyOf(values, service);
  if (!service) return (await ok(api.POST(`${VERIFY}/services`, { body }))).challengeSecret;
  await ok(api.PATCH(`${VERIFY}/services/{id}`, { params: { path: { id: service.id } }, body }));
  return '';
}

/** Dialog that adds a service, whose challenge secret is shown once, or changes the given one. */
export function ServiceDialog({ service }: { readonly service?: Service }) {
  const { t } = useTranslation('verify');
  return (
    <FormDialog<Values, string>
      title={t(service ? 'service.change.title' : 'service.add.title')}
      values={valuesOf(service)}
      validate={{
        name: (name) => (name.trim() === '' ? t('service.missing') : null),
        brand: (brand) => (brand.trim() === '' ? t('service.missing') : null),
        channels: (channels) => (channels.length === 0 ? t('service.missing') : null),
      }}
      run={(values) => save(values, service)}
      refresh={VERIFY_KEYS}
      action={t(service ? 'ui:save' : 'service.add.submit')}
      {...(service
        ? { done: t('service.change.done') }
        : {
            result: (secret) => (
              <SecretOnce label={t('service.secret.label')} secret={secret} note={t('service.secret.note')} />
            ),
            finish: t('service.secret.done'),
          })}
    >
      {(form) => (
        <>
          <TextInput label={t('service.name')} maxLength={100} data-autofocus {...form.getInputProps('name')} />
          <TextInput
            label={t('service.brand')}
            description={t('service.brandHint')}
            maxLength={20}
            {...form.getInputProps('brand')}
          />
          <MultiSelect
            label={t('service.channels')}
            description={t('service.channelsHint')}
            data={CHANNELS.map((value) => ({ value, label: t(`ui:channel.${value}`) }))}
            {...form.getInputProps('channels')}
          />
          <NumberInput
            label={t('service.codeLength')}
            min={4}
            max={10}
            allowDecimal={false}
            {...form.getInputProps('codeLength')}
          />
          <NativeSelect
            label={t('service.mode')}
            description={t(`service.modeHint.${MODES.find((mode) => mode === form.getValues().mode) ?? 'standard'}`)}
            data={MODES.map((value) => ({ value, label: t(`mode.${value}`) }))}
            {...form.getInputProps('mode')}
          />
          <TextInput
            label={t('service.allow')}
            description={t('service.allowHint')}
            dir="ltr"
            {...form.getInputProps('allow')}
          />
          <SimpleGrid cols={2}>
            <NumberInput
              label={t('service.maxCostPerHour')}
              placeholder={t('service.noCap')}
              min={0}
              hideControls
              {...form.getInputProps('maxCostPerHour')}
            />
            <NumberInput
              label={t('service.maxCostPerDay')}
              placeholder={t('service.noCap')}
              min={0}
              hideControls
              {...form.getInputProps('maxCostPerDay')}
            />
          </SimpleGrid>
          <Checkbox label={t('service.discreet')} {...form.getInputProps('discreet', { type: 'checkbox' })} />
        </>
      )}
    </FormDialog>
  );
}

/** Dialog that blocks or releases a range of numbers that the guard has not paused. */
export function RangeDialog() {
  const { t } = useTranslation('verify');
  const verbs = useSession().may(MANAGE_NEED) ? (['block', 'release'] as const) : (['block'] as const);
  return (
    <FormDialog
      title={t('range.title')}
      values={{ prefix: '', verb: 'block' }}
      validate={{ prefix: (prefix) => (prefix.trim() === '' ? t('service.missing') : null) }}
      run={({ prefix, verb }) =>
        ok(
          api.POST(`${VERIFY}/guard/ranges/{prefix}/${verb === 'release' ? 'release' : 'block'}`, {
            params: { path: { prefix: prefix.replaceAll(/[\s…]/g, '') } },
          }),
        )
      }
      refresh={VERIFY_KEYS}
      done={t('range.done')}
      action={t('ui:save')}
    >
      {(form) => (
        <>
          <TextInput
            label={t('range.prefix')}
            description={t('range.prefixHint')}
            placeholder="+99244012"
            inputMode="tel"
            dir="ltr"
            data-autofocus
            {...form.getInputProps('prefix')}
          />
          <NativeSelect
            label={t('range.decision')}
            data={verbs.map((value) => ({ value, label: t(`${value}.submit`) }))}
            {...form.getInputProps('verb')}
          />
        </>
      )}
    </FormDialog>
  );
}
