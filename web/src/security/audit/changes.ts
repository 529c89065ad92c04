import { useTranslation } from 'react-i18next';
import { useSession } from '../../api/session.ts';
import { useFormat } from '../../ui/values/format.ts';
import { deviceOf } from '../sessions/device.ts';
import { useAuditText } from './audit-text.ts';

export type Detail = Readonly<Record<string, unknown>>;
/** One changed field with its new value. */
export type Line = { readonly label: string; readonly value: string };

const MICROS = 1_000_000;
const INSTANT = /^\d{4}-\d{2}-\d{2}T[\d:.]+Z$/;
const isRecord = (value: unknown): value is Detail =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns a function that lists the changes of an entry, one line per field. */
export function useChanges(): (detail: Detail) => readonly Line[] {
  const { t } = useTranslation('security');
  const words = useAuditText();
  const write = useWriter();
  return (detail) => {
    const { from, to, ...rest } = detail;
    const isMove = 'from' in detail && 'to' in detail;
    const move = { label: t('audit.changed'), value: `${write('from', from)} → ${write('to', to)}` };
    const lines = Object.entries(isMove ? rest : detail).map(([name, value]) => ({
      label: words.field(name),
      value: write(name, value),
    }));
    return isMove ? [move, ...lines] : lines;
  };
}

function useWriter(): (name: string, value: unknown) => string {
  const { t } = useTranslation('security');
  const { currency } = useSession().account;
  const words = useAuditText();
  const format = useFormat();
  const text = (name: string, value: string): string => {
    if (INSTANT.test(value)) return format.exact(new Date(value));
    if (name === 'userAgent') return Object.values(deviceOf(value)).filter(Boolean).join(', ') || value;
    return name === 'name' || name === 'username' ? value : words.value(value);
  };
  const number = (name: string, value: number): string => {
    if (/micros$/i.test(name)) return format.money(value / MICROS, currency);
    if (name === 'sizeBytes') return format.bytes(value);
    return name === 'graceSeconds' ? format.duration(value) : name.endsWith('Id') ? `#${value}` : format.number(value);
  };
  const write = (name: string, value: unknown): string => {
    if (value === null || value === undefined || value === '') return '–';
    if (typeof value === 'boolean') return t(value ? 'audit.yes' : 'audit.no');
    if (typeof value === 'number') return number(name, value);
    if (typeof value === 'string') return text(name, value);
    if (Array.isArray(value)) return value.length === 0 ? '–' : format.list(value.map((each) => write(name, each)));
    if (!isRecord(value)) return '–';
    return Object.entries(value)
      .map(([part, of]) => `${words.field(part)}: ${write(part, of)}`)
      .join(' · ');
  };
  // Changed fields are listed by name.
  return (name, value) =>
    name === 'changed' && Array.isArray(value)
      ? format.list(value.map((each) => words.field(String(each))))
      : write(name, value);
}
