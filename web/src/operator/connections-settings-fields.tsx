import {
  Checkbox,
  Collapse,
  Divider,
  Group,
  NativeSelect,
  PasswordInput,
  SimpleGrid,
  Stack,
  Text,
  Textarea,
  TextInput,
  UnstyledButton,
} from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { Cable, ChevronDown, ChevronRight, Gauge, Hourglass, ListOrdered } from 'lucide-react';
import { type ReactNode, useMemo } from 'react';
import { useTranslation } from 'react-i18next';
import { useFormat } from '../ui/format.ts';
import { ErrorState, Section, TableSkeleton } from '../ui/parts.tsx';
import { Num, Stat } from '../ui/values.tsx';
import { type Connection, Links, minutesQuery } from './connection-choice.tsx';
import {
  errorsOf,
  type Field,
  fieldsOf,
  type Kind,
  textOf,
  useFieldTexts,
  useSettingText,
  type Values,
} from './connections-fields.ts';
import { ActiveSeriesChart } from './shared.tsx';

export type LinkValues = { readonly name: string; readonly settings: Values; readonly secret: Values };
type Form = UseFormReturnType<LinkValues>;
type LinkProps = {
  readonly form: Form;
  readonly kind: Kind;
  /** True if a secret is already stored; empty secret fields then leave it unchanged. */
  readonly isKept?: boolean;
};

/** The fields of a connection: access, other agreed settings and, behind a button, rarely used settings. */
export function LinkFields({ form, kind, isKept = false }: LinkProps) {
  const { t } = useTranslation('operator');
  const { access, secret, main, more } = fieldsOf(kind);
  const [isOpen, { toggle }] = useDisclosure(more.some(({ name }) => errorsOf(form.errors, `settings.${name}`) !== ''));
  const Sign = isOpen ? ChevronDown : ChevronRight;
  const shared = { form, kind, isKept };
  return (
    <Stack gap="lg">
      <Grid>
        <Fields {...shared} part="settings" fields={access} />
        <Fields {...shared} part="secret" fields={secret} />
      </Grid>
      <Divider />
      <Grid>
        <Fields {...shared} part="settings" fields={main} />
      </Grid>
      <UnstyledButton onClick={toggle} aria-expanded={isOpen}>
        <Group gap={6} wrap="nowrap" align="flex-start">
          <Sign size={16} aria-hidden="true" style={{ flexShrink: 0, marginTop: 3 }} />
          <Text size="sm" fw={500}>
            {t('connection.moreSettings', { count: more.length })}
          </Text>
        </Group>
      </UnstyledButton>
      <Collapse expanded={isOpen}>
        <Grid>
          <Fields {...shared} part="settings" fields={more} />
        </Grid>
      </Collapse>
    </Stack>
  );
}

const Grid = ({ children }: { readonly children: ReactNode }) => (
  <SimpleGrid cols={{ base: 1, sm: 2 }}>{children}</SimpleGrid>
);

type FieldsProps = LinkProps & { readonly part: 'settings' | 'secret'; readonly fields: readonly Field[] };

const Fields = ({ fields, ...rest }: FieldsProps) =>
  fields.map((field) => <FieldInput key={field.name} field={field} {...rest} />);

type FieldInputProps = Omit<FieldsProps, 'fields'> & { readonly field: Field };

