import { Button, Group, Tabs as MantineTabs, Stack, Text, TextInput, type TextInputProps } from '@mantine/core';
import { type ComponentProps, type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import type { Need } from '../api/session.ts';
import { Chart } from '../ui/chart.tsx';
import { Muted, TextLink } from '../ui/parts.tsx';

type NumberCheckProps = {
  /** The label of the field. */
  readonly label: string;
  readonly value: string;
  readonly onChange: (number: string) => void;
  /** Content before the field, such as the channel. */
  readonly before?: ReactNode;
  readonly children: ReactNode;
};

/** A form that looks up a phone number, with the result below it. */
export function NumberCheck({ label, value, onChange, before, children }: NumberCheckProps) {
  const { t } = useTranslation('operator');
  const [text, setText] = useState(value);
  return (
    <Stack gap="md">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          onChange(text.trim());
        }}
      >
        <Group gap="sm" align="flex-end">
          {before}
          <TextInput
            label={label}
            placeholder="+39 347 000 0001"
            type="tel"
            dir="ltr"
            maxLength={32}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
            w={{ base: '100%', xs: 240 }}
          />
          <Button type="submit" variant="default">
            {t('check')}
          </Button>
        </Group>
      </form>
      {children}
    </Stack>
  );
}

type TabsProps<T extends string> = {
  readonly tabs: readonly T[];
  readonly nameOf: (tab: T) => string;
  readonly active: T;
  readonly onChange: (tab: T) => void;
  /** The content of the active tab. */
  readonly children: ReactNode;
};

/** Tabs, of which one is shown at a time. */
export function Tabs<T extends string>({ tabs, nameOf, active, onChange, children }: TabsProps<T>) {
  const choose = (next: string | null): void => {
    const tab = tabs.find((each) => each === next);
    if (tab !== undefined) onChange(tab);
  };
  return (
    <MantineTabs value={active} onChange={choose} keepMounted={false}>
      <MantineTabs.List mb="lg">
        {tabs.map((tab) => (
          <MantineTabs.Tab key={tab} value={tab}>
            {nameOf(tab)}
          </MantineTabs.Tab>
        ))}
      </MantineTabs.List>
      {tabs.map((tab) => (
        <MantineTabs.Panel key={tab} value={tab}>
          {tab === active && <Stack>{children}</Stack>}
        </MantineTabs.Panel>
      ))}
    </MantineTabs>
  );
}

/** The calling codes of ITU-T E.164 with their main region. Code 1 is excluded, because many countries share it. */
const CODES = [
  'RU7 EG20 ZA27 GR30 NL31 BE32 FR33 ES34 HU36 IT39 RO40 CH41 AT43 GB44 DK45 SE46 NO47 PL48 DE49 PE51 MX52 CU53',
  'AR54 BR55 CL56 CO57 VE58 MY60 AU61 ID62 PH63 NZ64 SG65 TH66 JP81 KR82 VN84 CN86 TR90 IN91 PK92 AF93 LK94 MM95',
  'IR98 SS211 MA212 DZ213 TN216 LY218 GM220 SN221 MR222 ML223 GN224 CI225 BF226 NE227 TG228 BJ229 MU230 LR231',
  'SL232 GH233 NG234 TD235 CF236 CM237 CV238 ST239 GQ240 GA241 CG242 CD243 AO244 GW245 IO246 AC247 SC248 SD249',
  'RW250 ET251 SO252 DJ253 KE254 TZ255 UG256 BI257 MZ258 ZM260 MG261 RE262 ZW263 NA264 MW265 LS266 BW267 SZ268',
  'KM269 SH290 ER291 AW297 FO298 GL299 GI350 PT351 LU352 IE353 IS354 AL355 MT356 CY357 FI358 BG359 LT370 LV371',
  'EE372 MD373 AM374 BY375 AD376 MC377 SM378 UA380 RS381 ME382 XK383 HR385 SI386 BA387 MK389 CZ420 SK421 LI423',
  'FK500 BZ501 GT502 SV503 HN504 NI505 CR506 PA507 PM508 HT509 GP590 BO591 GY592 EC593 GF594 PY595 MQ596 SR597',
  'UY598 CW599 TL670 NF672 BN673 NR674 PG675 TO676 SB677 VU678 FJ679 PW680 WF681 CK682 NU683 WS685 KI686 NC687',
  'TV688 PF689 TK690 FM691 MH692 KP850 HK852 MO853 KH855 LA856 BD880 TW886 MV960 LB961 JO962 SY963 IQ964 KW965',
  'SA966 YE967 OM968 PS970 AE971 IL972 BH973 QA974 BT975 MN976 NP977 TJ992 TM993 AZ994 GE995 KG996 UZ998',
]
  .join(' ')
  .split(' ');

