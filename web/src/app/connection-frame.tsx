import { Box } from '@mantine/core';
import { useElementSize, useTimeout } from '@mantine/hooks';
import { Outlet } from '@tanstack/react-router';
import { CloudOff, type LucideIcon, ServerOff, Timer, Wifi, WifiOff } from 'lucide-react';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { type Fault, useConnection } from '../api/connection/monitor.ts';
import classes from './connection-frame.module.css';

const ICONS: Readonly<Record<Fault, LucideIcon>> = { offline: WifiOff, away: CloudOff, busy: ServerOff, slow: Timer };
const BACK_MS = 4_000;

/** The frame of all pages: a banner above them reports that the server cannot be reached, or is back. */
export function ConnectionFrame() {
  const { ref, height } = useElementSize();
  return (
    <Box __vars={{ '--banner': `${height}px` }}>
      <div ref={ref} className={classes.place} aria-live="polite">
        <Banner />
      </div>
      <Outlet />
    </Box>
  );
}

function Banner() {
  const { t } = useTranslation('app');
  const { fault, changes } = useConnection();
  const isBack = useIsBack(fault);
  useStayWhile(fault !== null && changes > 0);
  if (fault === null && !isBack) return null;
  const Icon = fault === null ? Wifi : ICONS[fault];
  return (
    <div className={classes.banner} data-fault={fault ?? 'none'}>
      <Icon size={18} aria-hidden="true" style={{ flexShrink: 0 }} />
      <span>
        {t(`connection.${fault ?? 'back'}`)}
        {fault !== null && changes > 0 && ` ${t(`connection.${WAITING[fault]}`, { count: changes })}`}
      </span>
    </div>
  );
}

const WAITING = { offline: 'waiting', away: 'waiting', busy: 'waiting', slow: 'unconfirmed' } as const;

/** True for some seconds after an outage. Slow responses do not count: nothing has to come back. */
function useIsBack(fault: Fault | null): boolean {
  const [before, setBefore] = useState(fault);
  const [isBack, setIsBack] = useState(false);
  const { start, clear } = useTimeout(() => setIsBack(false), BACK_MS);
  if (before !== fault) {
    setBefore(fault);
    setIsBack(fault === null && before !== 'slow');
  }
  useEffect(() => {
    if (isBack) start();
    return clear;
  }, [isBack, start, clear]);
  return isBack;
}

/** Asks before the window is closed, because waiting changes would be lost. */
function useStayWhile(isWaiting: boolean): void {
  useEffect(() => {
    if (!isWaiting) return;
    const stay = (event: BeforeUnloadEvent): void => event.preventDefault();
    globalThis.addEventListener('beforeunload', stay);
    return () => globalThis.removeEventListener('beforeunload', stay);
  }, [isWaiting]);
}
