import { Code } from '@mantine/core';
import { useTranslation } from 'react-i18next';

/** A request or response body as plain text; JSON is indented. */
export function JsonView({
  value,
  label,
  maxHeight = 320,
}: {
  readonly value: unknown;
  readonly label?: string;
  readonly maxHeight?: number;
}) {
  const { t } = useTranslation('ui');
  return (
    <div style={{ maxHeight, overflow: 'auto' }} tabIndex={0} role="region" aria-label={label ?? t('body')}>
      <Code block className="foreign-text" dir="ltr">
        {pretty(value)}
      </Code>
    </div>
  );
}

function pretty(value: unknown): string {
  if (typeof value !== 'string') return JSON.stringify(value, null, 2) ?? '';
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    return value;
  }
}