const BY_CODE = new Map(CODES.map((word) => [word.slice(2), word.slice(0, 2)]));
const MAX_CODE_LENGTH = 3;

/** The region of a prefix without its plus sign; undefined if unknown. */
function regionOf(prefix: string): string | undefined {
  for (let length = Math.min(MAX_CODE_LENGTH, prefix.length); length > 0; length -= 1) {
    const region = BY_CODE.get(prefix.slice(0, length));
    if (region !== undefined) return region;
  }
  return undefined;
}

/** A number prefix with its country; "All numbers" if it is empty. */
export function Prefix({ prefix }: { readonly prefix: string }) {
  const { t, i18n } = useTranslation('operator');
  if (prefix === '') return <span>{t('prefix.all')}</span>;
  const region = regionOf(prefix);
  return (
    <Group gap="xs" wrap="nowrap">
      <span className="tabular" dir="ltr">
        +{prefix}
      </span>
      {region !== undefined && (
        <Text span size="sm" c="dimmed" fw={400}>
          {new Intl.DisplayNames(i18n.language, { type: 'region' }).of(region)}
        </Text>
      )}
    </Group>
  );
}

/** The input for a number prefix. Spaces and a plus sign are allowed (see `digitsOf`). */
export function PrefixInput(input: TextInputProps) {
  const { t } = useTranslation('operator');
  return (
    <TextInput
      label={t('prefix.label')}
      description={t('prefix.hint')}
      inputMode="tel"
      dir="ltr"
      maxLength={16}
      {...input}
    />
  );
}

export const digitsOf = (prefix: string): string => prefix.replaceAll(/[\s+]/g, '');

/** A chart without series that are all zero, which would overlap on the axis. */
export function ActiveSeriesChart(props: ComponentProps<typeof Chart>) {
  const { t } = useTranslation('operator');
  const series = props.series.filter(({ name }) => props.rows.some(({ values }) => (values[name] ?? 0) > 0));
  if (series.length > 0) return <Chart {...props} series={series} />;
  return <Muted>{t('quiet')}</Muted>;
}

type Scope = { readonly channel: string; readonly prefix: string };

/** Returns a function that names the subject of a price: "SMS +39" or "RCS, all numbers". */
export function usePriceName() {
  const { t } = useTranslation('operator');
  return ({ channel, prefix }: Scope): string =>
    prefix === ''
      ? t('price.ofAll', { channel: t(`ui:channel.${channel}`) })
      : `${t(`ui:channel.${channel}`)} +${prefix}`;
}

/**
 * Returns a function that finds the text for a key built from a server value, or returns the given value if there is
 * none.
 */
export function useServerText() {
  const { t, i18n } = useTranslation('operator');
  return (key: string, otherwise: string): string => (i18n.exists(key, { ns: 'operator' }) ? t(key) : otherwise);
}

/** A link to an account, by name. */
export const AccountLink = ({ id, name }: { readonly id: number; readonly name: string }) => (
  <TextLink to={`/operator/accounts/${id}`}>
    <bdi>{name}</bdi>
  </TextLink>
);

/** The permission for every action in this area. It does not depend on the operator's role in the current account. */
export const OPERATOR: Need = { operator: true, write: false };

/** Poll interval for live figures. */
export const REFRESH_MS = 5_000;

/** Numbers of waiting messages and of their accounts. */
export function Waiting({ count, accounts }: { readonly count: number; readonly accounts: number }) {
  const { t } = useTranslation('operator');
  return <>{t('attention.waiting', { count, accounts: t('attention.accounts', { count: accounts }) })}</>;
}

/** A link to a connection, by name; `–` if there is none. */
export const ConnectionLink = ({ name }: { readonly name: string | null }) =>
  name === null ? <span>–</span> : <TextLink to={`/operator/connections/${encodeURIComponent(name)}`}>{name}</TextLink>;
