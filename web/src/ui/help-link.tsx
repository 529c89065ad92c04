import { Anchor } from '@mantine/core';
import { useTranslation } from 'react-i18next';

/** A page of the documentation and a heading of it: `concepts#campaigns`. A test finds those that do not exist. */
export type HelpTarget = `${string}#${string}`;

/** A link to a section of the documentation that the program serves at /help, in a separate window. */
export function HelpLink({ help }: { readonly help: HelpTarget }) {
  const { t } = useTranslation('ui');
  return (
    <Anchor size="sm" href={`/help/${help.replace('#', '.html#')}`} target="_blank">
      {t('help')}
    </Anchor>
  );
}
