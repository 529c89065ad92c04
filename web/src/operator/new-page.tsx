import { Button, Group, Radio, SimpleGrid, Stack, Text, TextInput } from '@mantine/core';
import { type UseFormReturnType, useForm } from '@mantine/form';
import { useQuery } from '@tanstack/react-query';
import { PlugZap } from 'lucide-react';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useAction } from '../api/action.ts';
import { api, ok } from '../api/send.ts';
import { GuardedButton, SecretOnce } from '../ui/actions.tsx';
import { ButtonLink, ErrorState, Muted, PageFrame, Section, TableSkeleton } from '../ui/parts.tsx';
import { Steps } from '../ui/stepper.tsx';
import { choice, text, useUrlState } from '../ui/url-state.ts';
import { Facts } from '../ui/values.tsx';
import { CONNECTION_KEYS, CONNECTIONS, type Connection } from './connection-choice.tsx';
import { Callback, CarrierSetup, TestResult, testSettings } from './connection-test.tsx';
import {
  fieldsOf,
  filledOf,
  initialOf,
  type Kind,
  type KindName,
  kindsQuery,
  settingsOf,
  useFieldTexts,
  useSettingText,
} from './connections-fields.ts';
import { LinkFields, type LinkValues } from './connections-settings-fields.tsx';
import classes from './kind-choice.module.css';
import { OPERATOR } from './shared.tsx';

const STEPS = ['kind', 'settings', 'test'] as const;
const SEARCH = { kind: text(), step: choice(STEPS, 'kind') };

const blankOf = (kind: Kind): LinkValues => ({
  name: '',
  settings: initialOf(settingsOf(kind)),
  secret: initialOf(fieldsOf(kind).secret),
});

/** The page that adds a connection: type, settings, test. */
export function Page() {
  const { t } = useTranslation('operator');
  const trail = [{ label: t('connection.title'), to: '/operator/connections' }];
  const [{ kind: name }] = useUrlState(SEARCH);
  const { data, error, refetch } = useQuery(kindsQuery);
  const kinds = data?.data ?? [];
  const kind = kinds.find((each) => each.kind === name) ?? kinds[0];
  return (
    <PageFrame title={t('wizard.title')} description={t('wizard.description')} trail={trail}>
      {kind && <Wizard key={kind.kind} kinds={kinds} kind={kind} />}
      {!kind && (error ? <ErrorState error={error} onRetry={() => void refetch()} /> : <TableSkeleton rows={6} />)}
    </PageFrame>
  );
}

/** Returns the required fields that are empty, each with an error. */
function useMissing(kind: Kind) {
  const { t } = useTranslation('operator');
  return (values: LinkValues): Record<string, string> => {
    const { access, secret } = fieldsOf(kind);
    const empty = [
      ...(values.name.trim() === '' ? ['name'] : []),
      ...access
        .filter(({ name, isRequired }) => isRequired && values.settings[name] === '')
        .map(({ name }) => `settings.${name}`),
      ...secret
        .filter(({ name, isRequired }) => isRequired && values.secret[name] === '')
        .map(({ name }) => `secret.${name}`),
    ];
    return Object.fromEntries(empty.map((path) => [path, t('wizard.missing')]));
  };
}

function Wizard({ kinds, kind }: { readonly kinds: readonly Kind[]; readonly kind: Kind }) {
  const { t } = useTranslation('operator');
  const [{ step }, setSearch] = useUrlState(SEARCH);
  const [hasFault, setHasFault] = useState(false);
  const form = useForm<LinkValues>({ initialValues: blankOf(kind), validate: useMissing(kind) });
  const adding = useAction({
    run: (values: LinkValues) =>
      ok(api.POST(CONNECTIONS, { body: { name: values.name.trim(), ...toConnectionBody(kind, values) } })),
    refresh: CONNECTION_KEYS,
    form,
  });
  if (adding.result) return <AddedPanel connection={adding.result} />;
  const goTo = (next: string): void => {
    const isBehind = next === 'test' && form.validate().hasErrors;
    setHasFault(isBehind);
    setSearch({ step: isBehind ? 'settings' : (STEPS.find((each) => each === next) ?? 'kind') });
  };
  const add = (
    <GuardedButton
      need={OPERATOR}
      loading={adding.busy}
      onClick={() =>
        void form.onSubmit(
          (values) => adding.run(values),
          () => goTo('test'),
        )()
      }
    >
      {t('wizard.add')}
    </GuardedButton>
  );
  return (
    <Steps
      active={step}
      onChange={goTo}
      steps={[
        {
          id: 'kind',
          label: t('wizard.kind'),
          note: t(`kind.${kind.kind}.name`),
          content: (
            <KindChoice
              kinds={kinds.map((each) => each.kind)}
              kind={kind.kind}
              onChange={(next) => setSearch({ kind: next })}
            />
          ),
        },
        {
          id: 'settings',
          label: t('wizard.settings'),
          hasFault: hasFault || adding.error !== null,
          content: <SettingsStep form={form} kind={kind} />,
        },
        { id: 'test', label: t('wizard.test'), content: <TestStep form={form} kind={kind} /> },
      ]}
      footer={<StepButtons step={step} goTo={goTo} add={add} />}
    />
  );
}

type StepButtonsProps = {
  readonly step: (typeof STEPS)[number];
  readonly goTo: (step: string) => void;
  readonly add: React.ReactNode;
};

