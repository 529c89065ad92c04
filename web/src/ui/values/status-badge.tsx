import { Badge } from '@mantine/core';
import {
  CircleAlert,
  CircleCheck,
  CircleDashed,
  CirclePause,
  Clock,
  type LucideIcon,
  TriangleAlert,
} from 'lucide-react';
import type { ReactNode } from 'react';

export type Tone = 'good' | 'bad' | 'warning' | 'progress' | 'paused' | 'neutral';

const TONES: Readonly<Record<Tone, readonly [color: string, icon: LucideIcon]>> = {
  good: ['green', CircleCheck],
  bad: ['red', CircleAlert],
  warning: ['amber', TriangleAlert],
  progress: ['blue', Clock],
  paused: ['violet', CirclePause],
  neutral: ['gray', CircleDashed],
};

/** A status as a word, an icon and a colour. */
export function StatusBadge({ tone, children }: { readonly tone: Tone; readonly children: ReactNode }) {
  const [color, Icon] = TONES[tone];
  return (
    <Badge
      color={color}
      leftSection={<Icon size={13} aria-hidden="true" />}
      style={{ flexShrink: 0, minWidth: 'max-content' }}
    >
      {children}
    </Badge>
  );
}