function FieldInput({ form, kind, part, field, isKept = false }: FieldInputProps) {
  const { t } = useTranslation('operator');
  const { name, type, options, fallback, isRequired, maxLength } = field;
  const path = `${part}.${name}`;
  const fieldTexts = useFieldTexts();
  const optionText = useSettingText();
  const texts = {
    ...fieldTexts(kind, field),
    withAsterisk: isRequired && !(isKept && part === 'secret'),
    placeholder:
      isKept && part === 'secret' ? t('connection.unchanged') : fallback === undefined ? undefined : textOf(fallback),
  };
  if (type === 'boolean') return <OnOff form={form} path={path} label={texts.label} description={texts.description} />;
  const input = form.getInputProps(path);
  if (type === 'choice') {
    const values = [...(fallback === undefined ? ['none'] : []), ...options.map(String)];
    return (
      <NativeSelect
        {...texts}
        {...input}
        data={values.map((value) => ({ value: value === 'none' ? '' : value, label: optionText(field, value) }))}
      />
    );
  }
  if (type === 'object')
    return (
      <Textarea
        {...texts}
        {...input}
        error={errorsOf(form.errors, path) || undefined}
        autosize
        minRows={2}
        maxRows={16}
        dir="ltr"
        styles={MONO}
        spellCheck={false}
      />
    );
  if (type === 'key')
    return <Textarea {...texts} {...input} autosize minRows={4} maxRows={10} styles={MONO} spellCheck={false} />;
  if (type === 'secret')
    return (
      <PasswordInput
        {...texts}
        {...input}
        autoComplete="new-password"
        visibilityToggleButtonProps={{ 'aria-label': t('connection.showSecret') }}
      />
    );
  return (
    <TextInput
      {...texts}
      {...input}
      maxLength={maxLength}
      inputMode={type === 'number' ? 'decimal' : 'text'}
      dir="ltr"
      autoComplete="off"
      spellCheck={false}
    />
  );
}

const MONO = { input: { fontFamily: 'var(--mantine-font-family-monospace)', fontSize: 'var(--mantine-font-size-xs)' } };

type OnOffProps = { readonly form: Form; readonly path: string; readonly label: string; readonly description: string };

const OnOff = ({ form, path, label, description }: OnOffProps) => (
  <Checkbox mt={4} label={label} description={description} {...form.getInputProps(path, { type: 'checkbox' })} />
);

/** The current figures of the connection. */
export function Figures({ connection }: { readonly connection: Connection }) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const { perSecond, rateLimit, inFlight, window, workers, queued, oldestSeconds } = connection;
  const agreed =
    rateLimit === null
      ? t('connection.noAgreedRate')
      : t('connection.agreedRate', { agreed: format.number(rateLimit) });
  const most =
    window === null ? undefined : t('connection.windowOf', { all: format.number(window * Math.max(1, workers)) });
  return (
    <SimpleGrid cols={{ base: 2, lg: 4 }}>
      <Stat
        label={t('perSecond')}
        value={<Num value={perSecond} options={{ maximumFractionDigits: 1 }} />}
        note={agreed}
        icon={Gauge}
      />
      <Stat label={t('connection.window')} value={<Num value={inFlight} />} note={most} icon={Hourglass} />
      <Stat
        label={t('connection.linksUp')}
        value={<Links connection={connection} />}
        note={t('connection.workers', { count: workers })}
        icon={Cable}
      />
      <Stat
        label={t('waiting')}
        value={<Num value={queued} />}
        note={
          queued > 0 ? t('connection.oldest', { age: format.duration(oldestSeconds) }) : t('connection.nothingWaits')
        }
        icon={ListOrdered}
      />
    </SimpleGrid>
  );
}

/** A chart of the carrier's responses per minute. */
export function Minutes({ name }: { readonly name: string }) {
  const { t } = useTranslation('operator');
  const format = useFormat();
  const { data, error, refetch } = useQuery(minutesQuery(name));
  const rows = useMemo(
    () => (data?.data ?? []).map(({ minute, ...values }) => ({ label: format.clock(new Date(minute)), values })),
    [data, format],
  );
  const series = [
    { name: 'accepted', label: t('connection.accepted'), color: 'green.6' },
    { name: 'refused', label: t('connection.refused'), color: 'red.5' },
    { name: 'retried', label: t('connection.retried'), color: 'amber.5' },
    { name: 'unknown', label: t('connection.unanswered'), color: 'violet.5' },
  ];
  return (
    <Section title={t('connection.lastHour')} description={t('connection.lastHourHint')}>
      {error && !data && <ErrorState error={error} onRetry={() => void refetch()} />}
      {!error && !data && <TableSkeleton rows={4} />}
      {data && (
        <ActiveSeriesChart
          label={t('connection.lastHour')}
          rowLabel={t('minute')}
          rows={rows}
          series={series}
          height={220}
        />
      )}
    </Section>
  );
}
