import { ownZone } from '../ui/time-zone/zones.ts';
import type { Target } from './alert.ts';
import { toLanguage } from '../api/languages.ts';

export const KINDS = ['mail', 'webhook', 'owners'] as const satisfies readonly Target['kind'][];
export const SEVERITIES = ['error', 'warning', 'info'] as const satisfies readonly Target['severity'][];

/** The fields of a recipient as the form has them. */
export type Fields = {
  readonly kind: Target['kind'];
  readonly address: string;
  readonly severity: Target['severity'];
  readonly language: Target['language'];
  readonly hasQuiet: boolean;
  readonly from: string;
  readonly to: string;
  readonly timeZone: string;
  readonly breaksQuiet: boolean;
};

/** The fields of a new recipient: everything but notes, and problems at any time. */
const newFields = (language: string): Fields => ({
  kind: 'mail',
  address: '',
  severity: 'warning',
  language: toLanguage(language),
  hasQuiet: false,
  ...DEFAULT_QUIET,
  timeZone: ownZone(),
  breaksQuiet: true,
});

const DEFAULT_QUIET = { from: '22:00', to: '07:00' };

/** The fields of a recipient; of a new one the defaults. */
export function fieldsOf(target: Target | null, language: string): Fields {
  if (target === null) return newFields(language);
  const { kind, address, severity, quiet, timeZone, breaksQuiet } = target;
  const hasQuiet = quiet !== null;
  return {
    kind,
    address,
    severity,
    language: target.language,
    hasQuiet,
    ...(quiet ?? DEFAULT_QUIET),
    timeZone,
    breaksQuiet,
  };
}

/** The body of the request that changes a recipient. */
export const choiceOf = ({ severity, language, hasQuiet, from, to, timeZone, breaksQuiet }: Fields) => ({
  severity,
  language,
  quiet: hasQuiet ? { from, to } : null,
  timeZone,
  breaksQuiet,
});

/** The body of the request that adds a recipient. */
export const bodyOf = (fields: Fields) => ({
  kind: fields.kind,
  address: fields.kind === 'owners' ? '' : fields.address.trim(),
  ...choiceOf(fields),
});