function StepButtons({ step, goTo, add }: StepButtonsProps) {
  const { t } = useTranslation('operator');
  const at = STEPS.indexOf(step);
  const [before, after] = [STEPS[at - 1], STEPS[at + 1]];
  return (
    <>
      <Button variant="default" disabled={before === undefined} onClick={() => goTo(before ?? 'kind')}>
        {t('wizard.back')}
      </Button>
      {after === undefined ? add : <Button onClick={() => goTo(after)}>{t('wizard.next')}</Button>}
    </>
  );
}

type StepProps = { readonly form: UseFormReturnType<LinkValues>; readonly kind: Kind };

/** The step that shows the settings and tests the connection without saving anything. */
function TestStep({ form, kind }: StepProps) {
  const { t } = useTranslation('operator');
  const settingText = useSettingText();
  const fieldTexts = useFieldTexts();
  const { access, main } = fieldsOf(kind);
  const values = form.getValues();
  const trial = useAction({ run: () => testSettings(toConnectionBody(kind, form.getValues())), form, quiet: true });
  const shown = [...access, ...main].filter(
    ({ name }) => values.settings[name] !== '' && typeof values.settings[name] === 'string',
  );
  return (
    <Section
      title={t('wizard.testTitle', { name: values.name })}
      description={t('wizard.testHint')}
      actions={
        <GuardedButton
          need={OPERATOR}
          variant="default"
          leftSection={<PlugZap size={16} />}
          loading={trial.busy}
          onClick={() => trial.run()}
        >
          {t(trial.result ? 'trial.again' : 'trial.open')}
        </GuardedButton>
      }
    >
      <Stack gap="lg">
        <Facts
          facts={shown.map((field) => ({
            label: fieldTexts(kind, field).label,
            value: <bdi>{settingText(field, values.settings[field.name])}</bdi>,
          }))}
        />
        <TestResult report={trial.result} busy={trial.busy} error={trial.error} />
      </Stack>
    </Section>
  );
}

type AddedProps = { readonly connection: Connection & { readonly tokens: Readonly<Record<string, string>> } };

/** Shown after a connection was added: values to enter at the carrier, and the next steps. */
function AddedPanel({ connection: { name, kind, routedBy, callbackUrl, tokens, hasSetup } }: AddedProps) {
  const { t } = useTranslation('operator');
  return (
    <Section title={t('wizard.made', { name })} description={t(`kind.${kind}.next`)}>
      <Stack gap="lg">
        {callbackUrl !== null && <Callback kind={kind} url={callbackUrl} />}
        {Object.entries(tokens).map(([token, value]) => (
          <SecretOnce
            key={token}
            label={t(`wizard.token.${token}`)}
            secret={value}
            note={t('wizard.tokenNote', { token: t(`wizard.token.${token}`) })}
          />
        ))}
        {hasSetup && <CarrierSetup name={name} />}
        <Group>
          <ButtonLink to={`/operator/connections/${encodeURIComponent(name)}`} variant="default">
            {t('wizard.see')}
          </ButtonLink>
          {routedBy === 'prefix' ? (
            <ButtonLink to="/operator/routes" search={{ add: name }}>
              {t('wizard.addRoute')}
            </ButtonLink>
          ) : (
            <ButtonLink to="/operator/senders" search={{ add: name }}>
              {t('wizard.addSender')}
            </ButtonLink>
          )}
        </Group>
      </Stack>
    </Section>
  );
}

type KindChoiceProps = {
  readonly kinds: readonly KindName[];
  readonly kind: KindName;
  readonly onChange: (kind: string) => void;
};

/** The choice of the connection's protocol. */
function KindChoice({ kinds, kind, onChange }: KindChoiceProps) {
  const { t } = useTranslation('operator');
  return (
    <Radio.Group value={kind} onChange={onChange} aria-label={t('wizard.kind')}>
      <SimpleGrid cols={{ base: 1, sm: 3 }} mt="md">
        {kinds.map((each) => (
          <Radio.Card key={each} value={each} p="md" className={classes.card}>
            <Stack gap={6}>
              <Text fw={500}>{t(`kind.${each}.name`)}</Text>
              <Muted>{t(`kind.${each}.about`)}</Muted>
              <Text size="xs" c="dimmed">
                {t(`kind.${each}.needs`)}
              </Text>
            </Stack>
          </Radio.Card>
        ))}
      </SimpleGrid>
    </Radio.Group>
  );
}

/** The request body for a new connection; empty fields are omitted. */
const toConnectionBody = (kind: Kind, { settings, secret }: LinkValues) => ({
  kind: kind.kind,
  settings: filledOf(settingsOf(kind), settings),
  secret: filledOf(fieldsOf(kind).secret, secret),
});

/** The step for the settings from the carrier. */
function SettingsStep({ form, kind }: StepProps) {
  const { t } = useTranslation('operator');
  return (
    <Section
      title={t('wizard.settingsOf', { kind: t(`kind.${kind.kind}.name`) })}
      description={t('wizard.settingsHint')}
    >
      <Stack gap="lg">
        <SimpleGrid cols={{ base: 1, sm: 2 }}>
          <TextInput
            label={t('connection.name')}
            description={t('wizard.nameHint')}
            withAsterisk
            maxLength={63}
            autoComplete="off"
            spellCheck={false}
            {...form.getInputProps('name')}
          />
        </SimpleGrid>
        <LinkFields form={form} kind={kind} />
      </Stack>
    </Section>
  );
}
