import { Button, Loader } from '@mantine/core';
import { useIntersection } from '@mantine/hooks';
import { useEffect, useEffectEvent } from 'react';
import { useTranslation } from 'react-i18next';
import classes from './inbox.module.css';

type LoadMoreProps = { readonly label: string; readonly busy: boolean; readonly onMore: () => void };

/** Loads more when it comes into view, or on a click. */
export function LoadMore({ label, busy, onMore }: LoadMoreProps) {
  const { t } = useTranslation('inbox');
  const { ref, entry } = useIntersection();
  const isSeen = entry?.isIntersecting === true;
  const load = useEffectEvent(onMore);
  useEffect(() => {
    if (isSeen && !busy) load();
  }, [isSeen, busy]);
  return (
    <div ref={ref} className={classes.more}>
      {busy ? (
        <Loader size="sm" aria-label={t('ui:loading')} />
      ) : (
        <Button variant="subtle" size="xs" onClick={onMore}>
          {label}
        </Button>
      )}
    </div>
  );
}
